/* conv1d_walk.cuh - part 06.2: what the solution's kernels of both directions share.
 * Helpers of yours for both files can be here.
 */
#ifndef CONV1D_WALK_CUH
#define CONV1D_WALK_CUH
#include "cuda/device.cuh"
#include "cuda/vec.cuh"
#include "rglru_contract.cuh"

/* TODO(06.2): nothing, if the kernels share nothing. */
#endif
