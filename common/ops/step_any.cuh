/* step_any.cuh - a decode step's matrix multiply for any type, size and alignment.
 *
 * step_kernel: a warp owns one output. Its lanes read that row of w, 16 bytes each where
 * they can, and multiply it with ROWS rows of x.
 */
#ifndef STEP_ANY_CUH
#define STEP_ANY_CUH
#include "step.cuh"

enum { ROWS = 8 };  // of x per block

/* 1 / sqrt(mean x^2 + eps) of a row, computed by one warp */
template <int V, typename E>
static __device__ float inverse_rms(const E *x, int I, float eps)
{
    float sum = 0.0f;
    for (int i = (int)threadIdx.x % 32 * V; i < I; i += 32 * V) {
        float y[V];
        load_float<V>(y, x + i, I - i);
#pragma unroll
        for (int j = 0; j < V; j++)
            sum += y[j] * y[j];
    }
    return rsqrtf(warp_sum(sum) / (float)I + eps);
}

/* GATES: 2 with an activation, where row o of w is the gate and row O + o the factor */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK_SIZE) step_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act)
{
    __shared__ float rstd[ROWS];
    pdl_trigger();
    pdl_wait();
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int o = (int)blockIdx.x * WARPS_PER_BLOCK + warp, first = (int)blockIdx.y * ROWS;
    int rows = z.R - first < ROWS ? z.R - first : ROWS;
    x += (size_t)first * z.I;
    if (norm) {
        for (int r = warp; r < rows; r += WARPS_PER_BLOCK) {
            float inverse = inverse_rms<V>(x + (size_t)r * z.I, z.I, z.eps);
            if (lane == 0) rstd[r] = inverse;
        }
        __syncthreads();  // rstd is complete
    }
    if (o >= z.O) return;

    float sum[GATES][ROWS] = {};
    for (int i = lane * V; i < z.I; i += 32 * V) {
        float f[V], y[V], wi[GATES][V];
        if (norm) load_float<V>(f, norm + i, z.I - i);
#pragma unroll
        for (int g = 0; g < GATES; g++) {
            load_float<V>(wi[g], w + ((size_t)g * z.O + o) * z.I + i, z.I - i);
#pragma unroll
            for (int j = 0; j < V; j++)
                wi[g][j] *= norm ? z.offset + f[j] : 1.0f;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (r >= rows) break;
            load_float<V>(y, x + (size_t)r * z.I + i, z.I - i);
#pragma unroll
            for (int g = 0; g < GATES; g++)
#pragma unroll
                for (int j = 0; j < V; j++)
                    sum[g][r] += y[j] * wi[g][j];
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows) break;
        float y[2] = {};
#pragma unroll
        for (int g = 0; g < GATES; g++) {
            y[g] = warp_sum(sum[g][r]) * (norm ? rstd[r] : 1.0f);
            if (bias) y[g] += (float)bias[g * z.O + o];
        }
        size_t at = (size_t)(first + r) * z.O + o;
        float result = y[0];
        if (GATES == 2) result = activate(act, y[0]) * y[1];
        if (res) result += (float)res[at];
        if (lane == 0) out[at] = Out(result);
    }
}

#endif
