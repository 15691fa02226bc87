/* step_cpu.cuh - a decode step's matrix multiply on the CPU back end. No barrier and no
 * sum over a warp, which would cost 32 waits there: a thread computes OUTPUTS neighbouring
 * outputs of every row, with the CPU's vector registers. It reads its rows of w once from
 * memory, so that a step of one row is limited by memory bandwidth.
 */
#ifndef STEP_CPU_CUH
#define STEP_CPU_CUH
#include "step.cuh"

#include <wbcpu/lanes.h>

namespace on_cpu
{
using wbcpu::lanes;
enum {
    LANES = wbcpu::LANES,
    OUTPUTS = 4,
    THREADS = 8  // few threads per block, so that all workers get blocks
};

/* The sums over a row x: of x w for each row of w, and of x^2. */
template <int ROWS_OF_W> struct sums {
    lanes products[ROWS_OF_W], squares;
};

/* Adds 16 elements, or the first n: load says which. */
template <typename E, int N, typename Load>
static __device__ inline void
add(sums<N> &s, const E *x, const E *const (&w)[N], const E *norm, float offset, int i,
    Load load)
{
    lanes u = load(x + i);
    s.squares += u * u;
    if (norm) u *= offset + load(norm + i);
#pragma GCC unroll 8  // so that the sums stay in registers at every optimization level
    for (int k = 0; k < N; k++)
        s.products[k] += u * load(w[k] + i);
}

template <typename E, int N>
static __device__ inline sums<N>
multiply(const E *x, const E *const (&w)[N], const E *norm, float offset, int I)
{
    sums<N> s = {};
    int i = 0, n = I % LANES;
    for (; i < I - n; i += LANES)
        add(s, x, w, norm, offset, i, [](const E *p) { return wbcpu::load_lanes(p); });
    if (n)
        add(s, x, w, norm, offset, i,
            [n](const E *p) { return wbcpu::load_lanes(p, n); });
    return s;
}

/* GATES: 2 with an activation, where row o of w is the gate and row O + o the factor */
template <typename E, typename Out, int GATES>
static __global__ void thread_step_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act)
{
    int first = (int)(blockIdx.x * THREADS + threadIdx.x) * OUTPUTS;
    if (first >= z.O) return;
    const E *rows[OUTPUTS * GATES];
    for (int k = 0; k < OUTPUTS; k++)
        for (int g = 0; g < GATES; g++) {
            int o = first + k < z.O ? first + k : z.O - 1;
            rows[k * GATES + g] = w + ((size_t)g * z.O + o) * z.I;
        }
    for (int r = 0; r < z.R; r++) {
        auto s = multiply(x + (size_t)r * z.I, rows, norm, z.offset, z.I);
        float rstd = norm ? rsqrtf(wbcpu::sum_of(s.squares) / (float)z.I + z.eps) : 1.0f;
        for (int k = 0; k < OUTPUTS && first + k < z.O; k++) {
            float y[GATES];
            for (int g = 0; g < GATES; g++)
                y[g] = wbcpu::sum_of(s.products[k * GATES + g]) * rstd +
                       (bias ? (float)bias[g * z.O + first + k] : 0.0f);
            float result = y[0];
            if (GATES == 2) result = activate(act, y[0]) * y[GATES - 1];
            size_t at = (size_t)r * z.O + first + k;
            if (res) result += (float)res[at];
            out[at] = Out(result);
        }
    }
}

template <typename E, typename Out, int GATES>
static wb_status launch_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act, cudaStream_t stream)
{
    int blocks = (z.O + THREADS * OUTPUTS - 1) / (THREADS * OUTPUTS);
    thread_step_kernel<E, Out, GATES>
        <<<blocks, THREADS, 0, stream>>>(out, x, w, bias, norm, res, z, act);
    return wb_launched();
}
}  // namespace on_cpu

#endif
