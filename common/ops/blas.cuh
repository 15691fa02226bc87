/* blas.cuh - matrix products of row-major matrices over cuBLAS.
 *
 * cuBLAS is column-major: to it a row-major (rows,columns) matrix is transposed. So the
 * row-major product  C (n,m) = X (n,k) Y (k,m)  is asked for as  C^T = Y^T X^T, with Y
 * first, and nothing is ever copied.
 */
#ifndef BLAS_CUH
#define BLAS_CUH
#include "ops.h"
#include <cublas_v2.h>

struct wb_blas {
    cublasHandle_t handle;
    void *workspace; /* cuBLAS's own, or it would allocate while a graph is captured */
    float *scratch;  /* of this folder's functions */
};
enum {
    BLAS_WORKSPACE = 32 << 20, /* bytes: what the manual advises for Hopper */
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

/* The matrices of a batch of `count` products: where the first begins, how far apart its
 * rows are, and how far apart the matrices. */
template <typename E> struct operand {
    E *first;
    int ld;
    long long stride;
};
enum turn { AS_IT_IS, TRANSPOSED };

/* c (n,m) = alpha x y + beta c for each of `count`; x is (n,k), or (k,n) if TRANSPOSED;
 * y is (k,m), or (m,k). */
template <typename E, typename Out>
static wb_status products(
    wb_blas *blas, operand<Out> c, operand<const E> x, turn tx, operand<const E> y,
    turn ty, int n, int m, int k, int count, float alpha, float beta, cudaStream_t stream)
{
    cublasHandle_t h = blas->handle;
    // a new stream makes cuBLAS forget its workspace
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
