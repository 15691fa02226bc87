/* cublasXt.h - GEMMs of matrices in host memory. cublasXt splits them into blocks for
 * several GPUs; here there is one, which gets whole copies. */
#ifndef WBCPU_CUBLASXT_H
#define WBCPU_CUBLASXT_H

#include "cublas_v2.h"

#include <stdlib.h>

typedef struct cublasXtContext {
    cublasHandle_t blas;
    int block;
} * cublasXtHandle_t;
typedef enum {
    CUBLASXT_PINNING_DISABLED = 0,
    CUBLASXT_PINNING_ENABLED = 1
} cublasXtPinnedMemMode_t;

static inline cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle)
{
    *handle = (cublasXtHandle_t)calloc(1, sizeof **handle);
    if (!*handle) return CUBLAS_STATUS_ALLOC_FAILED;
    (*handle)->block = 2048;
    return cublasCreate(&(*handle)->blas);
}
static inline cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle)
{
    cublasStatus_t status = cublasDestroy(handle->blas);
    free(handle);
    return status;
}
static inline cublasStatus_t
cublasXtDeviceSelect(cublasXtHandle_t handle, int count, int *devices)
{
    (void)handle;
    return count == 1 && devices[0] == 0 ? CUBLAS_STATUS_SUCCESS
                                         : CUBLAS_STATUS_INVALID_VALUE;
}
static inline cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int block)
{
    if (block < 1) return CUBLAS_STATUS_INVALID_VALUE;
    handle->block = block;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int *block)
{
    *block = handle->block;
    return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t
cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode)
{
    (void)handle, (void)mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* A copy of a matrix in device memory, or NULL; bytes: of its columns, without what follows
 * the last element */
static inline void *wbcpu_xt_copy(const void *matrix, size_t bytes)
{
    void *copy = NULL;
    if (cudaMalloc((void **)&copy, bytes ? bytes : 1)) return NULL;
    cudaMemcpy(copy, matrix, bytes, cudaMemcpyDefault);
    return copy;
}
#define WBCPU_XT(L, T)                                                                   \
    static inline cublasStatus_t cublasXt##L##gemm(                                      \
        cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
        size_t m, size_t n, size_t k, const T *alpha, const T *A, size_t lda,            \
        const T *B, size_t ldb, const T *beta, T *C, size_t ldc)                         \
    {                                                                                    \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                               \
        if (!m || !n) return CUBLAS_STATUS_SUCCESS;                                      \
        size_t a_rows = transa == CUBLAS_OP_N ? m : k, a_columns = m + k - a_rows;       \
        size_t b_rows = transb == CUBLAS_OP_N ? k : n, b_columns = k + n - b_rows;       \
        size_t c_bytes = (ldc * (n - 1) + m) * sizeof(T);                                \
        if (lda < a_rows || ldb < b_rows || ldc < m) return CUBLAS_STATUS_INVALID_VALUE; \
        T *a =                                                                           \
            (T *)wbcpu_xt_copy(A, k ? (lda * (a_columns - 1) + a_rows) * sizeof(T) : 0); \
        T *b =                                                                           \
            (T *)wbcpu_xt_copy(B, k ? (ldb * (b_columns - 1) + b_rows) * sizeof(T) : 0); \
        T *c = (T *)wbcpu_xt_copy(C, c_bytes);                                           \
        cublasStatus_t status = CUBLAS_STATUS_ALLOC_FAILED;                              \
        if (a && b && c)                                                                 \
            status = cublas##L##gemm(                                                    \
                handle->blas, transa, transb, (int)m, (int)n, (int)k, alpha, a,          \
                (int)lda, b, (int)ldb, beta, c, (int)ldc);                               \
        if (!status && cudaMemcpy(C, c, c_bytes, cudaMemcpyDefault))                     \
            status = CUBLAS_STATUS_EXECUTION_FAILED;                                     \
        cudaFree(a), cudaFree(b), cudaFree(c);                                           \
        return status;                                                                   \
    }
WBCPU_XT(S, float)
WBCPU_XT(D, double)
#undef WBCPU_XT

#endif
