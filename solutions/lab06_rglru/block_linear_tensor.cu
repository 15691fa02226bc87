/* block_linear_tensor.cu - lab 06, part 06.7: the matrices of both gates in f16 and bf16,
 * on tensor cores. The contract is rglru.h. */
#include "cuda/mma.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.7 (nothing but the kernels of 06.1, as templates, in a first version)
//> // TODO(06.7): the kernels of block_linear.cu, as templates, pass here too: copy them. On
//> // tensor cores (nvcuda::wmma, or cuda/mma.cuh) they are ten times as fast.
/* The three matrix multiplies of block_linear_tiles.cuh on tensor cores. Without them, as
 * for bf16 on Turing, the kernels of that file run. */
#include "block_linear_mma.cuh"
#include "block_linear_tiles.cuh"
#include "block_linear_wgmma.cuh"

template <typename E, int BK, bool VECTORS>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) gates_mma(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    extern __shared__ __align__(16) unsigned char memory[];
    gemm_smem<E, BK> &smem = *(gemm_smem<E, BK> *)memory;
    int across = (M + HALF_BN - 1) / HALF_BN, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * BM, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * HALF_BN;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    operand<E> a = {c + first, NULL, C, R, M, VECTORS};
    operand<E> b = {wx + matrix, wa + matrix, (size_t)M, M, M, VECTORS};
    warp_sums s = {};
    bool active = has_results(R - row, M - column, HALF_BN);
    gemm<false, false, E>(
        s, smem, a, b, NULL, NULL, (int)row, column, 0, M, active, false);
#pragma unroll
    for (int i = 0; i < MMAS_DOWN; i++)
        for_each_run(
            s.c[i], smem.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                const E *bias = n < HALF_BN ? bx : ba;
                E *out = n < HALF_BN ? px : pa;
                int j = column + n % HALF_BN;
                if (row + r >= (size_t)R || j >= M) return;
                add_run(v, bias + first + j, M - j, VECTORS);
                store_run(out + (row + r) * C + first + j, v, M - j, VECTORS);
            });
}

/* dc may be dc_in: each lane itself reads what it overwrites. */
template <typename E, int BK, bool VECTORS>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) dc_mma(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M)
{
    extern __shared__ __align__(16) unsigned char memory[];
    gemm_smem<E, BK> &smem = *(gemm_smem<E, BK> *)memory;
    int across = (M + BN - 1) / BN, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * BM, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * BN;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    operand<E> a = {dpx + first, NULL, C, R, M, VECTORS};
    operand<E> b = {wx + matrix, NULL, (size_t)M, M, M, VECTORS};
    warp_sums s = {};
    bool active = has_results(R - row, M - column, BN);
    gemm<false, true>(
        s, smem, a, b, dpa + first, wa + matrix, (int)row, column, 0, M, active, false);
#pragma unroll
    for (int i = 0; i < MMAS_DOWN; i++)
        for_each_run(
            s.c[i], smem.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                int j = column + n;
                size_t at = (row + r) * C + first + j;
                if (row + r >= (size_t)R || j >= M) return;
                if (dc_in) add_run(v, dc_in + at, M - j, VECTORS);
                store_run(dc + at, v, M - j, VECTORS);
            });
}

/* Rows of part blockIdx.y. A part of `partial` is (2,G,M,M) for dwx and dwa, then (2,G,M)
 * for dbx and dba. */
template <typename E, int BK, bool VECTORS>
static __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) dw_mma(
    float *partial, const E *c, const E *dpx, const E *dpa, int R, int G, int M, int rows)
{
    extern __shared__ __align__(16) unsigned char memory[];
    gemm_smem<E, BK> &smem = *(gemm_smem<E, BK> *)memory;
    int across = (M + HALF_BN - 1) / HALF_BN, down = (M + BM - 1) / BM;
    int column = blockIdx.x % across * HALF_BN, row = blockIdx.x / across % down * BM;
    size_t g = blockIdx.x / across / down, C = (size_t)G * M, first = g * M;
    size_t begin = (size_t)blockIdx.y * rows, end = begin + rows;
    if (end > (size_t)R) end = R;
    operand<E> a = {c + first, NULL, C, (int)end, M, VECTORS};
    operand<E> b = {dpx + first, dpa + first, C, (int)end, M, VECTORS};
    warp_sums s = {};
    bool active = has_results(M - row, M - column, HALF_BN);
    gemm<true, false, E>(
        s, smem, a, b, NULL, NULL, row, column, (int)begin, (int)end, active, row == 0);
    partial += blockIdx.y * (2 * C * M + 2 * C);
    float *result = smem.result[threadIdx.x / WARP];
#pragma unroll
    for (int i = 0; i < MMAS_DOWN; i++)
        for_each_run(s.c[i], result, i, [&](int r, int n, float *v) {
            int m = row + r, j = column + n % HALF_BN;
            float *to = partial + ((n / HALF_BN * G + g) * M + m) * M + j;
            if (m < M && j < M) store_run(to, v, M - j, VECTORS);
        });
    if (row > 0) return;
    for_each_run(s.bias, result, 0, [&](int r, int n, float *v) {  // all rows are equal
        int j = column + n % HALF_BN;
        for (int k = 0; k < 8; k++)
            if (r == 0 && j + k < M)
                partial[2 * C * M + n / HALF_BN * C + first + j + k] = v[k];
    });
}

