/* cuda_runtime.h - included before the first line of every .cu, as by nvcc. C gets only
 * the runtime API, C++ also the device side. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__ /* helper_cuda.h asks for it */

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include "wbcpu/math_names.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <type_traits>
#include <utility>

#ifndef WBCPU_EDITOR /* clang, for CUDA, would find its operators declared twice */
#include <new>
#endif

#include "wbcpu/api.h"
#include "wbcpu/arithmetic.h"
#include "wbcpu/atomic.h"
#include "wbcpu/blocks.h"
#include "wbcpu/checked.h"
#include "wbcpu/device_functions.h"
#include "wbcpu/execution.h"
#include "wbcpu/graph_params.h"
#include "wbcpu/graphics.h"
#include "wbcpu/kernels.h"
#include "wbcpu/launch.h"
#include "wbcpu/device_limits.h"
#include "wbcpu/old_warp.h"
#include "wbcpu/pools.h"
#include "wbcpu/ptx.h"
#include "wbcpu/qualifiers.h"
#include "wbcpu/reduction.h"
#include "wbcpu/shared.h"
#include "wbcpu/shifts.h"
#include "wbcpu/simd_integers.h"
#include "wbcpu/surfaces.h"
#include "wbcpu/textures.h"
#include "wbcpu/unsupported.h"
#include "wbcpu/warp.h"
#endif

#endif
