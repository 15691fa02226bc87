/* blas.h - what the sources of cuBLAS share; internal to the library. */
#ifndef WBCPU_BLAS_H
#define WBCPU_BLAS_H
#include "check/host_hooks.h"
#include "cublas_v2.h"
#include "gemm.h"
#include "paused.h"
#include "scheduler.h"

#include <cstdlib>
#include <functional>

struct scratch {  // grows on demand and is kept: repeated calls do not allocate
    float *data = nullptr;
    size_t size = 0;
    ~scratch()
    {
        free(data);
    }
};

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointers;
    wbcpu_sgemm *sgemm;
    wbcpu_bf16_gemm *bf16_gemm;  // or NULL
    scratch wide_a, wide_b;      // 16-bit factors as floats
};

struct matrix {
    void *data;
    cudaDataType type;
    int ld;
    long long stride;  // to the next matrix of the batch
};

/* Called for each tile of C before it is rounded: c[0] is row i, column j of matrix
 * `index` of the batch. */
typedef std::function<void(float *c, int ldc, int i, int j, int m, int n, int index)>
    wbcpu_epilogue;

struct gemm_call {
    cublasContext *handle;
    bool transpose_a, transpose_b;
    int m, n, k, batch;
    float alpha, beta;
    matrix a, b, c;
    const void *bias = nullptr;  // (m), of C's type: added to every column of C
    wbcpu_epilogue after = nullptr;
};

/* gemm_call.cpp: checks the arguments as cuBLAS does, then runs the call or records it in a
 * graph. */
cublasStatus_t
wbcpu_start_gemm(const gemm_call &p, cublasOperation_t transa, cublasOperation_t transb);

/* x[n] as floats, and back: of a 16-bit type or float */
void wbcpu_widen(float *out, const void *in, cudaDataType type, size_t n);
void wbcpu_narrow(void *out, const float *in, cudaDataType type, size_t n);
static inline void *wbcpu_element(const matrix &x, long long index)
{
    return (char *)x.data + index * (x.type == CUDA_R_32F ? 4 : 2);
}

/* 1 if the arguments are invalid for any GEMM: CUBLAS_STATUS_INVALID_VALUE */
static inline bool wbcpu_is_invalid_gemm(
    cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, int lda,
    int ldb, int ldc, int batch)
{
    int rows_of_a = transa == CUBLAS_OP_N ? m : k,
        rows_of_b = transb == CUBLAS_OP_N ? k : n;
    return transa > CUBLAS_OP_C || transb > CUBLAS_OP_C || m < 0 || n < 0 || k < 0 ||
           batch < 0 || lda < 1 || lda < rows_of_a || ldb < 1 || ldb < rows_of_b ||
           ldc < 1 || ldc < m;
}

/* C = alpha op(A) op(B) + beta C: A and B are int8; alpha, beta and C are int or float
 * (blas_matrices.cpp). */
template <class T>
cublasStatus_t wbcpu_int8_gemm(
    cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
    int k, const T *alpha, const matrix &a, const matrix &b, const T *beta,
    const matrix &c, int batch);

/* Runs work() now, or when the handle's stream does. Scalars in host memory are read before
 * the call returns, and the host waits for results there. */
enum wbcpu_blas_output { WBCPU_TO_DEVICE, WBCPU_RESULT };
template <class Work>
cublasStatus_t wbcpu_run_blas(
    cublasHandle_t h, const Work &work, wbcpu_blas_output output = WBCPU_TO_DEVICE)
{
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    wbcpu::finish_paused_launch();  // the result may be a variable of the host
    wbcpu_run_library(h->stream, work);
    if (wbcpu::check::queues() && h->pointers == CUBLAS_POINTER_MODE_HOST) {
        if (output == WBCPU_RESULT)
            wbcpu::check::stream_synchronized(h->stream);
        else
            wbcpu::check::run_everything();
    }
    return CUBLAS_STATUS_SUCCESS;
}
#endif
