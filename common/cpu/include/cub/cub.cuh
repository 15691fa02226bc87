#include "../wbcpu/cub_device.h"
