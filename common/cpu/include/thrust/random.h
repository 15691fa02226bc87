// As in the original, programs get <iostream> from here.
#include <iostream>

#include "../wbcpu/thrust.h"
