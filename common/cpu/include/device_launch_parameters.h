/* device_launch_parameters.h - threadIdx and the like are in cuda_runtime.h. */
#include "cuda_runtime.h"
