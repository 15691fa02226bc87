/* step_cpu.cuh - a decode step's matrix multiply on the CPU back end. No barrier and no
 * sum over a warp, which would cost 32 waits there: a block is one thread, which computes
 * BLOCK_OUTPUTS neighbouring outputs with the CPU's vector registers. It reads its rows of
 * w once from memory for every ROWS rows of x, so that a step of few rows is limited by
 * memory bandwidth.
 *
 *     shared memory: u (ROWS, padded I) = x (offset + norm), as floats in the order of
 *                    wbcpu::load_pair; the padding is 0. Without a norm x itself is read:
 *                    a wide row of floats would not stay in the first-level cache.
 */
#ifndef STEP_CPU_CUH
#define STEP_CPU_CUH
#include "step.cuh"

#include <wbcpu/lanes.h>

namespace on_cpu
{
using wbcpu::lane_pair;
using wbcpu::lanes;
enum { PAIR = 2 * wbcpu::LANES, ROWS = 4, BLOCK_OUTPUTS = 32 };

static __host__ __device__ inline int padded(int I)
{
    return (I + PAIR - 1) / PAIR * PAIR;
}

/* A row of x becomes a row of u. Returns 1 / rms of x, which every output is multiplied
 * by. */
template <typename E>
static __device__ float fill(float *u, const E *x, const E *norm, step_sizes z)
{
    lanes squares = {};
    for (int i = 0; i < z.I; i += PAIR) {
        bool whole = i + PAIR <= z.I;
        lane_pair y = whole ? wbcpu::load_pair(x + i) : wbcpu::load_pair(x + i, z.I - i);
        squares += y.v[0] * y.v[0] + y.v[1] * y.v[1];
        lane_pair f =
            whole ? wbcpu::load_pair(norm + i) : wbcpu::load_pair(norm + i, z.I - i);
        for (int k = 0; k < 2; k++)
            y.v[k] *= z.offset + f.v[k];
        memcpy(u + i, y.v, sizeof y.v);
    }
    return rsqrtf(wbcpu::sum_of(squares) / (float)z.I + z.eps);
}

/* out[r] = a row of w times row r of x, rows `stride` apart: of u, or of x itself. At least
 * four sums in turn, because a multiply-add waits for the previous one of its sum. */
template <int R, typename E, typename X>
static __device__ void
multiply(float (&out)[R], const E *w, const X *x, int stride, int I)
{
    enum { PAIRS = R == 1 ? 2 : 1 };
    lanes sum[PAIRS][2][R] = {};
    auto add = [&](const lane_pair &a, const lane_pair &b, int r, int p) {
#pragma GCC unroll 2  // so that the sums stay in registers at every optimization level
        for (int k = 0; k < 2; k++)
            sum[p][k][r] += a.v[k] * b.v[k];
    };
    int i = 0;
    for (; i + PAIRS * PAIR <= I; i += PAIRS * PAIR)
#pragma GCC unroll 2
        for (int p = 0; p < PAIRS; p++) {
            lane_pair a = wbcpu::load_pair(w + i + p * PAIR);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++)
                add(a, wbcpu::load_pair(x + (size_t)r * stride + i + p * PAIR), r, p);
        }
    for (; i < I; i += PAIR) {
        bool whole = i + PAIR <= I;
        lane_pair a = whole ? wbcpu::load_pair(w + i) : wbcpu::load_pair(w + i, I - i);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const X *xr = x + (size_t)r * stride + i;
            bool all = whole || stride % PAIR == 0;  // u is padded
            add(a, all ? wbcpu::load_pair(xr) : wbcpu::load_pair(xr, I - i), r, 0);
        }
    }
    for (int r = 0; r < R; r++) {
        lanes total = sum[0][0][r] + sum[0][1][r];
        if (PAIRS == 2) total += sum[PAIRS - 1][0][r] + sum[PAIRS - 1][1][r];
        out[r] = wbcpu::sum_of(total);
    }
}

