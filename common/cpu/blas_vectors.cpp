/* blas_vectors.cpp - cuBLAS levels 1 and 2 in float and double, except sgemv; copies of
 * vectors and matrices between host and device. */
#include "blas_views.h"

#define LEVEL_1(T, L, l)                                                                 \
    cublasStatus_t cublas##L##axpy(H, int n, const T *alpha, const T *x, int incx, T *y, \
                                   int incy)                                             \
    {                                                                                    \
        RUN(const T *a = first(x, n, incx); T *b = first(y, n, incy);                    \
            LOOP b[(long)i * incy] += *alpha * a[(long)i * incx];);                      \
    }                                                                                    \
    cublasStatus_t cublas##L##dot(H, int n, const T *x, int incx, const T *y, int incy,  \
                                  T *result)                                             \
    {                                                                                    \
        RESULT(const T *a = first(x, n, incx); const T *b = first(y, n, incy);           \
            double sum = 0; LOOP sum += (double)a[(long)i * incx] * b[(long)i * incy];   \
            *result = (T)sum;);                                                          \
    }                                                                                    \
    cublasStatus_t cublas##L##nrm2(H, int n, const T *x, int incx, T *result)            \
    {                                                                                    \
        RESULT(T most = 0; double sum = 0;                                               \
            LOOP most = std::max(most, std::abs(x[(long)i * incx]));                     \
            LOOP sum += most == 0 ? 0 : std::pow((double)x[(long)i * incx] / most, 2);   \
            *result = (T)(most * std::sqrt(sum)););                                      \
    }                                                                                    \
    cublasStatus_t cublas##L##asum(H, int n, const T *x, int incx, T *result)            \
    {                                                                                    \
        RESULT(double sum = 0; LOOP sum += std::abs(x[(long)i * incx]);                  \
            *result = (T)sum;);                                                          \
    }                                                                                    \
    cublasStatus_t cublasI##l##amax(H, int n, const T *x, int incx, int *result)         \
    {                                                                                    \
        RESULT(int best = 0; LOOP if (std::abs(x[(long)i * incx]) >                      \
                                   std::abs(x[(long)best * incx])) best = i;             \
            *result = n > 0 ? best + 1 : 0;);                                            \
    }                                                                                    \
    cublasStatus_t cublasI##l##amin(H, int n, const T *x, int incx, int *result)         \
    {                                                                                    \
        RESULT(int best = 0; LOOP if (std::abs(x[(long)i * incx]) <                      \
                                   std::abs(x[(long)best * incx])) best = i;             \
            *result = n > 0 ? best + 1 : 0;);                                            \
    }                                                                                    \
    cublasStatus_t cublas##L##scal(H, int n, const T *alpha, T *x, int incx)             \
    {                                                                                    \
        RUN(LOOP x[(long)i * incx] *= *alpha;);                                          \
    }                                                                                    \
    cublasStatus_t cublas##L##copy(H, int n, const T *x, int incx, T *y, int incy)       \
    {                                                                                    \
        RUN(const T *a = first(x, n, incx); T *b = first(y, n, incy);                    \
            LOOP b[(long)i * incy] = a[(long)i * incx];);                                \
    }                                                                                    \
    cublasStatus_t cublas##L##swap(H, int n, T *x, int incx, T *y, int incy)             \
    {                                                                                    \
        RUN(T *a = first(x, n, incx); T *b = first(y, n, incy);                          \
            LOOP std::swap(a[(long)i * incx], b[(long)i * incy]););                      \
    }                                                                                    \
    cublasStatus_t cublas##L##rot(H, int n, T *x, int incx, T *y, int incy, const T *c,  \
                                  const T *s)                                            \
    {                                                                                    \
        RUN(T *a = first(x, n, incx); T *b = first(y, n, incy); LOOP {                   \
            T u = a[(long)i * incx], v = b[(long)i * incy];                              \
            a[(long)i * incx] = *c * u + *s * v;                                         \
            b[(long)i * incy] = *c * v - *s * u;                                         \
        });                                                                              \
    }
LEVEL_1(float, S, s)
LEVEL_1(double, D, d)

/* y = alpha A x + beta y, A (m,n) */
template <class T>
static void
gemv(int m, int n, T alpha, view<const T> a, const T *x, int incx, T beta, T *y, int incy)
{
    const T *from = first(x, n, incx);
    T *to = first(y, m, incy);
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += (double)a(i, j) * from[(long)j * incx];
        T &out = to[(long)i * incy];
        out = (T)(alpha * sum) + (beta == 0 ? 0 : beta * out);
    }
}

