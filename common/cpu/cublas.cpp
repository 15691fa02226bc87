/* cublas.cpp - cuBLAS: the GEMMs. Those in float and 16-bit types become a gemm_call
 * (gemm_call.cpp); the others are in blas_matrices.cpp. */
#include "blas.h"
#include "wbcpu/float16.h"

static bool is_transposed(cublasOperation_t op)
{
    return op != CUBLAS_OP_N;
}

static matrix describe(const void *data, cudaDataType type, int ld, long long stride)
{
    return {const_cast<void *>(data), type, ld, stride};
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    long long int strideA, const void *B, cudaDataType Btype, int ldb,
    long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
    long long int strideC, int batchCount, cublasComputeType_t computeType,
    cublasGemmAlgo_t)
{
    matrix a = describe(A, Atype, lda, strideA), b = describe(B, Btype, ldb, strideB),
           c = describe(C, Ctype, ldc, strideC);
    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    switch (computeType) {  // all those with float alpha and beta
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        break;
    case CUBLAS_COMPUTE_16F: {  // sums in float, too
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
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        if (Atype != CUDA_R_8I || Btype != CUDA_R_8I || Ctype != CUDA_R_32I || lda % 4 ||
            ldb % 4 || (uintptr_t)A % 4 || (uintptr_t)B % 4)
            return CUBLAS_STATUS_NOT_SUPPORTED;
        return wbcpu_int8_gemm(
            handle, transa, transb, m, n, k, (const int *)alpha, a, b, (const int *)beta,
            c, batchCount);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const float *alpha_f = (const float *)alpha, *beta_f = (const float *)beta;
    if (Atype == CUDA_R_8I && Btype == CUDA_R_8I && Ctype == CUDA_R_32F)
        return wbcpu_int8_gemm(
            handle, transa, transb, m, n, k, alpha_f, a, b, beta_f, c, batchCount);
    return wbcpu_start_gemm(
        {handle, is_transposed(transa), is_transposed(transb), m, n, k, batchCount,
         *alpha_f, *beta_f, a, b, c},
        transa, transb);
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
    return wbcpu_start_gemm(
        {handle, is_transposed(transa), is_transposed(transb), m, n, k, 1, 1.0f, 0.0f,
         describe(A, type, lda, 0), describe(B, type, ldb, 0), describe(C, type, ldc, 0),
         bias},
        transa, transb);
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
