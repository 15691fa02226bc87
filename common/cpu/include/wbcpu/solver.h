/* solver.h - linear systems for cusolverDn.h: LU, Cholesky and QR of dense matrices by
 * columns, for float, double and their std::complex. The formats are LAPACK's. */
#ifndef WBCPU_SOLVER_H
#define WBCPU_SOLVER_H

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

namespace wbcpu
{
template <class T> struct real_of {
    typedef T type;
};
template <class T> struct real_of<std::complex<T>> {
    typedef T type;
};
template <class T> inline T conjugate(T x)
{
    return x;
}
template <class T> inline std::complex<T> conjugate(std::complex<T> x)
{
    return std::conj(x);
}

template <class T> struct matrix_view { /* of a column-major matrix */
    T *a;
    long ld;
    T &operator()(long i, long j) const
    {
        return a[i + j * ld];
    }
    T *column(long j) const
    {
        return a + j * ld;
    }
};

/* y += x s, and the sum of op(x) y: each of n elements */
template <class T> inline void add_multiple(long n, T s, const T *x, T *y)
{
    for (long i = 0; i < n; i++)
        y[i] += x[i] * s;
}
template <bool conjugated, class T> inline T dot(long n, const T *x, const T *y)
{
    T sums[4] = {}; /* which the processor can add at the same time */
    for (long i = 0; i < n; i++)
        sums[i % 4] += (conjugated ? conjugate(x[i]) : x[i]) * y[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Solves op(A) x = b for a triangular A (n,n): x replaces b. op: 'N', 'T' or 'C' */
template <class T>
void solve_triangular(bool upper, char op, bool unit, long n, matrix_view<T> a, T *b)
{
    for (long step = 0; step < n; step++) {
        bool forward = upper != (op == 'N');
        long k = forward ? step : n - 1 - step;
        /* the elements of column k, without the diagonal */
        long from = upper ? 0 : k + 1, count = upper ? k : n - 1 - k;
        const T *x = a.column(k) + from;
        if (op == 'T') b[k] -= dot<false>(count, x, b + from);
        if (op == 'C') b[k] -= dot<true>(count, x, b + from);
        if (!unit) b[k] /= op == 'C' ? conjugate(a(k, k)) : a(k, k);
        if (op == 'N') add_multiple(count, -b[k], x, b + from);
    }
}

/* A = P L U. pivots[k] (from 1, or NULL: no exchanges) is the row exchanged with row k.
 * Returns the first k, counted from 1, with U(k,k) = 0, or 0. */
template <class T, class I> int factor_lu(long m, long n, matrix_view<T> a, I *pivots)
{
    int info = 0;
    long steps = std::min(m, n);
    for (long j = 0; j < n; j++) {
        T *c = a.column(j);
        for (long k = 0; pivots && k < std::min(j, steps); k++)
            std::swap(c[k], c[pivots[k] - 1]);
        for (long k = 0; k < std::min(j, steps); k++)
            add_multiple(m - k - 1, -c[k], a.column(k) + k + 1, c + k + 1);
        if (j >= steps) continue;
        if (pivots) {
            auto size = [](T x) {
                return std::abs(std::real(x)) + std::abs(std::imag(x));
            };
            T *largest = std::max_element(
                c + j, c + m, [&](T x, T y) { return size(x) < size(y); });
            pivots[j] = (I)(largest - c + 1);
            std::swap(c[j], *largest);
            for (long k = 0; k < j; k++)
                std::swap(a(j, k), a(pivots[j] - 1, k));
        }
        if (c[j] == T(0) && !info) info = (int)j + 1;
        for (long i = j + 1; i < m && c[j] != T(0); i++)
            c[i] /= c[j];
    }
    return info;
}
template <class T, class I>
void solve_lu(
    char op, long n, long count, matrix_view<T> a, const I *pivots, matrix_view<T> b)
{
    for (long j = 0; j < count; j++) {
        T *x = b.column(j);
        for (long k = 0; op == 'N' && pivots && k < n; k++)
            std::swap(x[k], x[pivots[k] - 1]);
        solve_triangular(op != 'N', op, op == 'N', n, a, x);
        solve_triangular(op == 'N', op, op != 'N', n, a, x);
        for (long k = n; op != 'N' && pivots && k-- > 0;)
            std::swap(x[k], x[pivots[k] - 1]);
    }
}

/* A = L L^H or U^H U. Returns the first k, counted from 1, whose leading minor is not
 * positive, or 0. Only one triangle is read and written. */
template <class T> int factor_cholesky(bool upper, long n, matrix_view<T> a)
{
    for (long j = 0; j < n; j++) {
        T *c = a.column(j);
        if (upper) {
            for (long k = 0; k < j; k++)
                c[k] = (c[k] - dot<true>(k, a.column(k), c)) / a(k, k);
            c[j] -= dot<true>(j, c, c);
        } else {
            for (long k = 0; k < j; k++)
                add_multiple(n - j, -conjugate(a(j, k)), a.column(k) + j, c + j);
        }
        auto diagonal = std::real(c[j]);
        if (!(diagonal > 0)) return (int)j + 1;
        c[j] = std::sqrt(diagonal);
        for (long i = j + 1; !upper && i < n; i++)
            c[i] /= c[j];
    }
    return 0;
}
template <class T>
void solve_cholesky(bool upper, long n, long count, matrix_view<T> a, matrix_view<T> b)
{
    for (long j = 0; j < count; j++) {
        solve_triangular(upper, upper ? 'C' : 'N', false, n, a, b.column(j));
        solve_triangular(upper, upper ? 'N' : 'C', false, n, a, b.column(j));
    }
}
/* One triangle of the inverse replaces the factor. */
template <class T> int invert_cholesky(bool upper, long n, matrix_view<T> a)
{
    std::vector<T> inverse((size_t)(n * n));
    for (long j = 0; j < n; j++) {
        if (a(j, j) == T(0)) return (int)j + 1;
        inverse[(size_t)(j * n + j)] = 1;
    }
    solve_cholesky(upper, n, n, a, matrix_view<T>{inverse.data(), n});
    for (long j = 0; j < n; j++)
        for (long i = upper ? 0 : j; i < (upper ? j + 1 : n); i++)
            a(i, j) = inverse[(size_t)(j * n + i)];
    return 0;
}

/* A reflection H = I - tau v v^H, v = (1, x), with H^H (first, x) = (real number, 0): x
 * becomes the rest of v, first the real number. */
template <class T> T make_reflection(long n, T &first, T *x)
{
    typedef typename real_of<T>::type R;
    R norm = std::abs(first), rest = 0;
    for (long i = 0; i < n - 1; i++)
        rest = std::hypot(rest, std::abs(x[i]));
    if (rest == 0 && std::imag(first) == 0) return 0;
    R beta = -std::copysign(std::hypot(norm, rest), std::real(first));
    T tau = (T(beta) - first) / beta;
    for (long i = 0; i < n - 1; i++)
        x[i] /= first - T(beta);
    first = beta;
    return tau;
}
/* c -= tau v (v^H c), v = (1, x) */
template <class T> void reflect(long n, T tau, const T *x, T *c)
{
    T sum = tau * (c[0] + dot<true>(n - 1, x, c + 1));
    c[0] -= sum;
    add_multiple(n - 1, -sum, x, c + 1);
}
/* A = Q R, Q = H1 H2 ... : R is above the vectors of the reflections. */
template <class T> void factor_qr(long m, long n, matrix_view<T> a, T *tau)
{
    for (long k = 0; k < std::min(m, n); k++) {
        tau[k] = make_reflection(m - k, a(k, k), a.column(k) + k + 1);
        for (long j = k + 1; j < n; j++)
            reflect(m - k, conjugate(tau[k]), a.column(k) + k + 1, &a(k, j));
    }
}
/* C = Q C or Q^H C, C (m,n), Q of k reflections */
template <class T>
void multiply_q(
    bool adjoint, long m, long n, long k, matrix_view<T> a, const T *tau,
    matrix_view<T> c)
{
    for (long step = 0; step < k; step++) {
        long i = adjoint ? step : k - 1 - step;
        for (long j = 0; j < n; j++)
            reflect(
                m - i, adjoint ? conjugate(tau[i]) : tau[i], a.column(i) + i + 1,
                &c(i, j));
    }
}
/* B (n,m) = A^H, A (m,n) */
template <class T>
void transpose_conjugated(long m, long n, matrix_view<T> a, matrix_view<T> b)
{
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++)
            b(j, i) = conjugate(a(i, j));
}
/* C = C Q or C Q^H, C (m,n): the adjoint of Q^H C^H */
template <class T>
void multiply_by_q(
    bool adjoint, long m, long n, long k, matrix_view<T> a, const T *tau,
    matrix_view<T> c)
{
    std::vector<T> other((size_t)(m * n));
    matrix_view<T> t = {other.data(), n};
    transpose_conjugated(m, n, c, t);
    multiply_q(!adjoint, n, m, k, a, tau, t);
    transpose_conjugated(n, m, t, c);
}
/* The first n columns of Q (m,m) replace the k vectors of its reflections. */
template <class T> void make_q(long m, long n, long k, matrix_view<T> a, const T *tau)
{
    std::vector<T> other((size_t)(m * n));
    matrix_view<T> q = {other.data(), m};
    for (long j = 0; j < n; j++)
        q(j, j) = 1;
    multiply_q(false, m, n, k, a, tau, q);
    for (long j = 0; j < n; j++)
        std::copy(q.column(j), q.column(j) + m, a.column(j));
}
}  // namespace wbcpu

#endif
