#include "../wbcpu/cub_host.h"
#include "../wbcpu/cub_device.h"
