#include "../../wbcpu/thrust.h"
