/* step_row.cuh - one row of x and a small matrix: a warp per output.
 *
 * The whole matrix fits into the registers of the GPU. Each lane loads its share of the
 * weights before the previous kernel has ended. After that only x is missing, so the time
 * is that of one access to the L2 cache and one sum over the warp: no shared memory, no
 * barrier. The residual is loaded with x, not after the sum.
 */
#ifndef STEP_ROW_CUH
#define STEP_ROW_CUH
#include "step.cuh"
#include "step_plan.h"

/* VECS: vectors of a lane, enough for a row */
template <typename E, typename Out, int GATES, int V, int VECS>
static __global__ void __launch_bounds__(ROW_WARPS * 32) row_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act)
{
    int lane = (int)threadIdx.x % 32, vecs = z.I / V;
    int o = (int)blockIdx.x * ROW_WARPS + (int)threadIdx.x / 32;
    pdl_trigger();
    if (o >= z.O) return;
    raw<E, V> wi[GATES][VECS], factor[VECS], u[VECS];
    float addend[2] = {};
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int i = k * 32 + lane;
        if (i >= vecs) continue;
#pragma unroll
        for (int g = 0; g < GATES; g++)
            wi[g][k] = load_raw<E, V>(w + ((size_t)g * z.O + o) * z.I, i);
        if (norm) factor[k] = load_raw<E, V>(norm, i);
    }
#pragma unroll
    for (int g = 0; g < GATES; g++)
        if (bias) addend[g] = (float)bias[g * z.O + o];
    pdl_wait();
#pragma unroll
    for (int k = 0; k < VECS; k++)
        if (k * 32 + lane < vecs) u[k] = load_raw<E, V>(x, k * 32 + lane);
    if (res) addend[0] += (float)res[o];

    float sum[GATES][2] = {}, squares[2] = {};  // two chains each
#pragma unroll
    for (int k = 0; k < VECS; k++) {
        if (k * 32 + lane >= vecs) continue;
        float y[V], f[V];
        to_float<E, V>(y, u[k]);
        if (norm) to_float<E, V>(f, factor[k]);
#pragma unroll
        for (int j = 0; j < V; j++) {
            squares[j % 2] += y[j] * y[j];
            if (norm) y[j] *= z.offset + f[j];
        }
#pragma unroll
        for (int g = 0; g < GATES; g++) {
            to_float<E, V>(f, wi[g][k]);
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[g][j % 2] += y[j] * f[j];
        }
    }
    float rstd = 1.0f, y[2];
    if (norm) rstd = rsqrtf(warp_sum(squares[0] + squares[1]) / (float)z.I + z.eps);
#pragma unroll
    for (int g = 0; g < GATES; g++)
        y[g] = warp_sum(sum[g][0] + sum[g][1]) * rstd + addend[g];
    float result = GATES == 2 ? activate(act, y[0]) * y[GATES - 1] : y[0];
    if (lane == 0) out[o] = Out(result);
}

template <typename E, typename Out, int GATES, int V> static auto row_kernel_for(int I)
{
    return I / V <= 2 * 32 ? row_kernel<E, Out, GATES, V, 2>
                           : row_kernel<E, Out, GATES, V, ROW_VECS>;
}

#endif
