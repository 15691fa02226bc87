/* step.cu - the matrix products of a decode step: few rows, so the weights' bytes count.
 *
 * On a card each weight is read once and at the speed of memory: row_kernel for one row
 * (step_row.cuh), tensor cores for more rows of 16 bits (step_rows.cuh). Here is the
 * kernel for all other types and sizes, that of the CPU back end, and the choice.
 *
 * step_kernel: a warp owns one output. Its lanes walk along that row of w, 16 bytes each,
 * for ROWS rows of x at once. The norm needs no pass of its own, here and elsewhere:
 *
 *     sum_i x_i rstd (offset + norm_i) w_i  =  rstd sum_i x_i (offset + norm_i) w_i
 *
 * A step's time is that of its weights and of the gaps between its kernels. All of them
 * start early (early.cuh) and first fetch weights, which no kernel of a step changes.
 */
#include "blas.cuh"
#include "step_row.cuh"
#include "step_rows.cuh"

enum { ROWS = 8 };  // of x at once

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
        if (GATES == 2) result = activated(act, y[0]) * y[1];
        if (res) result += (float)res[at];
        if (lane == 0) out[at] = Out(result);
    }
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
        if (GATES == 2) result = activated(act, y[0]) * y[1];
        if (res) result += (float)res[(size_t)r * z.O + o];
        out[(size_t)r * z.O + o] = Out(result);
    }
}

/* What every launch here takes */
template <typename E, typename Out> struct product {
    Out *out;
    const E *x, *w, *bias, *norm, *res;
    step z;
    int act;
    wb_blas *blas;
    cudaStream_t stream;
};

/* How many blocks the product takes, and what each does */
static share share_of(const wb_blas *blas, int tiles, int I, int rows)
{
    share s = {tiles, 1, (I + COLUMNS - 1) / COLUMNS};
    int parts = multiprocessors() / tiles;
    size_t each = (size_t)tiles * rows * (OUTS + 1);
    if (!blas || parts < 2 || tiles > ARRIVALS) return s;
    if (each * parts > SCRATCH) return s;
    s.scratch = blas->scratch, s.arrived = blas->arrived;
    s.stages = (s.stages + parts - 1) / parts;
    s.parts = (I + s.stages * COLUMNS - 1) / (s.stages * COLUMNS);
    return s;
}

template <typename E, typename Out, int GATES, int NT>
static void launch_rows(const product<E, Out> &p)
{
    using shape = rows_shape<NT>;
    constexpr int OUT = OUTS / GATES;
    auto *kernel = p.norm ? rows_kernel<E, Out, GATES, NT, true>
                          : rows_kernel<E, Out, GATES, NT, false>;
    share s = share_of(p.blas, (p.z.O + OUT - 1) / OUT, p.z.I, shape::ROWS);
    int most = 2 * multiprocessors(), blocks = s.tiles * s.parts;
    launch_early(
        kernel, blocks < most ? blocks : most, BLOCK, shape::BYTES, p.stream, p.out, p.x,
        p.w, p.bias, p.norm, p.res, p.z, p.act, s);
}

template <typename E, typename Out, int GATES>
static void launch_all_rows(product<E, Out> p)
{
    for (int R = p.z.R; R > 0; R -= MOST_ROWS) {
        p.z.R = R < MOST_ROWS ? R : MOST_ROWS;
        if (R <= 8)
            launch_rows<E, Out, GATES, 1>(p);
        else if (R <= 16)
            launch_rows<E, Out, GATES, 2>(p);
        else if (R <= 32)
            launch_rows<E, Out, GATES, 4>(p);
        else
            launch_rows<E, Out, GATES, 8>(p);
        p.x += (size_t)MOST_ROWS * p.z.I, p.out += (size_t)MOST_ROWS * p.z.O;
        if (p.res) p.res += (size_t)MOST_ROWS * p.z.O;
    }
}

template <typename E, typename Out, int GATES>
static void launch_step(const product<E, Out> &p)
{
    constexpr int V = pack_of<E>();
    step z = p.z;
    bool packs = z.I % V == 0 && on_packs<V>(p.x) && on_packs<V>(p.w) &&
                 on_packs<V>(p.norm);
    if (packs && z.R == 1 && z.I <= LONGEST_ROW) {
        int units = GATES == 2 ? z.O : (z.O + 1) / 2, most = multiprocessors();
        int blocks = (units + WARPS - 1) / WARPS;
        launch_early(
            row_kernel<E, Out, GATES, V>, blocks < most ? blocks : most, BLOCK,
            (int)row_bytes(z.I), p.stream, p.out, p.x, p.w, p.bias, p.norm, p.res, z,
            p.act);
        return;
    }
    if constexpr (sizeof(E) == 2) {
        if (packs) {
            launch_all_rows<E, Out, GATES>(p);
            return;
        }
    }
    dim3 grid((unsigned)((z.O + WARPS - 1) / WARPS), (unsigned)((z.R + ROWS - 1) / ROWS));
    auto *kernel = packs ? step_kernel<E, Out, GATES, V> : step_kernel<E, Out, GATES, 1>;
    kernel<<<grid, BLOCK, 0, p.stream>>>(
        p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act);
}

template <typename E, typename Out, int GATES>
static wb_status start_step(const product<E, Out> &p)
{
    step z = p.z;
    if (z.R < 0 || z.I < 1 || z.O < 0 || !(z.eps >= 0) || z.R > 8 * 65535)
        return WB_BAD_SHAPE;
    if (z.R == 0 || z.O == 0) return WB_OK;
    if (!p.out || !p.x || !p.w) return WB_BAD_SHAPE;
#ifdef __CUDACPU__
    if ((size_t)z.I * z.O >= 4096) {  // small ones run what a card runs, and so test it
        dim3 grid(blocks_for((size_t)z.O, 1), (unsigned)z.R < 65535u ? z.R : 65535);
        thread_step_kernel<E, Out, GATES><<<grid, BLOCK, 0, p.stream>>>(
            p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act);
        return wb_launched();
    }
#endif
    launch_step<E, Out, GATES>(p);
    return wb_launched();
}

template <typename E> static wb_status linear_step(const product<E, E> &p)
{
    if (p.act == WB_LINEAR) return start_step<E, E, 1>(p);
    if ((p.act != WB_SWIGLU && p.act != WB_GEGLU) || p.res) return WB_BAD_SHAPE;
    return start_step<E, E, 2>(p);
}

#define DEFINE(E, e)                                                                     \
    wb_status linear_step_##e(                                                           \
        E *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,      \
        int R, int I, int O, int act, float eps, float offset, wb_blas *h_blas,          \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return linear_step<E>(                                                           \
            {out, x, w, bias, norm, res, {R, I, O, eps, offset}, act, h_blas, stream});  \
    }                                                                                    \
    wb_status logits_step_##e(                                                           \
        float *logits, const E *x, const E *w, const E *norm, int R, int C, int V,       \
        float eps, float offset, wb_blas *h_blas, cudaStream_t stream)                   \
    {                                                                                    \
        return start_step<E, float, 1>(                                                  \
            {logits, x, w, NULL, norm, NULL, {R, C, V, eps, offset}, WB_LINEAR, h_blas,  \
             stream});                                                                   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