/* y[r][g][k]: output first + k of row r before bias and activation; g: gate, factor. One
 * row of w after the other: a CPU prefetches one long stream better than several. */
template <int GATES, int R, typename E, typename X>
static __device__ void multiply_outputs(
    float (*y)[GATES][BLOCK_OUTPUTS], const E *w, const X *x, int stride, int first,
    int count, step_sizes z)
{
    for (int g = 0; g < GATES; g++)
        for (int k = 0; k < count; k++) {
            float out[R];
            multiply(out, w + ((size_t)g * z.O + first + k) * z.I, x, stride, z.I);
            for (int r = 0; r < R; r++)
                y[r][g][k] = out[r];
        }
}

/* The same of `some` rows */
template <int GATES, typename E, typename X>
static __device__ void multiply_rows(
    float (*y)[GATES][BLOCK_OUTPUTS], const E *w, const X *x, int stride, int some,
    int first, int count, step_sizes z)
{
    if (some == ROWS)
        return multiply_outputs<GATES, ROWS>(y, w, x, stride, first, count, z);
    for (int r = 0; r < some; r++)
        multiply_outputs<GATES, 1>(
            y + r, w, x + (size_t)r * stride, stride, first, count, z);
}

/* GATES: 2 with an activation, where row o of w is the gate and row O + o the factor */
template <typename E, typename Out, int GATES>
static __global__ void thread_step_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act, int rows)
{
    extern __shared__ float u[];
    int first = (int)blockIdx.x * BLOCK_OUTPUTS;
    int count = z.O - first < BLOCK_OUTPUTS ? z.O - first : BLOCK_OUTPUTS;
    float y[ROWS][GATES][BLOCK_OUTPUTS] = {}, rstd[ROWS];
    for (int r0 = 0; r0 < z.R; r0 += rows) {
        int some = z.R - r0 < rows ? z.R - r0 : rows;
        const E *xr = x + (size_t)r0 * z.I;
        int wide = padded(z.I);
        for (int r = 0; r < some; r++)
            rstd[r] =
                norm ? fill(u + (size_t)r * wide, xr + (size_t)r * z.I, norm, z) : 1;
        if (norm)
            multiply_rows<GATES>(y, w, u, wide, some, first, count, z);
        else
            multiply_rows<GATES>(y, w, xr, z.I, some, first, count, z);
        for (int r = 0; r < some; r++) {
            float(&v)[GATES][BLOCK_OUTPUTS] = y[r];
            for (int g = 0; g < GATES; g++)
                for (int k = 0; k < count; k++) {
                    v[g][k] *= rstd[r];
                    if (bias) v[g][k] += (float)bias[g * z.O + first + k];
                }
            if (GATES == 2)  // all of them: the compiler computes several at a time
                for (int k = 0; k < BLOCK_OUTPUTS; k++)
                    v[0][k] = activate(act, v[0][k]) * v[GATES - 1][k];
            size_t at = (size_t)(r0 + r) * z.O + first;
            for (int k = 0; k < count; k++)
                out[at + k] = Out(v[0][k] + (res ? (float)res[at + k] : 0.0f));
        }
    }
}

/* Rows of u that fit in shared memory: ROWS, 1, or 0 */
static int rows_for(step_sizes z)
{
    size_t row = (size_t)padded(z.I) * sizeof(float), limit = max_smem_per_block();
    return z.R >= ROWS && ROWS * row <= limit ? ROWS : row <= limit;
}

template <typename E, typename Out, int GATES>
static wb_status launch_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act, cudaStream_t stream)
{
    int rows = rows_for(z);
    auto kernel = thread_step_kernel<E, Out, GATES>;
    size_t smem = (size_t)rows * padded(z.I) * sizeof(float);
    allow_smem(kernel, smem);
    kernel<<<(unsigned)((z.O - 1) / BLOCK_OUTPUTS + 1), 1, smem, stream>>>(
        out, x, w, bias, norm, res, z, act, rows);
    return wb_launched();
}
}  // namespace on_cpu

#endif
