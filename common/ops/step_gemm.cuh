/* step_gemm.cuh - several rows: a cuBLAS GEMM between a kernel that computes u and one
 * that adds the bias and applies the activation.
 *
 * Rounding u = x (offset + norm) to 16 bits would cost accuracy. So u has two rows for
 * each row of x: high, the rounded value, and low, the rounding error. cuBLAS reads the
 * weights once for both, and their sums are added at the end. The scratch memory holds
 * the sums of the GEMM, u, and rstd of each row.
 */
#ifndef STEP_GEMM_CUH
#define STEP_GEMM_CUH
#include "blas.cuh"
#include "step.cuh"

/* u is scaled by this, so that x (offset + norm) stays in the range of f16. */
template <typename E> __device__ constexpr float u_scale(void)
{
    return 1.0f;
}
template <> __device__ constexpr float u_scale<wb_f16>(void)
{
    return 0x1p-6f;
}

/* Row r of x becomes rows r and R + r of u. One block per row. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK_SIZE)
    split_kernel(E *u, float *rstd, const E *x, const E *norm, step_sizes z)
{
    pdl_trigger();
    pdl_wait();
    size_t r = blockIdx.x, low = (size_t)z.R * z.I;
    float squares = 0.0f;
    for (int i = (int)threadIdx.x; i < z.I; i += BLOCK_SIZE) {
        float y = (float)x[r * z.I + i];
        squares += y * y;
        y *= (z.offset + (float)norm[i]) * u_scale<E>();
        E rounded = E(y);
        u[r * z.I + i] = rounded;
        u[low + r * z.I + i] = E(y - (float)rounded);
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) rstd[r] = rsqrtf(squares / (float)z.I + z.eps) / u_scale<E>();
}

/* Outputs o0 to o0 + n - 1 of all rows, from sums (R,n) or (2R,n); two gates: 2n */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK_SIZE) finish_kernel(
    Out *out, const float *sums, const float *rstd, const E *bias, const E *res,
    step_sizes z, int act, int o0, int n)
{
    pdl_trigger();
    pdl_wait();
    size_t i = ((size_t)blockIdx.x * BLOCK_SIZE + threadIdx.x) * V, r = i / n, j = i % n;
    if (r >= (size_t)z.R) return;
    float y[GATES][V], addend[V];
#pragma unroll
    for (int g = 0; g < GATES; g++) {
        load_float<V>(y[g], sums + (r * GATES + g) * n + j, V);
        if (rstd) {
            load_float<V>(addend, sums + ((z.R + r) * GATES + g) * n + j, V);
#pragma unroll
            for (int k = 0; k < V; k++)
                y[g][k] = (y[g][k] + addend[k]) * rstd[r];
        }
        if (!bias) continue;
        load_float<V>(addend, bias + (size_t)g * z.O + o0 + j, V);
#pragma unroll
        for (int k = 0; k < V; k++)
            y[g][k] += addend[k];
    }
    size_t at = r * z.O + o0 + j;
    if (res) load_float<V>(addend, res + at, V);
#pragma unroll
    for (int k = 0; k < V; k++) {
        if (GATES == 2) y[0][k] = activate(act, y[0][k]) * y[GATES - 1][k];
        if (res) y[0][k] += addend[k];
    }
    store_float<V>(out + at, y[0], V);
}

/* Columns of the GEMM that fit into the scratch memory with u; 0: do without cuBLAS. */
static int columns_for(const step_sizes &z, int gates, bool norm)
{
    size_t rows = (size_t)z.R * (norm ? 2 : 1), room = SCRATCH;
    size_t kept = norm ? (rows * z.I + 1) / 2 + z.R + 16 : 0;
    if (kept >= room) return 0;
    size_t fit = (room - kept) / rows;
    if (fit >= (size_t)gates * z.O) return gates * z.O;
    return gates == 2 ? 0 : (int)(fit / 256 * 256);  // both gates of an output together
}

template <typename E, typename Out, int GATES>
static wb_status blas_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act, wb_blas *blas, int columns, cudaStream_t s)
{
    int rows = norm ? 2 * z.R : z.R;
    float *sums = blas->scratch, *rstd = NULL;
    const E *u = x;
    if (norm) {
        E *split = (E *)(sums + ((size_t)rows * columns + 3) / 4 * 4);
        rstd = (float *)(split + ((size_t)rows * z.I + 7) / 8 * 8);
        launch_pdl(split_kernel<E>, z.R, BLOCK_SIZE, 0, s, split, rstd, x, norm, z);
        u = split;
    }
    bool by_vec = columns % 4 == 0 && z.O % 4 == 0 && (uintptr_t)bias % 16 == 0 &&
                  (uintptr_t)res % 16 == 0 && (uintptr_t)out % 16 == 0;
    auto *finish =
        by_vec ? finish_kernel<E, Out, GATES, 4> : finish_kernel<E, Out, GATES, 1>;
    for (int o0 = 0; o0 < z.O; o0 += columns) {
        int n = z.O * GATES - o0 < columns ? z.O * GATES - o0 : columns;
        wb_status status = gemm<E, float>(
            blas, {sums, n, 0}, {u, z.I, 0}, AS_STORED, {w + (size_t)o0 * z.I, z.I, 0},
            TRANSPOSED, rows, n, z.I, 1, 1.0f, 0.0f, s);
        if (status != WB_OK) return status;
        size_t N = (size_t)z.R * (n / GATES);
        launch_pdl(
            finish, blocks_for(N, by_vec ? 4 : 1), BLOCK_SIZE, 0, s, out,
            (const float *)sums, (const float *)rstd, bias, res, z, act, o0, n / GATES);
    }
    return wb_launched();
}

#endif
