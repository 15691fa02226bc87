/* step_calls.cuh - the matrix products of a decode step: few rows, so the weights' bytes
 * count. Each weight is read once and at the speed of memory: row_kernel for one row
 * (step_row.cuh), tensor cores for more rows of 16 bits (step_rows.cuh), step_any.cuh for
 * the rest. Here is the choice; step_f32.cu, step_f16.cu and step_bf16.cu have the calls.
 *
 * The norm needs no pass of its own:
 *
 *     sum_i x_i rstd (offset + norm_i) w_i  =  rstd sum_i x_i (offset + norm_i) w_i
 *
 * A step's time is that of its weights and of the gaps between its kernels. All of them
 * start early (early.cuh) and first fetch weights, which no kernel of a step changes.
 */
#ifndef STEP_CALLS_CUH
#define STEP_CALLS_CUH
#include "blas.cuh"
#include "step_any.cuh"
#include "step_row.cuh"
#include "step_rows.cuh"

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
    bool packs =
        z.I % V == 0 && on_packs<V>(p.x) && on_packs<V>(p.w) && on_packs<V>(p.norm);
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

#define DEFINE_STEP(E, e)                                                                \
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
            {logits,                                                                     \
             x,                                                                          \
             w,                                                                          \
             NULL,                                                                       \
             norm,                                                                       \
             NULL,                                                                       \
             {R, C, V, eps, offset},                                                     \
             WB_LINEAR,                                                                  \
             h_blas,                                                                     \
             stream});                                                                   \
    }

#endif
