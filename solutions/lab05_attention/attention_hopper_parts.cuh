// BEGIN SOLUTION 05.6 (about 40 lines)
/* attention_hopper_parts.cuh - lab 05, parts 05.6 and 05.7: what the kernels for Hopper
 * share. A tile of D columns lies in shared memory as D / PART parts, each with rows of
 * 128 bytes, swizzled.
 */
#ifndef ATTENTION_HOPPER_PARTS_CUH
#define ATTENTION_HOPPER_PARTS_CUH
#include "cuda/hopper.cuh"
#include "tiles.cuh"

constexpr int WARPGROUP = 128;  // threads of four warps
constexpr int PART = 64;        // elements of 128 bytes

/* Where a thread is in a ring of stages; parity flips each time around. */
template <int STAGES> struct ring {
    int stage, parity;
};
template <int STAGES> static __device__ __forceinline__ void advance(ring<STAGES> &at)
{
    if (++at.stage == STAGES) at.stage = 0, at.parity ^= 1;
}

/* w[i] of lane q of four, q = lane % 4, goes to w[q] of lane i: each lane then has 16
 * neighbouring bytes. */
static __device__ __forceinline__ void transpose_quad(unsigned (&w)[4])
{
    bool high = threadIdx.x & 2, odd = threadIdx.x & 1;
    unsigned a = __shfl_xor_sync(~0u, high ? w[0] : w[2], 2);
    unsigned b = __shfl_xor_sync(~0u, high ? w[1] : w[3], 2);
    if (high)
        w[0] = a, w[1] = b;
    else
        w[2] = a, w[3] = b;
    a = __shfl_xor_sync(~0u, odd ? w[0] : w[1], 1);
    b = __shfl_xor_sync(~0u, odd ? w[2] : w[3], 1);
    if (odd)
        w[0] = a, w[2] = b;
    else
        w[1] = a, w[3] = b;
}
#endif
// END SOLUTION
