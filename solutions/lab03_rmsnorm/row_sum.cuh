/* row_sum.cuh - lab 03: the sum over the threads of a row, for forward and backward. */
#ifndef ROW_SUM_CUH
#define ROW_SUM_CUH
#include "rmsnorm.h"

// BEGIN SOLUTION 03.1 (about 4 lines in a first version)
//> /* The sum of v over the 32 threads of a warp, the same in each. */
//> static __device__ __forceinline__ float warp_sum(float v)
//> {
//>     // TODO(03.1): v += __shfl_xor_sync(0xffffffffu, v, m) for m = 16, 8, 4, 2, 1.
//>     return v;
//> }
constexpr int WARP = 32;
constexpr int LANES_PER_ROW = 8;        // of a narrow row: four rows to a warp
constexpr int WARPS_PER_BLOCK = 4;      // where several rows share a block
constexpr int MAX_THREADS = 512;        // per block: each may have 128 registers
constexpr int ANY_WIDTH_THREADS = 256;  // per block of the kernels for rows of any width

/* The sum over the THREADS of a row (0: blockDim.x), the same in each. Within a warp it
 * needs no barrier. The caller's next sum needs another `part`: late warps still read
 * this one. `lanes` are those of a narrow row. */
template <int THREADS>
static __device__ float row_sum(float v, float *part, unsigned lanes = 0xffffffffu)
{
    if (THREADS == 1) return v;
    int warps = (THREADS ? THREADS : blockDim.x) / WARP;
    if (THREADS == LANES_PER_ROW)
        for (int m = LANES_PER_ROW / 2; m > 0; m >>= 1)
            v += __shfl_xor_sync(lanes, v, m);
    else
        for (int m = WARP / 2; m > 0; m >>= 1)
            v += __shfl_xor_sync(0xffffffffu, v, m);
    if (THREADS == LANES_PER_ROW || THREADS == WARP) return v;
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = v;
    __syncthreads();  // every warp's sum is in part
    // a loop over an unknown number of warps would not be unrolled
    if (THREADS == 0) {
        v = (int)threadIdx.x % WARP < warps ? part[threadIdx.x % WARP] : 0.0f;
        for (int m = WARP / 2; m > 0; m >>= 1)
            v += __shfl_xor_sync(0xffffffffu, v, m);
        return v;
    }
    v = 0.0f;
#pragma unroll
    for (int i = 0; i < warps; i++)
        v += part[i];
    return v;
}
// END SOLUTION
#endif
