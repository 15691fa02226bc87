/* matmul.cu - linear layers, forward and backward, and the cuBLAS handle they share. */
#include "blas.cuh"
#include "elements.cuh"
#include "epilogue.cuh"
#include <stdlib.h>

/* --- handle ------------------------------------------------------------------------- */

wb_status wb_blas_create(wb_blas **h_blas)
{
    if (!h_blas) return WB_BAD_SHAPE;
    wb_blas *blas = (wb_blas *)calloc(1, sizeof *blas);
    if (!blas) return WB_BAD_CUDA;
    // f32 stays f32, and no partial sums in 16 bits
    int exact = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    if (cublasCreate(&blas->handle) != CUBLAS_STATUS_SUCCESS ||
        cublasSetMathMode(blas->handle, (cublasMath_t)exact) != CUBLAS_STATUS_SUCCESS ||
        cudaMalloc(&blas->workspace, BLAS_WORKSPACE) != cudaSuccess ||
        cudaMalloc((void **)&blas->scratch, SCRATCH * sizeof(float)) != cudaSuccess) {
        wb_blas_destroy(blas);
        return WB_BAD_CUDA;
    }
    *h_blas = blas;
    return WB_OK;
}

void wb_blas_destroy(wb_blas *h_blas)
{
    if (!h_blas) return;
    if (h_blas->handle) cublasDestroy(h_blas->handle);
    cudaFree(h_blas->workspace);
    cudaFree(h_blas->scratch);
    free(h_blas);
}

size_t wb_blas_bytes(void)
{
    return BLAS_WORKSPACE + SCRATCH * sizeof(float);
}

void wb_avoid_waits(void)
{
#ifdef __CUDACPU__
    wbcpu_avoid_waits();
#endif
}

/* --- forward ------------------------------------------------------------------------ */

/* y = product + bias + res, in float, rounded once; bias and res may be NULL. V divides
 * O, so the elements of a vector belong to one row. */
template <int V, typename E>
static __global__ void finish_kernel(
    E *y, const float *product, const E *bias, const E *res, unsigned N, unsigned O)
{
    unsigned i = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * V;
    float sum[V], addend[V];
    if (i >= N) return;
    load_float<V>(sum, product + i, V);
    if (bias) {
        load_float<V>(addend, bias + i % O, V);
        for (int k = 0; k < V; k++)
            sum[k] += addend[k];
    }
    if (res) {
        load_float<V>(addend, res + i, V);
        for (int k = 0; k < V; k++)
            sum[k] += addend[k];
    }
    store_float<V>(y + i, sum, V);
}

/* cuBLAS may round the product to 16 bits before it adds y. This function does not: the
 * products of a few rows at a time go to the scratch memory as floats. */
template <typename E>
static wb_status forward_with_addends(
    E *y, const E *x, const E *w, const E *bias, const E *res, int R, int I, int O,
    wb_blas *blas, cudaStream_t s)
{
    if (O > SCRATCH) return WB_UNSUPPORTED;
    constexpr int V = VEC16<E>;
    bool by_vec = O % V == 0 && has_vecs<V>(y, bias, res);
    auto *finish = by_vec ? finish_kernel<V, E> : finish_kernel<1, E>;
    int rows = SCRATCH / O;
    for (int r = 0; r < R; r += rows) {
        int n = R - r < rows ? R - r : rows;
        size_t N = (size_t)n * O, at = (size_t)r * O;
        wb_status status = gemm<E, float>(
            blas, {blas->scratch, O, 0}, {x + (size_t)r * I, I, 0}, AS_STORED, {w, I, 0},
            TRANSPOSED, n, O, I, 1, 1.0f, 0.0f, s);
        if (status != WB_OK) return status;
        finish<<<blocks_for(N, by_vec ? V : 1), BLOCK_SIZE, 0, s>>>(
            y + at, blas->scratch, bias, res ? res + at : NULL, (unsigned)N, (unsigned)O);
    }
    return wb_launched();
}

template <typename E>
static wb_status matmul_forward(
    E *y, const E *x, const E *w, const E *bias, const E *res, int R, int I, int O,
    wb_blas *blas, cudaStream_t s)
{
    if (R < 0 || I < 1 || O < 0) return WB_BAD_SHAPE;
    if (R == 0 || O == 0) return WB_OK;
    if (!y || !x || !w || !blas) return WB_BAD_SHAPE;
    float beta = 0.0f;
    if (res && !bias && sizeof(E) == 4) {  // y = res, then the GEMM adds to it
        size_t bytes = (size_t)R * O * sizeof(E);
        if (res != y &&
            cudaMemcpyAsync(y, res, bytes, cudaMemcpyDeviceToDevice, s) != cudaSuccess)
            return WB_BAD_CUDA;
        beta = 1.0f;
    } else if (bias || res) {
        wb_status status =
            res ? WB_UNSUPPORTED : gemm_with_bias(y, x, w, bias, R, I, O, blas, s);
        return status == WB_UNSUPPORTED
                   ? forward_with_addends(y, x, w, bias, res, R, I, O, blas, s)
                   : status;
    }
    wb_status status = gemm<E, E>(
        blas, {y, O, 0}, {x, I, 0}, AS_STORED, {w, I, 0}, TRANSPOSED, R, O, I, 1, 1.0f,
        beta, s);
    return status == WB_OK ? wb_launched() : status;
}

