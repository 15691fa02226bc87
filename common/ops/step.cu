/* step.cu - the matrix products of a decode step: few rows, so the weights' bytes count.
 *
 * A warp owns one output: its lanes walk along that row of w, 16 bytes each, for all rows
 * of x at once. The norm needs no pass of its own:
 *
 *     sum_i x_i rstd (offset + norm_i) w_i  =  rstd sum_i x_i (offset + norm_i) w_i
 *
 * With one row and small matrices the time of a kernel is mostly that until its first bytes
 * arrive. So row_kernel starts early (early.cuh) and fetches its weights, which no kernel of
 * a step changes, before it waits for x.
 */
#include "early.cuh"
#include "elements.cuh"
#include "ops.h"

enum { WARPS = BLOCK / 32, ROWS = 8 };  // ROWS of x at once

struct step {
    int R, I, O;  // O: outputs after the activation
    float eps, offset;
};

static __device__ __forceinline__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

/* 1 / sqrt(mean x^2 + eps) of a row, by one warp */
template <int V, typename E>
static __device__ float inverse_rms(const E *x, int I, float eps)
{
    float sum = 0.0f;
    for (int i = (int)threadIdx.x % 32 * V; i < I; i += 32 * V) {
        float y[V];
        load<V>(y, x + i, I - i);
#pragma unroll
        for (int j = 0; j < V; j++)
            sum += y[j] * y[j];
    }
    return rsqrtf(warp_sum(sum) / (float)I + eps);
}

static __device__ float silu(float z)
{
    return z / (1.0f + expf(-z));
}
static __device__ float gelu(float z)  // the tanh form
{
    return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}

/* GATES: 2 for an activation, whose gate is row o of w and whose factor row O + o */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK) step_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act)
{
    __shared__ float rstd[ROWS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int o = (int)blockIdx.x * WARPS + warp, first = (int)blockIdx.y * ROWS;
    int rows = z.R - first < ROWS ? z.R - first : ROWS;
    x += (size_t)first * z.I;
    if (norm) {
        for (int r = warp; r < rows; r += WARPS) {
            float inverse = inverse_rms<V>(x + (size_t)r * z.I, z.I, z.eps);
            if (lane == 0) rstd[r] = inverse;
        }
        __syncthreads();  // all rows' rstd are there
    }
    if (o >= z.O) return;

    float sum[GATES][ROWS] = {};
    for (int i = lane * V; i < z.I; i += 32 * V) {
        float f[V], y[V], wi[GATES][V];
        if (norm) load<V>(f, norm + i, z.I - i);
#pragma unroll
        for (int g = 0; g < GATES; g++) {
            load<V>(wi[g], w + ((size_t)g * z.O + o) * z.I + i, z.I - i);
#pragma unroll
            for (int j = 0; j < V; j++)
                wi[g][j] *= norm ? z.offset + f[j] : 1.0f;
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            if (r >= rows) break;
            load<V>(y, x + (size_t)r * z.I + i, z.I - i);
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
        if (GATES == 2) result = (act == WB_SWIGLU ? silu(y[0]) : gelu(y[0])) * y[1];
        if (res) result += (float)res[at];
        if (lane == 0) out[at] = Out(result);
    }
}

/* One row of x: a lane's first packs of w are in registers before x is there. */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK) row_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act)
{
    enum { EARLY = 4 };  // packs of a lane: 1024 columns of 16-bit elements
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int o = (int)blockIdx.x * WARPS + warp;
    const E *row = w + (size_t)(o < z.O ? o : z.O - 1) * z.I;  // a warp too many: any row
    size_t gate = (size_t)z.O * z.I;
    pack<E, V> early[GATES][EARLY], factor[EARLY];
    let_next_kernel_start();
#pragma unroll
    for (int k = 0; k < EARLY; k++) {
        int i = (k * 32 + lane) * V;
        if (i >= z.I) break;
        if (norm) factor[k] = *reinterpret_cast<const pack<E, V> *>(norm + i);
#pragma unroll
        for (int g = 0; g < GATES; g++)
            early[g][k] = *reinterpret_cast<const pack<E, V> *>(row + g * gate + i);
    }
    wait_for_kernel_before();

    float sum[GATES + 1] = {};  // the last: of the squares of x
    auto add = [&](const pack<E, V> &xi, const pack<E, V> &f, const pack<E, V> *wi,
                   int stride) {
#pragma unroll
        for (int j = 0; j < V; j++) {
            float y = (float)xi.e[j];
            sum[GATES] += y * y;
            if (norm) y *= z.offset + (float)f.e[j];
#pragma unroll
            for (int g = 0; g < GATES; g++)
                sum[g] += y * (float)wi[g * stride].e[j];
        }
    };
#pragma unroll
    for (int k = 0; k < EARLY; k++) {
        int i = (k * 32 + lane) * V;
        if (i >= z.I) break;
        add(*reinterpret_cast<const pack<E, V> *>(x + i), factor[k], &early[0][k], EARLY);
    }
    for (int i = (EARLY * 32 + lane) * V; i < z.I; i += 32 * V) {
        pack<E, V> wi[GATES], f = {};
        if (norm) f = *reinterpret_cast<const pack<E, V> *>(norm + i);
#pragma unroll
        for (int g = 0; g < GATES; g++)
            wi[g] = *reinterpret_cast<const pack<E, V> *>(row + g * gate + i);
        add(*reinterpret_cast<const pack<E, V> *>(x + i), f, wi, 1);
    }
    if (o >= z.O) return;
    float y[2], rstd = norm ? rsqrtf(warp_sum(sum[GATES]) / (float)z.I + z.eps) : 1.0f;
#pragma unroll
    for (int g = 0; g < GATES; g++)
        y[g] = warp_sum(sum[g]) * rstd + (bias ? (float)bias[g * z.O + o] : 0.0f);
    if (lane != 0) return;
    float result = y[0];
    if (GATES == 2) result = (act == WB_SWIGLU ? silu(y[0]) : gelu(y[0])) * y[1];
    out[o] = Out(result + (res ? (float)res[o] : 0.0f));
}