#define LEVEL_2(T, L)                                                                    \
    cublasStatus_t cublas##L##ger(H, int m, int n, const T *alpha, const T *x, int incx, \
                                  const T *y, int incy, T *A, int lda)                   \
    {                                                                                    \
        RUN(const T *a = first(x, m, incx); const T *b = first(y, n, incy);              \
            for (int j = 0; j < n; j++) for (int i = 0; i < m; i++)                      \
                A[(long)j * lda + i] += *alpha * a[(long)i * incx] * b[(long)j * incy];); \
    }                                                                                    \
    cublasStatus_t cublas##L##symv(H, cublasFillMode_t uplo, int n, const T *alpha,      \
                                   const T *A, int lda, const T *x, int incx,            \
                                   const T *beta, T *y, int incy)                        \
    {                                                                                    \
        RUN(std::vector<T> f = full(n, A, lda, uplo, MIRROR, false);                     \
            gemv(n, n, *alpha, view<const T>{f.data(), 1, n}, x, incx, *beta, y, incy);); \
    }                                                                                    \
    cublasStatus_t cublas##L##syr(H, cublasFillMode_t uplo, int n, const T *alpha,       \
                                  const T *x, int incx, T *A, int lda)                   \
    {                                                                                    \
        RUN(std::vector<T> f((size_t)n * n); const T *a = first(x, n, incx);             \
            for (int j = 0; j < n; j++) LOOP f[(size_t)j * n + i] =                      \
                *alpha * a[(long)i * incx] * a[(long)j * incx];                          \
            add_half(n, f, uplo, (T)1, A, lda););                                        \
    }                                                                                    \
    cublasStatus_t cublas##L##trmv(H, cublasFillMode_t uplo, cublasOperation_t t,        \
                                   cublasDiagType_t diag, int n, const T *A, int lda,    \
                                   T *x, int incx)                                       \
    {                                                                                    \
        RUN(std::vector<T> f = full(n, A, lda, uplo, ZERO, diag == CUBLAS_DIAG_UNIT);    \
            std::vector<T> y((size_t)n); T *b = first(x, n, incx);                       \
            gemv(n, n, (T)1, op(t, (const T *)f.data(), n), (const T *)x, incx, (T)0,    \
                 y.data(), 1);                                                           \
            LOOP b[(long)i * incx] = y[(size_t)i];);                                     \
    }                                                                                    \
    cublasStatus_t cublas##L##trsv(H, cublasFillMode_t uplo, cublasOperation_t t,        \
                                   cublasDiagType_t diag, int n, const T *A, int lda,    \
                                   T *x, int incx)                                       \
    {                                                                                    \
        RUN(solve(n, op(t, A, lda), is_lower(uplo, t), diag == CUBLAS_DIAG_UNIT,         \
                  first(x, n, incx), incx););                                            \
    }
LEVEL_2(float, S)
LEVEL_2(double, D)

cublasStatus_t cublasDgemv(
    H, cublasOperation_t t, int m, int n, const double *alpha, const double *A, int lda,
    const double *x, int incx, const double *beta, double *y, int incy)
{
    RUN(bool plain = t == CUBLAS_OP_N;
        gemv(plain ? m : n, plain ? n : m, *alpha, op(t, A, lda), x, incx, *beta, y, incy););
}

/* --- copies between host and device ---------------------------------------------------- */

cublasStatus_t cublasSetMatrix(
    int rows, int columns, int bytes, const void *A, int lda, void *B, int ldb)
{
    cudaError_t e = cudaMemcpy2D(
        B, (size_t)ldb * bytes, A, (size_t)lda * bytes, (size_t)rows * bytes,
        (size_t)columns, cudaMemcpyDefault);
    return e ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMatrix(
    int rows, int columns, int bytes, const void *A, int lda, void *B, int ldb)
{
    return cublasSetMatrix(rows, columns, bytes, A, lda, B, ldb);
}
cublasStatus_t cublasSetMatrixAsync(
    int rows, int columns, int bytes, const void *A, int lda, void *B, int ldb,
    cudaStream_t stream)
{
    cudaError_t e = cudaMemcpy2DAsync(
        B, (size_t)ldb * bytes, A, (size_t)lda * bytes, (size_t)rows * bytes,
        (size_t)columns, cudaMemcpyDefault, stream);
    return e ? CUBLAS_STATUS_MAPPING_ERROR : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMatrixAsync(
    int rows, int columns, int bytes, const void *A, int lda, void *B, int ldb,
    cudaStream_t stream)
{
    return cublasSetMatrixAsync(rows, columns, bytes, A, lda, B, ldb, stream);
}
/* A vector is a row of a matrix. */
cublasStatus_t
cublasSetVector(int n, int bytes, const void *x, int incx, void *y, int incy)
{
    if (incx == 1 && incy == 1) return cublasSetMatrix(n, 1, bytes, x, n, y, n);
    return cublasSetMatrix(1, n, bytes, x, incx, y, incy);
}
cublasStatus_t
cublasGetVector(int n, int bytes, const void *x, int incx, void *y, int incy)
{
    return cublasSetVector(n, bytes, x, incx, y, incy);
}
cublasStatus_t cublasSetVectorAsync(
    int n, int bytes, const void *x, int incx, void *y, int incy, cudaStream_t stream)
{
    return cublasSetMatrixAsync(1, n, bytes, x, incx, y, incy, stream);
}
cublasStatus_t cublasGetVectorAsync(
    int n, int bytes, const void *x, int incx, void *y, int incy, cudaStream_t stream)
{
    return cublasSetMatrixAsync(1, n, bytes, x, incx, y, incy, stream);
}