/* --- backward ----------------------------------------------------------------------- */

enum { ROWS_PER_PART = 64, MAX_PARTS = 256 };

/* part[p,o] = sum of dy[r,o] over the rows of part p. Neighbouring threads own
 * neighbouring columns. */
template <typename E>
static __global__ void
column_parts_kernel(float *part, const E *dy, int R, int O, int rows)
{
    int o = (int)(blockIdx.x * BLOCK_SIZE + threadIdx.x), p = (int)blockIdx.y;
    if (o >= O) return;
    long long from = (long long)p * rows, to = from + rows < R ? from + rows : R;
    float sum = 0.0f;
    for (long long r = from; r < to; r++)
        sum += (float)dy[(size_t)r * O + o];
    part[(size_t)p * O + o] = sum;
}

static __global__ void add_parts_kernel(float *dbias, const float *part, int parts, int O)
{
    int o = (int)(blockIdx.x * BLOCK_SIZE + threadIdx.x);
    if (o >= O) return;
    float sum = 0.0f;
    for (int p = 0; p < parts; p++)
        sum += part[(size_t)p * O + o];
    dbias[o] += sum;
}

/* The same for many parts, which a single thread would load one after another: a block
 * has 32 columns, and each of its warps every eighth part. */
static __global__ void
add_many_parts_kernel(float *dbias, const float *part, int parts, int O)
{
    enum { WARPS = BLOCK_SIZE / 32 };
    __shared__ float warp_sums[WARPS][32];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int o = (int)blockIdx.x * 32 + lane;
    float sum = 0.0f;
    if (o >= O) parts = 0;  // these threads only reach the barrier
#pragma unroll 8
    for (int p = warp; p < parts; p += WARPS)
        sum += part[(size_t)p * O + o];
    warp_sums[warp][lane] = sum;
    __syncthreads();  // warp_sums is complete
    if (warp > 0 || o >= O) return;
    for (int w = 1; w < WARPS; w++)
        sum += warp_sums[w][lane];
    dbias[o] += sum;
}

template <typename E>
static wb_status
bias_backward(float *dbias, const E *dy, int R, int O, wb_blas *blas, cudaStream_t s)
{
    if (O > SCRATCH) return WB_UNSUPPORTED;
    int parts = (R + ROWS_PER_PART - 1) / ROWS_PER_PART;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    if (parts > SCRATCH / O) parts = SCRATCH / O;
    int rows = (R + parts - 1) / parts;
    parts = (R + rows - 1) / rows;
    dim3 grid((unsigned)((O + BLOCK_SIZE - 1) / BLOCK_SIZE), (unsigned)parts);
    column_parts_kernel<<<grid, BLOCK_SIZE, 0, s>>>(blas->scratch, dy, R, O, rows);
    if (parts > 32)
        add_many_parts_kernel<<<(unsigned)((O + 31) / 32), BLOCK_SIZE, 0, s>>>(
            dbias, blas->scratch, parts, O);
    else
        add_parts_kernel<<<grid.x, BLOCK_SIZE, 0, s>>>(dbias, blas->scratch, parts, O);
    return wb_launched();
}

template <typename E>
static wb_status matmul_backward(
    E *dx, float *dw, float *dbias, const E *dy, const E *x, const E *w, int R, int I,
    int O, wb_blas *blas, cudaStream_t s)
{
    if (R < 0 || I < 1 || O < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!dw || !dy || !x || !blas) return WB_BAD_SHAPE;
    if (dx && !w) return WB_BAD_SHAPE;
    wb_status status = WB_OK;
    if (dx)
        status = gemm<E, E>(
            blas, {dx, I, 0}, {dy, O, 0}, AS_STORED, {w, I, 0}, AS_STORED, R, I, O, 1,
            1.0f, 0.0f, s);
    if (status == WB_OK)
        status = gemm<E, float>(
            blas, {dw, I, 0}, {dy, O, 0}, TRANSPOSED, {x, I, 0}, AS_STORED, O, I, R, 1,
            1.0f, 1.0f, s);
    if (status == WB_OK && dbias) status = bias_backward(dbias, dy, R, O, blas, s);
    return status == WB_OK ? wb_launched() : status;
}

#define DEFINE(E, e)                                                                     \
    wb_status matmul_forward_##e(                                                        \
        E *y, const E *x, const E *w, const E *bias, const E *res, int R, int I, int O,  \
        wb_blas *h_blas, cudaStream_t stream)                                            \
    {                                                                                    \
        return matmul_forward(y, x, w, bias, res, R, I, O, h_blas, stream);              \
    }                                                                                    \
    wb_status matmul_backward_##e(                                                       \
        E *dx, float *dw, float *dbias, const E *dy, const E *x, const E *w, int R,      \
        int I, int O, wb_blas *h_blas, cudaStream_t stream)                              \
    {                                                                                    \
        return matmul_backward(dx, dw, dbias, dy, x, w, R, I, O, h_blas, stream);        \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
