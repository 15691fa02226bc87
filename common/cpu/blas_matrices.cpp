/* blas_matrices.cpp - cuBLAS level 3 in float and double, except sgemm: symmetric and
 * triangular matrices are made full first, then multiplied. */
#include "blas_views.h"
#include "include/wbcpu.h"

/* --- products ----------------------------------------------------------------------- */

constexpr int COLUMNS = 4;

template <class T> struct product {
    int m, n, k;
    T alpha;
    view<const T> a; /* rows contiguous */
    view<const T> b;
    T beta;
    T *c;
    long ldc;
};
/* Four columns of C */
template <class T> static void multiply_columns(void *context, int task)
{
    const product<T> &p = *static_cast<const product<T> *>(context);
    int j0 = task * COLUMNS, columns = std::min(COLUMNS, p.n - j0);
    for (int j = j0; j < j0 + columns; j++) {
        T *c = p.c + j * p.ldc;
        for (int i = 0; i < p.m; i++)
            c[i] = p.beta == 0 ? 0 : p.beta * c[i];
    }
    T *c0 = p.c + j0 * p.ldc, *c1 = c0 + p.ldc, *c2 = c1 + p.ldc, *c3 = c2 + p.ldc;
    for (int k = 0; k < p.k; k++) {
        const T *a = &p.a(0, k);
        T b[COLUMNS];
        for (int j = 0; j < columns; j++)
            b[j] = p.alpha * p.b(k, j0 + j);
        if (columns == COLUMNS)
            for (int i = 0; i < p.m; i++) {
                c0[i] += a[i] * b[0];
                c1[i] += a[i] * b[1];
                c2[i] += a[i] * b[2];
                c3[i] += a[i] * b[3];
            }
        else
            for (int j = 0; j < columns; j++)
                for (int i = 0; i < p.m; i++)
                    c0[i + j * p.ldc] += a[i] * b[j];
    }
}
template <class T>
static void gemm(
    int m, int n, int k, T alpha, view<const T> a, view<const T> b, T beta, T *c, long ldc)
{
    std::vector<T> packed;
    if (a.rows != 1) {
        packed.resize((size_t)m * k);
        for (int j = 0; j < k; j++)
            for (int i = 0; i < m; i++)
                packed[(size_t)j * m + i] = a(i, j);
        a = {packed.data(), 1, m};
    }
    product<T> p = {m, n, k, alpha, a, b, beta, c, ldc};
    wbcpu_parallel((n + COLUMNS - 1) / COLUMNS, multiply_columns<T>, &p);
}

/* LU with partial pivoting; pivots from 1, or NULL for none. Returns the first zero pivot. */
template <class T> static int factor(int n, T *a, int ld, int *pivots)
{
    int singular = 0;
    auto at = [=](int i, int j) -> T & { return a[(long)j * ld + i]; };
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; pivots && i < n; i++)
            if (std::abs(at(i, k)) > std::abs(at(best, k))) best = i;
        if (pivots) pivots[k] = best + 1;
        for (int j = 0; best != k && j < n; j++)
            std::swap(at(k, j), at(best, j));
        if (at(k, k) == 0) {
            if (!singular) singular = k + 1;
            continue;
        }
        for (int i = k + 1; i < n; i++)
            at(i, k) /= at(k, k);
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < n; i++)
                at(i, j) -= at(i, k) * at(k, j);
    }
    return singular;
}

/* --- the calls ---------------------------------------------------------------------- */