/* A thread per output and no barrier, for the CPU back end: there a warp's sum costs 32
 * waits, and sums side by side in an array, LANES at a time, are one vector. */
template <typename E, typename Out, int GATES>
static __global__ void __launch_bounds__(BLOCK) thread_step_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act)
{
    enum { LANES = 16 };
    int o = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (o >= z.O) return;
    for (int r = (int)blockIdx.y; r < z.R; r += (int)gridDim.y) {
        const E *xr = x + (size_t)r * z.I;
        float part[GATES + 1][LANES] = {}, y[GATES + 1] = {};  // the last: of squares
        for (int i = 0; i < z.I; i += LANES) {
            float u[LANES], wi[GATES][LANES];
            int n = z.I - i < LANES ? z.I - i : LANES;
            for (int j = 0; j < LANES; j++) {
                u[j] = j < n ? (float)xr[i + j] : 0.0f;
                for (int g = 0; g < GATES; g++)
                    wi[g][j] =
                        j < n ? (float)w[((size_t)g * z.O + o) * z.I + i + j] : 0.0f;
            }
            for (int j = 0; j < LANES; j++) {
                part[GATES][j] += u[j] * u[j];
                if (norm && j < n) u[j] *= z.offset + (float)norm[i + j];
                for (int g = 0; g < GATES; g++)
                    part[g][j] += u[j] * wi[g][j];
            }
        }
        for (int g = 0; g <= GATES; g++)
            for (int j = 0; j < LANES; j++)
                y[g] += part[g][j];
        float rstd = norm ? rsqrtf(y[GATES] / (float)z.I + z.eps) : 1.0f;
        for (int g = 0; g < GATES; g++)
            y[g] = y[g] * rstd + (bias ? (float)bias[g * z.O + o] : 0.0f);
        float result = y[0];
        if (GATES == 2) result = (act == WB_SWIGLU ? silu(y[0]) : gelu(y[0])) * y[1];
        if (res) result += (float)res[(size_t)r * z.O + o];
        out[(size_t)r * z.O + o] = Out(result);
    }
}

template <typename E, typename Out, int GATES, int V>
static void launch_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act, cudaStream_t s)
{
    dim3 grid((unsigned)((z.O + WARPS - 1) / WARPS));
    if (z.R == 1) {
        launch_early(
            row_kernel<E, Out, GATES, V>, grid, BLOCK, 0, s, out, x, w, bias, norm, res,
            z, act);
    } else {
        grid.y = (unsigned)((z.R + ROWS - 1) / ROWS);
        step_kernel<E, Out, GATES, V>
            <<<grid, BLOCK, 0, s>>>(out, x, w, bias, norm, res, z, act);
    }
}

template <typename E, typename Out, int GATES>
static wb_status start_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act, cudaStream_t s)
{
    if (z.R < 0 || z.I < 1 || z.O < 0 || !(z.eps >= 0) || z.R > 8 * 65535)
        return WB_BAD_SHAPE;
    if (z.R == 0 || z.O == 0) return WB_OK;
    if (out == NULL || x == NULL || w == NULL) return WB_BAD_SHAPE;
    const int V = pack_of<E>();
#ifdef __CUDACPU__
    if ((size_t)z.I * z.O >= 4096) {  // small ones run what a card runs, and so test it
        dim3 grid(blocks_for((size_t)z.O, 1), (unsigned)z.R < 65535u ? z.R : 65535);
        thread_step_kernel<E, Out, GATES>
            <<<grid, BLOCK, 0, s>>>(out, x, w, bias, norm, res, z, act);
        return wb_launched();
    }
#endif
    if (z.I % V == 0 && on_packs<V>(x) && on_packs<V>(w) && on_packs<V>(norm))
        launch_step<E, Out, GATES, V>(out, x, w, bias, norm, res, z, act, s);
    else
        launch_step<E, Out, GATES, 1>(out, x, w, bias, norm, res, z, act, s);
    return wb_launched();
}

template <typename E>
static wb_status linear_step(
    E *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act, cudaStream_t s)
{
    if (act == WB_LINEAR)
        return start_step<E, E, 1>(out, x, w, bias, norm, res, z, act, s);
    if ((act != WB_SWIGLU && act != WB_GEGLU) || res) return WB_BAD_SHAPE;
    return start_step<E, E, 2>(out, x, w, bias, norm, res, z, act, s);
}

#define DEFINE(E, e)                                                                     \
    wb_status linear_step_##e(                                                           \
        E *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,      \
        int R, int I, int O, int act, float eps, float offset, wb_blas *h_blas,          \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        (void)h_blas;                                                                    \
        step z = {R, I, O, eps, offset};                                                 \
        return linear_step(out, x, w, bias, norm, res, z, act, stream);                  \
    }                                                                                    \
    wb_status logits_step_##e(                                                           \
        float *logits, const E *x, const E *w, const E *norm, int R, int C, int V,       \
        float eps, float offset, wb_blas *h_blas, cudaStream_t stream)                   \
    {                                                                                    \
        (void)h_blas;                                                                    \
        step z = {R, C, V, eps, offset};                                                 \
        return start_step<E, float, 1>(                                                  \
            logits, x, w, NULL, norm, NULL, z, WB_LINEAR, stream);                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