/* --- launchers ---------------------------------------------------------------------- */

/* BK = 64 does not fit in Turing's 64 KB per block. Turing has mma for f16 only. */
constexpr int LARGE_BK = 64;
template <typename E> constexpr int SMALL_BK = LARGE_BK;
template <> constexpr int SMALL_BK<wb_f16> = 32;

template <typename E> static bool large_bk_fits(void)
{
    return max_smem_per_block() >= (int)sizeof(gemm_smem<E, LARGE_BK>);
}

static unsigned mma_block_count(int R, int G, int M, int columns)
{
    size_t down = ((size_t)R + BM - 1) / BM, across = (M + columns - 1) / columns;
    return (unsigned)(down * G * across);
}

template <int BK, typename E>
static void launch_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    bool vectors = M % VEC16<E> == 0 && is_aligned(16, px, pa, c, wx, wa, bx, ba);
    auto kernel = vectors ? gates_mma<E, BK, true> : gates_mma<E, BK, false>;
    size_t smem = sizeof(gemm_smem<E, BK>);
    allow_smem(kernel, smem);
    kernel<<<mma_block_count(R, G, M, HALF_BN), THREADS, smem, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
}

constexpr size_t MIN_MMA_PARTS = 2;  // of the sums for dw, for large matrices too

template <int BK, typename E>
static void launch_backward(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    bool vectors = M % VEC16<E> == 0 && is_aligned(16, dc, dc_in, dpx, dpa, c, wx, wa);
    auto kernel = vectors ? dc_mma<E, BK, true> : dc_mma<E, BK, false>;
    size_t smem = sizeof(gemm_smem<E, BK>);
    allow_smem(kernel, smem);
    kernel<<<mma_block_count(R, G, M, BN), THREADS, smem, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M);
    size_t C = (size_t)G * M, sums = 2 * C * (M + 1);
    int P = part_count(R, sums, MIN_PART_ROWS, MAX_PART_SUMS, MIN_MMA_PARTS);
    int rows = (R + P - 1) / P;
    P = (R + rows - 1) / rows;
    dim3 grid((M + HALF_BN - 1) / HALF_BN * ((M + BM - 1) / BM) * G, P);
    auto outer = vectors ? dw_mma<E, BK, true> : dw_mma<E, BK, false>;
    allow_smem(outer, smem);
    outer<<<grid, THREADS, smem, stream>>>(partial, c, dpx, dpa, R, G, M, rows);
    add_partial_sums({{dwx, dwa, dbx, dba}, {C * M, C * M, C, C}}, partial, P, stream);
}
// END SOLUTION

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): launch both_gates, then return wb_launched().
    //> return WB_TODO;
    if (!has_mma<E>())
        return tiles_forward<E>(px, pa, c, wx, bx, wa, ba, R, G, M, stream);
    if (has_wgmma<E>()) {
        auto launch = M == 64    ? launch_gates_wgmma<E, 64>
                      : M == 128 ? launch_gates_wgmma<E, 128>
                      : M == 256 ? launch_gates_wgmma<E, 256>
                                 : NULL;
        if (launch && launch(px, pa, c, wx, bx, wa, ba, R, G, stream))
            return wb_launched();
    }
    auto launch =
        large_bk_fits<E>() ? launch_gates<LARGE_BK, E> : launch_gates<SMALL_BK<E>, E>;
    launch(px, pa, c, wx, bx, wa, ba, R, G, M, stream);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of workspace of the backward pass */
template <typename E> static size_t block_linear_back_workspace(int R, int G, int M)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): as in block_linear.cu.
    //> return 0;
    if (!has_mma<E>()) return tiles_back_workspace(R, G, M);
    if (R < 1 || G < 1 || M < 1) return 0;
    size_t sums = 2 * (size_t)G * M * (M + 1);
    return parts_workspace(R, sums, MIN_PART_ROWS, MAX_PART_SUMS, MIN_MMA_PARTS);
    // END SOLUTION
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): launch dc_each, and dw_each for each gate; return wb_launched().
    //> (void)partial;
    //> return WB_TODO;
    if (!has_mma<E>())
        return tiles_backward<E>(
            dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M, partial, stream);
    auto launch = large_bk_fits<E>() ? launch_backward<LARGE_BK, E>
                                     : launch_backward<SMALL_BK<E>, E>;
    launch(dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M, partial, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_bf16, bf16)