#define LEVEL_3(T, L)                                                                    \
    cublasStatus_t cublas##L##symm(                                                      \
        H, cublasSideMode_t side, cublasFillMode_t uplo, int m, int n, const T *alpha,   \
        const T *A, int lda, const T *B, int ldb, const T *beta, T *C, int ldc)          \
    {                                                                                    \
        RUN(int k = side == CUBLAS_SIDE_LEFT ? m : n;                                    \
            std::vector<T> f = full(k, A, lda, uplo, MIRROR, false);                     \
            view<const T> a{f.data(), 1, k}; view<const T> b{B, 1, ldb};                 \
            bool left = side == CUBLAS_SIDE_LEFT;                                        \
            gemm(m, n, k, *alpha, left ? a : b, left ? b : a, *beta, C, (long)ldc););    \
    }                                                                                    \
    cublasStatus_t cublas##L##syrk(                                                      \
        H, cublasFillMode_t uplo, cublasOperation_t t, int n, int k, const T *alpha,     \
        const T *A, int lda, const T *beta, T *C, int ldc)                               \
    {                                                                                    \
        RUN(std::vector<T> f((size_t)n * n); view<const T> a = op(t, A, lda);            \
            gemm(n, n, k, *alpha, a, {a.p, a.columns, a.rows}, (T)0, f.data(), (long)n); \
            add_half(n, f, uplo, *beta, C, ldc););                                       \
    }                                                                                    \
    cublasStatus_t cublas##L##syr2k(                                                     \
        H, cublasFillMode_t uplo, cublasOperation_t t, int n, int k, const T *alpha,     \
        const T *A, int lda, const T *B, int ldb, const T *beta, T *C, int ldc)          \
    {                                                                                    \
        RUN(std::vector<T> f((size_t)n * n); view<const T> a = op(t, A, lda);            \
            view<const T> b = op(t, B, ldb);                                             \
            gemm(n, n, k, *alpha, a, {b.p, b.columns, b.rows}, (T)0, f.data(), (long)n); \
            gemm(n, n, k, *alpha, b, {a.p, a.columns, a.rows}, (T)1, f.data(), (long)n); \
            add_half(n, f, uplo, *beta, C, ldc););                                       \
    }                                                                                    \
    cublasStatus_t cublas##L##trmm(                                                      \
        H, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,            \
        cublasDiagType_t diag, int m, int n, const T *alpha, const T *A, int lda,        \
        const T *B, int ldb, T *C, int ldc)                                              \
    {                                                                                    \
        RUN(bool left = side == CUBLAS_SIDE_LEFT; int k = left ? m : n;                  \
            std::vector<T> f = full(k, A, lda, uplo, ZERO, diag == CUBLAS_DIAG_UNIT);    \
            std::vector<T> c((size_t)m * n);                                             \
            view<const T> a = op(t, (const T *)f.data(), k);                             \
            view<const T> b{B, 1, ldb};                                                  \
            gemm(m, n, k, *alpha, left ? a : b, left ? b : a, (T)0, c.data(), (long)m);  \
            for (int j = 0; j < n; j++)                                                  \
                std::copy_n(&c[(size_t)j * m], m, C + (long)j * ldc););                  \
    }                                                                                    \
    cublasStatus_t cublas##L##trsm(                                                      \
        H, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,            \
        cublasDiagType_t diag, int m, int n, const T *alpha, const T *A, int lda, T *B,  \
        int ldb)                                                                         \
    {                                                                                    \
        RUN(bool unit = diag == CUBLAS_DIAG_UNIT; bool lower = is_lower(uplo, t);        \
            view<const T> a = op(t, A, lda);                                             \
            for (int j = 0; j < n; j++) for (int i = 0; i < m; i++)                      \
                B[(long)j * ldb + i] *= *alpha;                                          \
            if (side == CUBLAS_SIDE_LEFT) for (int j = 0; j < n; j++)                    \
                solve(m, a, lower, unit, B + (long)j * ldb, 1);                          \
            else for (int i = 0; i < m; i++)                                             \
                solve(n, {a.p, a.columns, a.rows}, !lower, unit, B + i, (long)ldb););    \
    }                                                                                    \
    cublasStatus_t cublas##L##geam(                                                      \
        H, cublasOperation_t ta, cublasOperation_t tb, int m, int n, const T *alpha,     \
        const T *A, int lda, const T *beta, const T *B, int ldb, T *C, int ldc)          \
    {                                                                                    \
        RUN(std::vector<T> c((size_t)m * n); view<const T> a = op(ta, A, lda);           \
            view<const T> b = op(tb, B, ldb);                                            \
            for (int j = 0; j < n; j++) for (int i = 0; i < m; i++)                      \
                c[(size_t)j * m + i] = (*alpha == 0 ? 0 : *alpha * a(i, j)) +            \
                                       (*beta == 0 ? 0 : *beta * b(i, j));               \
            for (int j = 0; j < n; j++)                                                  \
                std::copy_n(&c[(size_t)j * m], m, C + (long)j * ldc););                  \
    }                                                                                    \
    cublasStatus_t cublas##L##dgmm(                                                      \
        H, cublasSideMode_t side, int m, int n, const T *A, int lda, const T *x,         \
        int incx, T *C, int ldc)                                                         \
    {                                                                                    \
        RUN(bool left = side == CUBLAS_SIDE_LEFT;                                        \
            for (int j = 0; j < n; j++) for (int i = 0; i < m; i++)                      \
                C[(long)j * ldc + i] =                                                   \
                    A[(long)j * lda + i] * x[(long)(left ? i : j) * incx];);             \
    }                                                                                    \
    cublasStatus_t cublas##L##getrfBatched(                                              \
        H, int n, T *const A[], int lda, int *pivots, int *info, int batch)              \
    {                                                                                    \
        RUN(for (int b = 0; b < batch; b++) info[b] =                                    \
                factor(n, A[b], lda, pivots ? pivots + (long)b * n : nullptr););         \
    }                                                                                    \
    cublasStatus_t cublas##L##gemmBatched(                                               \
        H, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,              \
        const T *alpha, const T *const A[], int lda, const T *const B[], int ldb,        \
        const T *beta, T *const C[], int ldc, int batch)                                 \
    {                                                                                    \
        if (wbcpu_is_invalid_gemm(ta, tb, m, n, k, lda, ldb, ldc, batch))                \
            return CUBLAS_STATUS_INVALID_VALUE;                                          \
        RUN(for (int i = 0; i < batch; i++) gemm(                                        \
                m, n, k, *alpha, op(ta, A[i], lda), op(tb, B[i], ldb), *beta, C[i],      \
                (long)ldc););                                                            \
    }
