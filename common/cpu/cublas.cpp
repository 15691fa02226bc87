/* cublas.cpp - the cuBLAS calls of include/cublas_v2.h.
 *
 * Every function fills a gemm_call, one record for all element types, strides and
 * batches. It runs in two rounds on the worker pool: the first widens 16-bit factors to
 * float (bf16 only where the CPU cannot multiply it), the second computes the tiles of C,
 * each by one thread. The tiling depends only on the shape, so the result has the same
 * bits for any number of workers.
 */
#include "blas.h"
#include "wbcpu.h"
#include "wbcpu/float16.h"

#include <algorithm>

static float *reserve(scratch *s, size_t size)
{
    if (s->size < size) {
        free(s->data);
        s->data = (float *)aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64);
        s->size = s->data ? size : 0;
    }
    return s->data;
}

/* --- element types ------------------------------------------------------------------ */

static bool is_float16(cudaDataType type)
{
    return type == CUDA_R_16F || type == CUDA_R_16BF;
}
static bool is_known(cudaDataType type)
{
    return type == CUDA_R_32F || is_float16(type);
}

void wbcpu_widen(float *out, const void *in, cudaDataType type, size_t n)
{
    const uint16_t *bits = (const uint16_t *)in;
    if (type == CUDA_R_16F)
        for (size_t i = 0; i < n; i++)
            out[i] = wbcpu::half_to_float_soft(bits[i]);  // vectorised
    else if (type == CUDA_R_32F)
        memcpy(out, in, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = wbcpu::bfloat16_to_float(bits[i]);
}

void wbcpu_narrow(void *out, const float *in, cudaDataType type, size_t n)
{
    uint16_t *bits = (uint16_t *)out;
    if (type == CUDA_R_16F)
        for (size_t i = 0; i < n; i++)
            bits[i] = wbcpu::float_to_half_soft(in[i]);
    else if (type == CUDA_R_32F)
        memcpy(out, in, n * sizeof *in);
    else
        for (size_t i = 0; i < n; i++)
            bits[i] = wbcpu::float_to_bfloat16(in[i]);
}

/* --- round 1: factors as floats ----------------------------------------------------- */

/* One factor of the whole batch: columns of `rows` elements, `ld` apart. A stride of 0
 * means one matrix for the whole batch. */
struct widening {
    matrix from, to;
    int rows, columns;
    int columns_per_task = 0, tasks_per_matrix = 0;
};
constexpr int ELEMENTS_PER_TASK = 1 << 16;

static void widen_task(void *context, int task)
{
    const widening *w = (const widening *)context;
    int index = task / w->tasks_per_matrix;
    int first = task % w->tasks_per_matrix * w->columns_per_task;
    int last = std::min(first + w->columns_per_task, w->columns);
    for (int j = first; j < last; j++)
        wbcpu_widen(
            (float *)wbcpu_element(w->to, index * w->to.stride + (long long)j * w->to.ld),
            wbcpu_element(w->from, index * w->from.stride + (long long)j * w->from.ld),
            w->from.type, w->rows);
}

/* Replaces x by a float copy. Returns false if out of memory. */
static bool make_wide(matrix *x, scratch *s, int rows, int columns, int batch)
{
    if (!is_float16(x->type)) return true;
    int matrices = x->stride == 0 ? 1 : batch;
    widening w = {
        *x, {nullptr, CUDA_R_32F, rows, (long long)rows * columns}, rows, columns};
    w.to.data = reserve(s, (size_t)w.to.stride * matrices);
    if (!w.to.data) return false;
    w.columns_per_task = std::max(1, ELEMENTS_PER_TASK / std::max(rows, 1));
    w.tasks_per_matrix = (columns + w.columns_per_task - 1) / w.columns_per_task;
    wbcpu_parallel(matrices * w.tasks_per_matrix, widen_task, &w);
    *x = w.to;
    if (matrices == 1) x->stride = 0;
    return true;
}

/* --- round 2: tiles of C ------------------------------------------------------------ */

struct tiling {
    const gemm_call *p;
    int rows = 0, columns = 0;           // of a tile
    int tile_rows = 0, tiles_per_c = 0;  // tiles per column of tiles, per matrix C
};

/* Tiles are small enough to occupy many workers and large enough that packing A and B
 * into panels is cheap. Their sizes are multiples of all kernels' register tiles. */
constexpr int SIDE = 384, MAX_TILE_ROWS = SIDE;
static tiling choose_tiling(const gemm_call *p)
{
    int tile_rows = (p->m + SIDE - 1) / SIDE, tile_columns = (p->n + SIDE - 1) / SIDE;
    bool one = tile_rows * tile_columns == 1, odd = tile_rows * tile_columns % 2;
    // with an even number of tiles two workers finish together
    if (p->batch == 1 && odd && (!one || (double)p->m * p->n * p->k > 1e6))
        (p->m >= p->n ? tile_rows : tile_columns)++;
    tiling t = {p};
    t.rows = ((p->m + tile_rows - 1) / tile_rows + 31) / 32 * 32;
    int panel = p->a.type == CUDA_R_16BF ? 64 : 12;
    t.columns = ((p->n + tile_columns - 1) / tile_columns + panel - 1) / panel * panel;
    t.tile_rows = (p->m + t.rows - 1) / t.rows;
    t.tiles_per_c = t.tile_rows * ((p->n + t.columns - 1) / t.columns);
    return t;
}

static scratch *thread_tile(void)
{
    static thread_local scratch mine;
    return &mine;
}

/* c = alpha a b + beta c, for a tile and a float c */
static void multiply_tile(
    const gemm_call *p, int m, int n, const void *a, const void *b, float *c, int ldc)
{
    if (p->a.type == CUDA_R_32F)
        p->handle->sgemm(
            p->transpose_a, p->transpose_b, m, n, p->k, p->alpha, (const float *)a,
            p->a.ld, (const float *)b, p->b.ld, p->beta, c, ldc);
    else
        p->handle->bf16_gemm(
            p->transpose_a, p->transpose_b, m, n, p->k, p->alpha, (const uint16_t *)a,
            p->a.ld, (const uint16_t *)b, p->b.ld, p->beta, c, ldc);
}

/* Rows i to i + m - 1 of the bias, added to the columns of a tile. */
static void add_bias(const gemm_call *p, float *c, int ldc, int i, int m, int n)
{
    float bias[MAX_TILE_ROWS];
    matrix from = {const_cast<void *>(p->bias), p->c.type, 0, 0};
    wbcpu_widen(bias, wbcpu_element(from, i), from.type, (size_t)m);
    for (int column = 0; column < n; column++)
        for (int row = 0; row < m; row++)
            c[(size_t)column * ldc + row] += bias[row];
}

static void multiply_task(void *context, int task)
{
    const tiling *t = (const tiling *)context;
    const gemm_call *p = t->p;
    int index = task / t->tiles_per_c, tile = task % t->tiles_per_c;
    int i = tile % t->tile_rows * t->rows, j = tile / t->tile_rows * t->columns;
    int m = std::min(t->rows, p->m - i), n = std::min(t->columns, p->n - j);
    long long from_a = p->transpose_a ? (long long)i * p->a.ld : i;
    long long from_b = p->transpose_b ? j : (long long)j * p->b.ld;
    const void *a = wbcpu_element(p->a, index * p->a.stride + from_a);
    const void *b = wbcpu_element(p->b, index * p->b.stride + from_b);
    long long from_c = index * p->c.stride + (long long)j * p->c.ld + i;

    bool narrow_c = is_float16(p->c.type);
    float *c = (float *)wbcpu_element(p->c, from_c);
    int ldc = p->c.ld;
    if (narrow_c) {
        c = reserve(thread_tile(), (size_t)m * n);
        ldc = m;
        if (!c) abort();
        for (int column = 0; p->beta != 0 && column < n; column++)
            wbcpu_widen(
                c + (size_t)column * m,
                wbcpu_element(p->c, from_c + (long long)column * p->c.ld), p->c.type, m);
    }
    multiply_tile(p, m, n, a, b, c, ldc);
    if (p->bias) add_bias(p, c, ldc, i, m, n);
    if (p->after) p->after(c, ldc, i, j, m, n, index);
    for (int column = 0; narrow_c && column < n; column++)
        wbcpu_narrow(
            wbcpu_element(p->c, from_c + (long long)column * p->c.ld), c + (size_t)column * m,
            p->c.type, m);
}

static cublasStatus_t multiply(gemm_call p)
{
    cublasContext *h = p.handle;
    bool ta = p.transpose_a, tb = p.transpose_b;
    bool direct = p.a.type == CUDA_R_16BF && h->bf16_gemm;
    if (!direct &&
        (!make_wide(&p.a, &h->wide_a, ta ? p.k : p.m, ta ? p.m : p.k, p.batch) ||
         !make_wide(&p.b, &h->wide_b, tb ? p.n : p.k, tb ? p.k : p.n, p.batch)))
        return CUBLAS_STATUS_ALLOC_FAILED;
    tiling t = choose_tiling(&p);
    wbcpu_parallel(t.tiles_per_c * p.batch, multiply_task, &t);
    return CUBLAS_STATUS_SUCCESS;
}

/* Tells check mode what a matrix of rows x columns, and those of the batch, hold. */
static bool
checked(const matrix &x, int rows, int columns, int batch, wbcpu::check::matrix_use use)
{
    size_t bytes = is_float16(x.type) ? 2 : 4;
    for (int i = 0; i < batch; i++)
        if (!wbcpu::check::use_matrix(
                wbcpu_element(x, i * x.stride), (size_t)x.ld * bytes, (size_t)rows * bytes,
                (size_t)columns, use))
            return false;
    return true;
}
static bool checked(const gemm_call &p)
{
    using namespace wbcpu::check;
    bool ta = p.transpose_a, tb = p.transpose_b;
    matrix bias = {const_cast<void *>(p.bias), p.c.type, p.m, 0};
    if (p.bias && !checked(bias, p.m, 1, 1, MATRIX_READ)) return false;
    return checked(p.a, ta ? p.k : p.m, ta ? p.m : p.k, p.batch, MATRIX_READ) &&
           checked(p.b, tb ? p.n : p.k, tb ? p.k : p.n, p.batch, MATRIX_READ) &&
           checked(p.c, p.m, p.n, p.batch, p.beta != 0 ? MATRIX_UPDATED : MATRIX_WRITTEN);
}

static cublasStatus_t multiply_on_device(const gemm_call &p)
{
    if (wbcpu::check::enabled && !checked(p)) return CUBLAS_STATUS_EXECUTION_FAILED;
    wbcpu::open_device_memory();
    cublasStatus_t status = multiply(p);
    wbcpu::close_device_memory();
    return status;
}

cublasStatus_t
wbcpu_start_gemm(const gemm_call &p, cublasOperation_t transa, cublasOperation_t transb)
{
    if (!p.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (transa > CUBLAS_OP_C || transb > CUBLAS_OP_C) return CUBLAS_STATUS_INVALID_VALUE;
    int rows_a = p.transpose_a ? p.k : p.m, rows_b = p.transpose_b ? p.n : p.k;
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 || p.a.ld < std::max(1, rows_a) ||
        p.b.ld < std::max(1, rows_b) || p.c.ld < std::max(1, p.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_known(p.a.type) || p.b.type != p.a.type || !is_known(p.c.type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.m == 0 || p.n == 0 || p.batch == 0) return CUBLAS_STATUS_SUCCESS;
    if (wbcpu_record(p.handle->stream, [p] { multiply_on_device(p); }))
        return CUBLAS_STATUS_SUCCESS;
    return multiply_on_device(p);
}

static bool is_transposed(cublasOperation_t op)
{
    return op != CUBLAS_OP_N;
}

static matrix describe(const void *data, cudaDataType type, int ld, long long stride)
{
    return {const_cast<void *>(data), type, ld, stride};
}

/* --- the calls ---------------------------------------------------------------------- */

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    long long int strideA, const void *B, cudaDataType Btype, int ldb,
    long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
    long long int strideC, int batchCount, cublasComputeType_t computeType,
    cublasGemmAlgo_t)
{
    switch (computeType) {  // all those with float alpha and beta
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        break;
    case CUBLAS_COMPUTE_16F: { // sums in float, too
        if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
        float scale[2] = {*(const __half *)alpha, *(const __half *)beta};
        return cublasGemmStridedBatchedEx(
            handle, transa, transb, m, n, k, &scale[0], A, Atype, lda, strideA, B, Btype,
            ldb, strideB, &scale[1], C, Ctype, ldc, strideC, batchCount,
            CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
    case CUBLAS_COMPUTE_64F:
        if (Atype != CUDA_R_64F || Btype != CUDA_R_64F || Ctype != CUDA_R_64F)
            return CUBLAS_STATUS_NOT_SUPPORTED;
        return cublasDgemmStridedBatched(
            handle, transa, transb, m, n, k, (const double *)alpha, (const double *)A,
            lda, strideA, (const double *)B, ldb, strideB, (const double *)beta,
            (double *)C, ldc, strideC, batchCount);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    gemm_call p = {
        handle,
        is_transposed(transa),
        is_transposed(transb),
        m,
        n,
        k,
        batchCount,
        *(const float *)alpha,
        *(const float *)beta,
        describe(A, Atype, lda, strideA),
        describe(B, Btype, ldb, strideB),
        describe(C, Ctype, ldc, strideC)};
    return wbcpu_start_gemm(p, transa, transb);
}

cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    const void *B, cudaDataType Btype, int ldb, const void *beta, void *C,
    cudaDataType Ctype, int ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(
        handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B, Btype, ldb, 0, beta,
        C, Ctype, ldc, 0, 1, computeType, algo);
}

cublasStatus_t wbcpu_gemm_bias(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *A, int lda, const void *B, int ldb, void *C, int ldc,
    cudaDataType type, const void *bias)
{
    gemm_call p = {
        handle,
        is_transposed(transa),
        is_transposed(transb),
        m,
        n,
        k,
        1,
        1.0f,
        0.0f,
        describe(A, type, lda, 0),
        describe(B, type, ldb, 0),
        describe(C, type, ldc, 0),
        bias};
    return wbcpu_start_gemm(p, transa, transb);
}

cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const float *alpha, const float *A, int lda, long long int strideA,
    const float *B, int ldb, long long int strideB, const float *beta, float *C, int ldc,
    long long int strideC, int batchCount)
{
    return cublasGemmStridedBatchedEx(
        handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda, strideA, B,
        CUDA_R_32F, ldb, strideB, beta, C, CUDA_R_32F, ldc, strideC, batchCount,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemm(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
    const float *beta, float *C, int ldc)
{
    return cublasSgemmStridedBatched(
        handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

/* y^T = alpha x^T op(A)^T + beta y^T: a row's increment is its ld. */
cublasStatus_t cublasSgemv(
    cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
    const float *A, int lda, const float *x, int incx, const float *beta, float *y,
    int incy)
{
    if (incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (incx < 0 || incy < 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    bool flip = trans == CUBLAS_OP_N;
    return cublasSgemm(
        handle, CUBLAS_OP_N, flip ? CUBLAS_OP_T : CUBLAS_OP_N, 1, flip ? m : n,
        flip ? n : m, alpha, x, incx, A, lda, beta, y, incy);
}

/* --- handles ------------------------------------------------------------------------ */

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    wbcpu_sgemm *sgemm = wbcpu_choose_sgemm();
    if (!sgemm) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = new cublasContext();
    (*handle)->sgemm = sgemm;
    (*handle)->bf16_gemm = wbcpu_choose_bf16_gemm();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    wbcpu::check::device_synchronized();
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;  // ignored: arithmetic is always float
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->pointers = mode;  // both kinds can be read: a GEMM does so at its call
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode = handle->pointers;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t)
{
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    if (!value) return CUBLAS_STATUS_INVALID_VALUE;
    *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *, size_t)
{
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
