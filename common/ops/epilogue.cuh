/* epilogue.cuh - a GEMM that adds the bias before its one rounding: an epilogue of
 * cuBLASLt, and a function of its own on the CPU back end.
 *
 * Residuals are added separately: cuBLASLt's kernels for Hopper round product plus bias
 * to 16 bits before they add what is in y.
 */
#ifndef EPILOGUE_CUH
#define EPILOGUE_CUH
#include "blas.cuh"

#ifdef __CUDACPU__
template <typename E>
static wb_status gemm_with_bias(
    E *y, const E *x, const E *w, const E *bias, int R, int I, int O, wb_blas *blas,
    cudaStream_t stream)
{
    cublasHandle_t h = blas->handle;
    bool ok = cublasSetStream(h, stream) == CUBLAS_STATUS_SUCCESS &&
              wbcpu_gemm_bias(
                  h, CUBLAS_OP_T, CUBLAS_OP_N, O, R, I, w, I, x, I, y, O, blas_type<E>(),
                  bias) == CUBLAS_STATUS_SUCCESS;
    return ok ? wb_launched() : WB_BAD_CUDA;
}
#else
#include <cublasLt.h>

/* The request, on the stack: nothing here allocates. */
typedef struct epilogue_call {
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatrixLayoutOpaque_t w, x, y;
    cublasLtMatmulPreferenceOpaque_t preference;
    bool failed;
} epilogue_call;

template <typename V>
static void set(epilogue_call *call, cublasLtMatmulDescAttributes_t which, V value)
{
    cublasStatus_t status =
        cublasLtMatmulDescSetAttribute(&call->product, which, &value, sizeof value);
    if (status != CUBLAS_STATUS_SUCCESS) call->failed = true;
}

template <typename V>
static void
prefer(epilogue_call *call, cublasLtMatmulPreferenceAttributes_t which, V value)
{
    cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
        &call->preference, which, &value, sizeof value);
    if (status != CUBLAS_STATUS_SUCCESS) call->failed = true;
}

/* The alignment of p: the largest power of two, up to 256, that divides it */
static uint32_t alignment_of(const void *p)
{
    uintptr_t bits = (uintptr_t)p | 256;
    return (uint32_t)(bits & -bits);
}

/* y^T (O,R) = w x^T, each column-major, with the bias along its columns */
template <typename E>
static void describe(
    epilogue_call *call, const E *y, const E *x, const E *w, const E *bias, int R, int I,
    int O)
{
    cudaDataType type = blas_type<E>();
    call->failed =
        cublasLtMatmulDescInit(&call->product, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
        cublasLtMatrixLayoutInit(&call->w, type, I, O, I) ||
        cublasLtMatrixLayoutInit(&call->x, type, I, R, I) ||
        cublasLtMatrixLayoutInit(&call->y, type, O, R, O) ||
        cublasLtMatmulPreferenceInit(&call->preference);
    set(call, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(call, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(call, CUBLASLT_MATMUL_DESC_BIAS_POINTER, (const void *)bias);
    // no split-K: those kernels round before they add the bias
    prefer(
        call, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        (uint32_t)CUBLASLT_REDUCTION_SCHEME_NONE);
    prefer(call, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (size_t)BLAS_WORKSPACE);
    prefer(call, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(w));
    prefer(call, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(x));
    prefer(call, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(y));
    prefer(call, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(y));
}

/* y (R,O) = x w^T + bias. WB_UNSUPPORTED: cuBLASLt has no such kernel for this shape and
 * alignment. */
template <typename E>
static wb_status gemm_with_bias(
    E *y, const E *x, const E *w, const E *bias, int R, int I, int O, wb_blas *blas,
    cudaStream_t stream)
{
    // a cuBLAS handle is also one of cuBLASLt
    cublasLtHandle_t lt = (cublasLtHandle_t)blas->handle;
    epilogue_call call;
    cublasLtMatmulHeuristicResult_t choice;
    int found = 0;
    describe(&call, y, x, w, bias, R, I, O);
    if (call.failed) return WB_BAD_CUDA;
    // cuBLASLt caches its choices: only the first call of a shape takes time
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        lt, &call.product, &call.w, &call.x, &call.y, &call.y, &call.preference, 1,
        &choice, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) return WB_UNSUPPORTED;
    float one = 1.0f, zero = 0.0f;
    status = cublasLtMatmul(
        lt, &call.product, &one, w, &call.w, x, &call.x, &zero, y, &call.y, y, &call.y,
        &choice.algo, blas->workspace, BLAS_WORKSPACE, stream);
    return status == CUBLAS_STATUS_SUCCESS ? wb_launched() : WB_BAD_CUDA;
}
#endif
#endif
