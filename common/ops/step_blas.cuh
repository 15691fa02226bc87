/* step_blas.cuh - several rows: cuBLAS, between a kernel that makes u and one that finishes.
 *
 * In 16 bits the rounding of u = x (offset + norm) would show, so u has two rows for each
 * of x, high and low: a 16-bit number and what it leaves. cuBLAS reads the weights once
 * for both, and their sums are added at the end. In scratch lie the sums of the product,
 * u, and rstd of each row.
 */
#ifndef STEP_BLAS_CUH
#define STEP_BLAS_CUH
#include "blas.cuh"
#include "early.cuh"
#include "step.cuh"

/* u is made in this unit so that x (offset + norm) stays in the range of f16 */
template <typename E> __device__ constexpr float scale_of(void)
{
    return 1.0f;
}
template <> __device__ constexpr float scale_of<wb_f16>(void)
{
    return 0x1p-6f;
}

/* Row r of x to rows r and R + r of u. A block a row. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK)
    split_kernel(E *u, float *rstd, const E *x, const E *norm, step z)
{
    let_next_kernel_start();
    wait_for_kernel_before();
    size_t r = blockIdx.x, low = (size_t)z.R * z.I;
    float squares = 0.0f;
    for (int i = (int)threadIdx.x; i < z.I; i += BLOCK) {
        float y = (float)x[r * z.I + i];
        squares += y * y;
        y *= (z.offset + (float)norm[i]) * scale_of<E>();
        E rounded = E(y);
        u[r * z.I + i] = rounded;
        u[low + r * z.I + i] = E(y - (float)rounded);
    }
    squares = block_sum(squares);
    if (threadIdx.x == 0) rstd[r] = rsqrtf(squares / (float)z.I + z.eps) / scale_of<E>();
}

/* Outputs o0 .. o0 + n - 1 of all rows, from sums (R,n) or (2R,n), gates beside each other */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK) finish_kernel(
    Out *out, const float *sums, const float *rstd, const E *bias, const E *res, step z,
    int act, int o0, int n)
{
    let_next_kernel_start();
    wait_for_kernel_before();
    size_t i = ((size_t)blockIdx.x * BLOCK + threadIdx.x) * V, r = i / n, j = i % n;
    if (r >= (size_t)z.R) return;
    float y[GATES][V], addend[V];
#pragma unroll
    for (int g = 0; g < GATES; g++) {
        load<V>(y[g], sums + (r * GATES + g) * n + j, V);
        if (rstd) {
            load<V>(addend, sums + ((z.R + r) * GATES + g) * n + j, V);
#pragma unroll
            for (int k = 0; k < V; k++)
                y[g][k] = (y[g][k] + addend[k]) * rstd[r];
        }
        if (!bias) continue;
        load<V>(addend, bias + (size_t)g * z.O + o0 + j, V);
#pragma unroll
        for (int k = 0; k < V; k++)
            y[g][k] += addend[k];
    }
    size_t at = r * z.O + o0 + j;
    if (res) load<V>(addend, res + at, V);
#pragma unroll
    for (int k = 0; k < V; k++) {
        if (GATES == 2) y[0][k] = activated(act, y[0][k]) * y[GATES - 1][k];
        if (res) y[0][k] += addend[k];
    }
    store<V>(out + at, y[0], V);
}

/* Columns of the product that fit into scratch beside u; 0: do without cuBLAS */
static int columns_for(const step &z, int gates, bool norm)
{
    size_t rows = (size_t)z.R * (norm ? 2 : 1), most = SCRATCH;
    size_t kept = norm ? (rows * z.I + 1) / 2 + z.R + 16 : 0;
    if (kept >= most) return 0;
    size_t fit = (most - kept) / rows;
    if (fit >= (size_t)gates * z.O) return gates * z.O;
    return gates == 2 ? 0 : (int)(fit / 256 * 256);  // gates stay beside each other
}

template <typename E, typename Out, int GATES>
static wb_status blas_step(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act, wb_blas *blas, int columns, cudaStream_t s)
{
    int rows = norm ? 2 * z.R : z.R;
    float *sums = blas->scratch, *rstd = NULL;
    const E *u = x;
    if (norm) {
        E *split = (E *)(sums + ((size_t)rows * columns + 3) / 4 * 4);
        rstd = (float *)(split + ((size_t)rows * z.I + 7) / 8 * 8);
        launch_early(split_kernel<E>, z.R, BLOCK, 0, s, split, rstd, x, norm, z);
        u = split;
    }
    bool packs = columns % 4 == 0 && z.O % 4 == 0 && (uintptr_t)bias % 16 == 0 &&
                 (uintptr_t)res % 16 == 0 && (uintptr_t)out % 16 == 0;
    auto *finish =
        packs ? finish_kernel<E, Out, GATES, 4> : finish_kernel<E, Out, GATES, 1>;
    for (int o0 = 0; o0 < z.O; o0 += columns) {
        int n = z.O * GATES - o0 < columns ? z.O * GATES - o0 : columns;
        wb_status status = products<E, float>(
            blas, {sums, n, 0}, {u, z.I, 0}, AS_IT_IS, {w + (size_t)o0 * z.I, z.I, 0},
            TRANSPOSED, rows, n, z.I, 1, 1.0f, 0.0f, s);
        if (status != WB_OK) return status;
        size_t N = (size_t)z.R * (n / GATES);
        launch_early(
            finish, blocks_for(N, packs ? 4 : 1), BLOCK, 0, s, out, (const float *)sums,
            (const float *)rstd, bias, res, z, act, o0, n / GATES);
    }
    return wb_launched();
}

#endif
