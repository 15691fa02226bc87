/* cublas_v2.h - the part of cuBLAS that the workbook uses, for C11 and C++.
 *
 * Names, types and values are the toolkit's. Matrices are column-major:
 *     C (m,n) = alpha op(A) op(B) + beta C,    op(A) (m,k),  op(B) (k,n)
 * Sums are accumulated in float for every element type; if beta = 0, C is not read. alpha
 * and beta are read at the call. Results are bit-identical from call to call. A call on a
 * capturing stream is recorded. Unsupported features of cuBLAS return
 * CUBLAS_STATUS_NOT_SUPPORTED.
 */
#ifndef WBCPU_CUBLAS_V2_H
#define WBCPU_CUBLAS_V2_H
#define CUBLAS_API_H_ /* helper_cuda.h asks for it */

#include <stddef.h>

#include "cuda_runtime_api.h"
#include "library_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUBLASWINAPI
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VERSION 130000

typedef struct cublasContext *cublasHandle_t;

/* The toolkit's other names of these functions */
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
#define cublasSscal_v2 cublasSscal
#define cublasDscal_v2 cublasDscal
#define cublasSaxpy_v2 cublasSaxpy
#define cublasDaxpy_v2 cublasDaxpy
#define cublasSdot_v2 cublasSdot
#define cublasDdot_v2 cublasDdot
#define cublasSnrm2_v2 cublasSnrm2
#define cublasDnrm2_v2 cublasDnrm2
#define cublasSasum_v2 cublasSasum
#define cublasDasum_v2 cublasDasum
#define cublasIsamax_v2 cublasIsamax
#define cublasIdamax_v2 cublasIdamax

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

typedef enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_OP_C = 2,
    CUBLAS_OP_HERMITAN = 2,
    CUBLAS_OP_CONJG = 3
} cublasOperation_t;

typedef enum {
    CUBLAS_ATOMICS_NOT_ALLOWED = 0,
    CUBLAS_ATOMICS_ALLOWED = 1
} cublasAtomicsMode_t;

typedef enum {
    CUBLAS_POINTER_MODE_HOST = 0,
    CUBLAS_POINTER_MODE_DEVICE = 1
} cublasPointerMode_t;

typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;

typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0 = 0, /* up to 23: all are the default */
    CUBLAS_GEMM_ALGO1 = 1,
    CUBLAS_GEMM_ALGO2 = 2,
    CUBLAS_GEMM_ALGO3 = 3,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100, /* up to 115 */
} cublasGemmAlgo_t;

const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);

cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t *mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
/* Ignored: the back end has its own workspace. */
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes);

cublasStatus_t cublasSgemm(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
    const float *beta, float *C, int ldc);

cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const float *alpha, const float *A, int lda, long long int strideA,
    const float *B, int ldb, long long int strideB, const float *beta, float *C, int ldc,
    long long int strideC, int batchCount);

/* A, B and C can be CUDA_R_32F, CUDA_R_16F or CUDA_R_16BF; A and B have the same type. */
cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    const void *B, cudaDataType Btype, int ldb, const void *beta, void *C,
    cudaDataType Ctype, int ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo);

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    long long int strideA, const void *B, cudaDataType Btype, int ldb,
    long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
    long long int strideC, int batchCount, cublasComputeType_t computeType,
    cublasGemmAlgo_t algo);

/* y = alpha op(A) x + beta y,  A (m,n); increments >= 1 */
cublasStatus_t cublasSgemv(
    cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
    const float *A, int lda, const float *x, int incx, const float *beta, float *y,
    int incy);

#include "wbcpu/blas.h"

/* Not cuBLAS's: C = op(A) op(B) + bias, rounded once; bias (m) is added to every column.
 * All have one type. On a GPU this is an epilogue of cuBLASLt. */
cublasStatus_t wbcpu_gemm_bias(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *A, int lda, const void *B, int ldb, void *C, int ldc,
    cudaDataType type, const void *bias);

#ifdef __cplusplus
}
/* The older form, with the element type of the sums */
static inline cublasComputeType_t wbcpu_compute_type(cudaDataType type)
{
    return type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
           : type == CUDA_R_64F ? CUBLAS_COMPUTE_64F
           : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                : CUBLAS_COMPUTE_32F;
}
static inline cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    const void *B, cudaDataType Btype, int ldb, const void *beta, void *C,
    cudaDataType Ctype, int ldc, cudaDataType type, cublasGemmAlgo_t algo)
{
    return cublasGemmEx(
        handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C,
        Ctype, ldc, wbcpu_compute_type(type), algo);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda,
    long long int strideA, const void *B, cudaDataType Btype, int ldb,
    long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc,
    long long int strideC, int batchCount, cudaDataType type, cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(
        handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb,
        strideB, beta, C, Ctype, ldc, strideC, batchCount, wbcpu_compute_type(type),
        algo);
}
#include "cuda_bf16.h"
#include "cuda_fp16.h"

static inline cublasStatus_t cublasHgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const __half *alpha, const __half *A, int lda, long long int strideA,
    const __half *B, int ldb, long long int strideB, const __half *beta, __half *C,
    int ldc, long long int strideC, int batchCount)
{
    return cublasGemmStridedBatchedEx(
        handle, transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, strideA, B,
        CUDA_R_16F, ldb, strideB, beta, C, CUDA_R_16F, ldc, strideC, batchCount,
        CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
static inline cublasStatus_t cublasHgemmBatched(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const __half *alpha, const __half *const A[], int lda,
    const __half *const B[], int ldb, const __half *beta, __half *const C[], int ldc,
    int batchCount)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < batchCount && status == CUBLAS_STATUS_SUCCESS; i++)
        status = cublasHgemmStridedBatched(
            handle, transa, transb, m, n, k, alpha, A[i], lda, 0, B[i], ldb, 0, beta,
            C[i], ldc, 0, 1);
    return status;
}
static inline cublasStatus_t cublasHgemm(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const __half *alpha, const __half *A, int lda, const __half *B, int ldb,
    const __half *beta, __half *C, int ldc)
{
    return cublasHgemmStridedBatched(
        handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}
#endif
#endif
