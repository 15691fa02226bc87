#include "../wbcpu/thrust.h"
