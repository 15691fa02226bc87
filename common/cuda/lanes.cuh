/* lanes.cuh - sums over a few neighbouring lanes of a warp, and what a thread owns.
 *
 *     sum_lanes<LANES>(x)   x[i] becomes the sum of x[i] over a group of LANES lanes,
 *                           the same in all of them, for every i of an array
 *
 * LANES is 1, 2, 4 or 8; a group starts at a lane that is a multiple of it. All lanes of
 * a group must call it together; other groups need not. Each sum is that of the usual
 * rounds,
 *
 *     for (int o = LANES / 2; o > 0; o /= 2) x[i] += __shfl_xor_sync(mask, x[i], o);
 *
 * On the CPU back end every shuffle makes the threads wait, so the whole array is summed
 * with one wait.
 *
 *     OWNED_ROWS            rows of a thread whose block waits for every tile that it
 *                           loads: on the CPU back end several, so that few threads wait
 */
#ifndef CUDA_LANES_CUH
#define CUDA_LANES_CUH
#include "wb.h"

#ifdef __CUDACPU__
constexpr int OWNED_ROWS = WBCPU_OWNED_ROWS;
#else
constexpr int OWNED_ROWS = 1;
#endif

/* In check mode the shuffles are counted, so there are as many as on a GPU. */
#if defined(__CUDACPU__) && !defined(WBCPU_CHECKED)
#define ONE_WAIT
template <int LANES, int N>
WBCPU_UNCHECKED void sum_lanes_of_warp(uint64_t value[32], unsigned lanes)
{
    for (int first = 0; first < 32; first += LANES) {
        if (!(lanes >> first & 1)) continue;
        float *x[LANES];
        for (int l = 0; l < LANES; l++)
            x[l] = (float *)(uintptr_t)value[first + l];
        for (int o = LANES / 2; o > 0; o /= 2)
            for (int l = 0; l < o; l++)
                for (int i = 0; i < N; i++)
                    x[l][i] += x[l + o][i];
        for (int l = 1; l < LANES; l++)
            for (int i = 0; i < N; i++)
                x[l][i] = x[0][i];
    }
}
#endif

template <int LANES, int N>
static __device__ __forceinline__ void sum_lanes(float (&x)[N])
{
    static_assert(LANES <= 8 && (LANES & (LANES - 1)) == 0, "1, 2, 4 or 8 lanes");
    if (LANES == 1) return;
    unsigned mask = (unsigned)((1ull << LANES) - 1) << threadIdx.x % 32 / LANES * LANES;
#ifdef ONE_WAIT
    wbcpu_run_together(mask, x, sum_lanes_of_warp<LANES, N>);
#else
#pragma unroll
    for (int i = 0; i < N; i++)
        for (int o = LANES / 2; o > 0; o /= 2)
            x[i] += __shfl_xor_sync(mask, x[i], o);
#endif
}
#undef ONE_WAIT

#endif
