/* cuda_runtime.h - what nvcc includes before the first line of every .cu. In C only the
 * API; in C++ the device side as well. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include <float.h>
#include <limits.h>
#include <math.h> /* not only <cmath>: isfinite and isnan in the global namespace */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cassert>
#include <cmath>
#include <type_traits>
#include <utility>

#include "wbcpu/qualifiers.h"
#include "wbcpu/execution.h"
#include "wbcpu/launch.h"
#include "wbcpu/warp.h"
#include "wbcpu/reduction.h"
#include "wbcpu/atomic.h"
#include "wbcpu/device_functions.h"
#include "wbcpu/api.h"
#include "wbcpu/unsupported.h"
#endif

#endif
