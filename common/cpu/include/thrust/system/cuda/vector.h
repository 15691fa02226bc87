#include "../../../wbcpu/thrust.h"
