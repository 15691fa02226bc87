/* blas.cuh - GEMMs of row-major matrices by cuBLAS.
 *
 * cuBLAS is column-major: it sees a row-major (rows,columns) matrix as its transpose. So
 * C (n,m) = X (n,k) Y (k,m)  is requested as  C^T = Y^T X^T, with Y first, and nothing is
 * copied.
 */
#ifndef BLAS_CUH
#define BLAS_CUH
#include "ops.h"
#include <cublas_v2.h>

struct wb_blas {
    cublasHandle_t handle;
    void *workspace; /* for cuBLAS, which would otherwise allocate during graph capture */
    float *scratch;  /* for the functions of this folder */
};
enum {
    BLAS_WORKSPACE = 32 << 20, /* bytes: what the cuBLAS manual recommends for Hopper */
    SCRATCH = 4 << 20,         /* floats */
};

template <typename E> constexpr cudaDataType blas_type(void)
{
    return sizeof(E) == 4 ? CUDA_R_32F : CUDA_R_16F;
}
template <> constexpr cudaDataType blas_type<wb_bf16>(void)
{
    return CUDA_R_16BF;
}

/* A strided batch of matrices: the address of the first one, the distance between its
 * rows, and the distance between matrices. */
template <typename E> struct operand {
    E *first;
    int ld;
    long long stride;
};
enum layout { AS_STORED, TRANSPOSED };

/* c (n,m) = alpha x y + beta c for each of `count`; x is (n,k), or (k,n) if TRANSPOSED;
 * y is (k,m), or (m,k). */
template <typename E, typename Out>
static wb_status gemm(
    wb_blas *blas, operand<Out> c, operand<const E> x, layout tx, operand<const E> y,
    layout ty, int n, int m, int k, int count, float alpha, float beta,
    cudaStream_t stream)
{
    cublasHandle_t h = blas->handle;
    // setting the stream resets the workspace
    if (cublasSetStream(h, stream) != CUBLAS_STATUS_SUCCESS) return WB_BAD_CUDA;
    if (cublasSetWorkspace(h, blas->workspace, BLAS_WORKSPACE) != CUBLAS_STATUS_SUCCESS)
        return WB_BAD_CUDA;
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        h, ty == TRANSPOSED ? CUBLAS_OP_T : CUBLAS_OP_N,
        tx == TRANSPOSED ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, y.first,
        blas_type<E>(), y.ld, y.stride, x.first, blas_type<E>(), x.ld, x.stride, &beta,
        c.first, blas_type<Out>(), c.ld, c.stride, count, CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ? WB_OK : WB_BAD_CUDA;
}

#endif
