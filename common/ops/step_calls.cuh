/* step_calls.cuh - the matrix products of a decode step: few rows, so the weights' bytes
 * count. Each weight is read once and at the speed of memory: row_kernel for one row
 * (step_row.cuh), cuBLAS for several of 16 bits (step_blas.cuh), step_any.cuh for the rest.
 * Here is the choice; step_f32.cu, step_f16.cu and step_bf16.cu have the calls.
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
#include "step_blas.cuh"
#include "step_row.cuh"

/* What every launch here takes */
template <typename E, typename Out> struct product {
    Out *out;
    const E *x, *w, *bias, *norm, *res;
    step z;
    int act;
    wb_blas *blas;
    cudaStream_t stream;
};

template <typename E, typename Out, int GATES>
static wb_status launch_step(const product<E, Out> &p)
{
    constexpr int V = pack_of<E>();
    step z = p.z;
    bool packs =
        z.I % V == 0 && on_packs<V>(p.x) && on_packs<V>(p.w) && on_packs<V>(p.norm);
    if (packs && z.R == 1 && z.I <= LONGEST_ROW) {
        int steps = (z.I / V + 31) / 32, n = ROW_WARPS * SLOTS / (GATES * steps);
        int most = blocks_at_once(z.I) * multiprocessors();
        if (n < (z.O - 1) / most + 1) n = (z.O - 1) / most + 1;
        if (n > MOST_SUMS / GATES) n = MOST_SUMS / GATES;
        int blocks = (z.O - 1) / n + 1;
        int rows = GATES * ((z.O - 1) / blocks + 1);
        launch_early(
            row_kernel<E, Out, GATES, V>, blocks, ROW_THREADS, row_bytes(z.I, rows),
            p.stream, p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act);
        return wb_launched();
    }
    if constexpr (sizeof(E) == 2) {
        // a small matrix is read sooner than three kernels begin
        bool large = (size_t)z.I * z.O * GATES >= 1 << 20 || z.R > ROWS;
        int columns = p.blas && packs && large ? columns_for(z, GATES, p.norm) : 0;
        if (columns)
            return blas_step<E, Out, GATES>(
                p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act, p.blas, columns,
                p.stream);
    }
    dim3 grid((unsigned)((z.O + WARPS - 1) / WARPS), (unsigned)((z.R + ROWS - 1) / ROWS));
    auto *kernel = packs ? step_kernel<E, Out, GATES, V> : step_kernel<E, Out, GATES, 1>;
    kernel<<<grid, BLOCK, 0, p.stream>>>(
        p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act);
    return wb_launched();
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
    return launch_step<E, Out, GATES>(p);
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
        step z = {R, C, V, eps, offset};                                                 \
        return start_step<E, float, 1>(                                                  \
            {logits, x, w, NULL, norm, NULL, z, WB_LINEAR, h_blas, stream});             \
    }

#endif
