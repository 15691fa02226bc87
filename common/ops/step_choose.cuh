/* step_choose.cuh - the matrix multiplies of a decode step. They have few rows, so their
 * cost is the bytes of the weights, which are read once: by gemv_kernel for one row
 * (step_gemv.cuh), by cuBLAS for several rows of 16 bits (step_gemm.cuh), by step_any.cuh
 * for the rest. On the CPU back end, step_cpu.cuh does those with 4096 weights or more.
 * This file chooses; step_f32.cu, step_f16.cu and step_bf16.cu define the functions.
 *
 * The norm needs no pass of its own:
 *
 *     sum_i x_i rstd (offset + norm_i) w_i  =  rstd sum_i x_i (offset + norm_i) w_i
 *
 * A step takes the time of its weights plus the gaps between its kernels. All of them use
 * programmatic dependent launch (cuda/pdl.cuh) and load weights first, which no kernel of
 * a step changes.
 */
#ifndef STEP_CHOOSE_CUH
#define STEP_CHOOSE_CUH
#include "blas.cuh"
#include "step_any.cuh"
#include "step_gemm.cuh"
#include "step_gemv.cuh"
#ifdef __CUDACPU__
#include "step_cpu.cuh"
#endif

/* The arguments of every launch here */
template <typename E, typename Out> struct step_call {
    Out *out;
    const E *x, *w, *bias, *norm, *res;
    step_sizes z;
    int act;
    wb_blas *blas;
    cudaStream_t stream;
};

/* false: a row too long for shared memory */
template <typename E, typename Out, int GATES>
static bool launch_gemv(const step_call<E, Out> &p)
{
    constexpr int V = VEC16<E>;
    step_sizes z = p.z;
    if (z.I > MAX_I) return false;
    int steps = (z.I / V + 31) / 32, n = GEMV_WARPS * STAGES / (GATES * steps);
    int wave = resident_blocks(z.I) * sm_count();
    if (n < (z.O - 1) / wave + 1) n = (z.O - 1) / wave + 1;
    if (n > MAX_SUMS / GATES) n = MAX_SUMS / GATES;
    int blocks = (z.O - 1) / n + 1;
    int smem = gemv_smem(z.I, GATES * ((z.O - 1) / blocks + 1));
    if (smem > max_smem_per_block()) return false;
    launch_pdl(
        gemv_kernel<E, Out, GATES, V>, blocks, GEMV_THREADS, smem, p.stream, p.out, p.x,
        p.w, p.bias, p.norm, p.res, z, p.act);
    return true;
}

template <typename E, typename Out, int GATES>
static wb_status launch_step(const step_call<E, Out> &p)
{
    constexpr int V = VEC16<E>;
    step_sizes z = p.z;
    bool by_vec = z.I % V == 0 && has_vecs<V>(p.x, p.w, p.norm);
    if (by_vec && z.R == 1 && launch_gemv<E, Out, GATES>(p)) return wb_launched();
    if constexpr (sizeof(E) == 2) {
        // a small matrix is read faster than three kernels start
        bool large = (size_t)z.I * z.O * GATES >= 1 << 20 || z.R > ROWS;
        int columns = p.blas && by_vec && large ? columns_for(z, GATES, p.norm) : 0;
        if (columns)
            return blas_step<E, Out, GATES>(
                p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act, p.blas, columns,
                p.stream);
    }
    dim3 grid(
        (unsigned)((z.O + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK),
        (unsigned)((z.R + ROWS - 1) / ROWS));
    auto *kernel = by_vec ? step_kernel<E, Out, GATES, V> : step_kernel<E, Out, GATES, 1>;
    kernel<<<grid, BLOCK_SIZE, 0, p.stream>>>(
        p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act);
    return wb_launched();
}

template <typename E, typename Out, int GATES>
static wb_status start_step(const step_call<E, Out> &p)
{
    step_sizes z = p.z;
    if (z.R < 0 || z.I < 1 || z.O < 0 || !(z.eps >= 0) || z.R > 8 * 65535)
        return WB_BAD_SHAPE;
    if (z.R == 0 || z.O == 0) return WB_OK;
    if (!p.out || !p.x || !p.w) return WB_BAD_SHAPE;
#ifdef __CUDACPU__
    // smaller ones run, and so test, the GPU's kernels
    if ((size_t)z.I * z.O >= 4096 && on_cpu::rows_for(z)) {
        return on_cpu::launch_step<E, Out, GATES>(
            p.out, p.x, p.w, p.bias, p.norm, p.res, z, p.act, p.stream);
    }
#endif
    return launch_step<E, Out, GATES>(p);
}

template <typename E> static wb_status linear_step(const step_call<E, E> &p)
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
        step_sizes z = {R, C, V, eps, offset};                                           \
        return start_step<E, float, 1>(                                                  \
            {logits, x, w, NULL, norm, NULL, z, WB_LINEAR, h_blas, stream});             \
    }

#endif