LEVEL_3(float, S)
LEVEL_3(double, D)

cublasStatus_t cublasDgemmStridedBatched(
    H, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const double *alpha, const double *A, int lda, long long int strideA, const double *B,
    int ldb, long long int strideB, const double *beta, double *C, int ldc,
    long long int strideC, int batch)
{
    if (wbcpu_is_invalid_gemm(ta, tb, m, n, k, lda, ldb, ldc, batch))
        return CUBLAS_STATUS_INVALID_VALUE;
    RUN(for (int i = 0; i < batch; i++) gemm(
            m, n, k, *alpha, op(ta, A + i * strideA, lda), op(tb, B + i * strideB, ldb),
            *beta, C + i * strideC, (long)ldc););
}
cublasStatus_t cublasDgemm(
    H, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const double *alpha, const double *A, int lda, const double *B, int ldb,
    const double *beta, double *C, int ldc)
{
    return cublasDgemmStridedBatched(
        h, ta, tb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

/* --- int8 GEMM ---------------------------------------------------------------------- */

template <class T>
static std::vector<T> widened(int rows, int columns, view<const int8_t> x)
{
    std::vector<T> wide((size_t)rows * columns);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            wide[(size_t)j * rows + i] = x(i, j);
    return wide;
}
template <class T>
cublasStatus_t wbcpu_int8_gemm(
    H, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha,
    const matrix &A, const matrix &B, const T *beta, const matrix &C, int batch)
{
    if (wbcpu_is_invalid_gemm(ta, tb, m, n, k, A.ld, B.ld, C.ld, batch))
        return CUBLAS_STATUS_INVALID_VALUE;
    RUN(for (int i = 0; i < batch; i++) {
        auto a = op(ta, (const int8_t *)A.data + i * A.stride, A.ld);
        auto b = op(tb, (const int8_t *)B.data + i * B.stride, B.ld);
        std::vector<T> wide_a = widened<T>(m, k, a), wide_b = widened<T>(k, n, b);
        gemm(
            m, n, k, *alpha, {wide_a.data(), 1, m}, {wide_b.data(), 1, k}, *beta,
            (T *)C.data + i * C.stride, (long)C.ld);
    });
}
template cublasStatus_t wbcpu_int8_gemm(
    H, cublasOperation_t, cublasOperation_t, int, int, int, const int *, const matrix &,
    const matrix &, const int *, const matrix &, int);
template cublasStatus_t wbcpu_int8_gemm(
    H, cublasOperation_t, cublasOperation_t, int, int, int, const float *, const matrix &,
    const matrix &, const float *, const matrix &, int);
