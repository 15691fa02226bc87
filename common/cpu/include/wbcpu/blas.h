/* blas.h - cuBLAS levels 1 to 3 beyond GEMM, for cublas_v2.h. S: float, D: double.
 *
 * Scalars and results may be in host or device memory. A call on a capturing stream is
 * recorded. Sums of level 1 and 2 are accumulated in double. Complex types: none. */
#ifndef WBCPU_BLAS_CALLS_H
#define WBCPU_BLAS_CALLS_H

typedef enum {
    CUBLAS_FILL_MODE_LOWER = 0,
    CUBLAS_FILL_MODE_UPPER = 1,
    CUBLAS_FILL_MODE_FULL = 2
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;

#define WBCPU_BLAS(name, ...) cublasStatus_t name(cublasHandle_t handle, __VA_ARGS__)
#define WBCPU_TYPED_BLAS(T, L, l)                                                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##axpy, int n, const T *alpha, const T *x, int incx, T *y, int incy);   \
    WBCPU_BLAS(                                                                          \
        cublas##L##dot, int n, const T *x, int incx, const T *y, int incy, T *result);   \
    WBCPU_BLAS(cublas##L##nrm2, int n, const T *x, int incx, T *result);                 \
    WBCPU_BLAS(cublas##L##asum, int n, const T *x, int incx, T *result);                 \
    WBCPU_BLAS(cublasI##l##amax, int n, const T *x, int incx, int *result);              \
    WBCPU_BLAS(cublasI##l##amin, int n, const T *x, int incx, int *result);              \
    WBCPU_BLAS(cublas##L##scal, int n, const T *alpha, T *x, int incx);                  \
    WBCPU_BLAS(cublas##L##copy, int n, const T *x, int incx, T *y, int incy);            \
    WBCPU_BLAS(cublas##L##swap, int n, T *x, int incx, T *y, int incy);                  \
    WBCPU_BLAS(                                                                          \
        cublas##L##rot, int n, T *x, int incx, T *y, int incy, const T *c, const T *s);  \
    WBCPU_BLAS(                                                                          \
        cublas##L##ger, int m, int n, const T *alpha, const T *x, int incx, const T *y,  \
        int incy, T *A, int lda);                                                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##symv, cublasFillMode_t uplo, int n, const T *alpha, const T *A,       \
        int lda, const T *x, int incx, const T *beta, T *y, int incy);                   \
    WBCPU_BLAS(                                                                          \
        cublas##L##syr, cublasFillMode_t uplo, int n, const T *alpha, const T *x,        \
        int incx, T *A, int lda);                                                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##trmv, cublasFillMode_t uplo, cublasOperation_t trans,                 \
        cublasDiagType_t diag, int n, const T *A, int lda, T *x, int incx);              \
    WBCPU_BLAS(                                                                          \
        cublas##L##trsv, cublasFillMode_t uplo, cublasOperation_t trans,                 \
        cublasDiagType_t diag, int n, const T *A, int lda, T *x, int incx);              \
    WBCPU_BLAS(                                                                          \
        cublas##L##symm, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n,     \
        const T *alpha, const T *A, int lda, const T *B, int ldb, const T *beta, T *C,   \
        int ldc);                                                                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##syrk, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k,   \
        const T *alpha, const T *A, int lda, const T *beta, T *C, int ldc);              \
    WBCPU_BLAS(                                                                          \
        cublas##L##syr2k, cublasFillMode_t uplo, cublasOperation_t trans, int n, int k,  \
        const T *alpha, const T *A, int lda, const T *B, int ldb, const T *beta, T *C,   \
        int ldc);                                                                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##trmm, cublasSideMode_t side, cublasFillMode_t uplo,                   \
        cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T *alpha,    \
        const T *A, int lda, const T *B, int ldb, T *C, int ldc);                        \
    WBCPU_BLAS(                                                                          \
        cublas##L##trsm, cublasSideMode_t side, cublasFillMode_t uplo,                   \
        cublasOperation_t trans, cublasDiagType_t diag, int m, int n, const T *alpha,    \
        const T *A, int lda, T *B, int ldb);                                             \
    WBCPU_BLAS(                                                                          \
        cublas##L##geam, cublasOperation_t transa, cublasOperation_t transb, int m,      \
        int n, const T *alpha, const T *A, int lda, const T *beta, const T *B, int ldb,  \
        T *C, int ldc);                                                                  \
    WBCPU_BLAS(                                                                          \
        cublas##L##dgmm, cublasSideMode_t side, int m, int n, const T *A, int lda,       \
        const T *x, int incx, T *C, int ldc);                                            \
    WBCPU_BLAS(                                                                          \
        cublas##L##getrfBatched, int n, T *const A[], int lda, int *pivots, int *info,   \
        int batchCount);                                                                 \
    WBCPU_BLAS(                                                                          \
        cublas##L##gemmBatched, cublasOperation_t transa, cublasOperation_t transb,      \
        int m, int n, int k, const T *alpha, const T *const A[], int lda,                \
        const T *const B[], int ldb, const T *beta, T *const C[], int ldc,               \
        int batchCount);
WBCPU_TYPED_BLAS(float, S, s)
WBCPU_TYPED_BLAS(double, D, d)
#undef WBCPU_TYPED_BLAS

cublasStatus_t cublasDgemv(
    cublasHandle_t handle, cublasOperation_t trans, int m, int n, const double *alpha,
    const double *A, int lda, const double *x, int incx, const double *beta, double *y,
    int incy);
cublasStatus_t cublasDgemm(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const double *alpha, const double *A, int lda, const double *B, int ldb,
    const double *beta, double *C, int ldc);
cublasStatus_t cublasDgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
    int n, int k, const double *alpha, const double *A, int lda, long long int strideA,
    const double *B, int ldb, long long int strideB, const double *beta, double *C,
    int ldc, long long int strideC, int batchCount);

/* half, bfloat16, float and double, also mixed; computed in double */
WBCPU_BLAS(
    cublasDotEx, int n, const void *x, cudaDataType xtype, int incx, const void *y,
    cudaDataType ytype, int incy, void *result, cudaDataType rtype, cudaDataType execution);
WBCPU_BLAS(
    cublasNrm2Ex, int n, const void *x, cudaDataType xtype, int incx, void *result,
    cudaDataType rtype, cudaDataType execution);
WBCPU_BLAS(
    cublasAxpyEx, int n, const void *alpha, cudaDataType atype, const void *x,
    cudaDataType xtype, int incx, void *y, cudaDataType ytype, int incy,
    cudaDataType execution);
WBCPU_BLAS(
    cublasScalEx, int n, const void *alpha, cudaDataType atype, void *x, cudaDataType xtype,
    int incx, cudaDataType execution);

#undef WBCPU_BLAS

/* Between host and device, in either direction; element sizes in bytes */
cublasStatus_t
cublasSetVector(int n, int elemSize, const void *x, int incx, void *y, int incy);
cublasStatus_t
cublasGetVector(int n, int elemSize, const void *x, int incx, void *y, int incy);
cublasStatus_t cublasSetVectorAsync(
    int n, int elemSize, const void *x, int incx, void *y, int incy, cudaStream_t stream);
cublasStatus_t cublasGetVectorAsync(
    int n, int elemSize, const void *x, int incx, void *y, int incy, cudaStream_t stream);
cublasStatus_t cublasSetMatrix(
    int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb);
cublasStatus_t cublasGetMatrix(
    int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb);
cublasStatus_t cublasSetMatrixAsync(
    int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb,
    cudaStream_t stream);
cublasStatus_t cublasGetMatrixAsync(
    int rows, int cols, int elemSize, const void *A, int lda, void *B, int ldb,
    cudaStream_t stream);

#endif
