/* blas_views.h - strided vectors and matrices, for blas_vectors.cpp and blas_matrices.cpp. */
#ifndef WBCPU_BLAS_VIEWS_H
#define WBCPU_BLAS_VIEWS_H
#include "blas.h"

#include <algorithm>
#include <cmath>
#include <vector>

/* An element is p[i * rows + j * columns]. */
template <class T> struct view {
    T *p;
    long rows, columns;
    T &operator()(long i, long j) const
    {
        return p[i * rows + j * columns];
    }
};
template <class T> view<const T> op(cublasOperation_t t, const T *a, int ld)
{
    return t == CUBLAS_OP_N ? view<const T>{a, 1, ld} : view<const T>{a, ld, 1};
}
template <class T> T *first(T *x, int n, int inc)
{
    return inc < 0 ? x + (long)(1 - n) * inc : x;
}

/* One half of a matrix as a full one: the other half is its mirror, or zero. */
enum other_half { MIRROR, ZERO };
template <class T>
std::vector<T>
full(int n, const T *a, int ld, cublasFillMode_t uplo, other_half other, bool unit)
{
    std::vector<T> f((size_t)n * n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            bool stored = uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
            T x = stored            ? a[(long)j * ld + i]
                  : other == MIRROR ? a[(long)i * ld + j]
                                    : 0;
            f[(size_t)j * n + i] = unit && i == j ? 1 : x;
        }
    return f;
}

/* Writes the half `uplo` of alpha A + beta C. */
template <class T>
void
add_half(int n, const std::vector<T> &a, cublasFillMode_t uplo, T beta, T *c, int ldc)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j) {
                T &x = c[(long)j * ldc + i];
                x = a[(size_t)j * n + i] + (beta == 0 ? 0 : beta * x);
            }
}

/* Solves L x = b or U x = b in place. */
template <class T> void solve(int n, view<const T> a, bool lower, bool unit, T *x, long inc)
{
    for (int step = 0; step < n; step++) {
        int i = lower ? step : n - 1 - step;
        T sum = x[i * inc];
        for (int k = lower ? 0 : i + 1; k < (lower ? i : n); k++)
            sum -= a(i, k) * x[k * inc];
        x[i * inc] = unit ? sum : sum / a(i, i);
    }
}
inline bool is_lower(cublasFillMode_t uplo, cublasOperation_t t)
{
    return (uplo == CUBLAS_FILL_MODE_LOWER) == (t == CUBLAS_OP_N);
}

/* The bodies of the calls; they run when the handle's stream does. */
#define H cublasHandle_t h
#define RUN(...) return wbcpu_run_blas(h, [=] { __VA_ARGS__ })
#define RESULT(...) return wbcpu_run_blas(h, [=] { __VA_ARGS__ }, WBCPU_RESULT)
#define LOOP for (int i = 0; i < n; i++)

#endif
