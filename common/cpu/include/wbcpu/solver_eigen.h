/* solver_eigen.h - eigenvalues of Hermitian matrices and singular values for cusolverDn.h.
 * T is double or std::complex<double>: matrices of float are widened first. */
#ifndef WBCPU_SOLVER_EIGEN_H
#define WBCPU_SOLVER_EIGEN_H

#include "solver.h"

#include <cfloat>
#include <numeric>

namespace wbcpu
{
template <class T> struct owned_matrix {
    std::vector<T> data;
    long rows;
    owned_matrix(long m, long n) : data((size_t)(m * n)), rows(m) {}
    matrix_view<T> view()
    {
        return {data.data(), rows};
    }
};
/* Columns x and y become  c x - s y  and  s x + c y. */
template <class T> inline void rotate(long n, double c, double s, T *x, T *y)
{
    for (long i = 0; i < n; i++) {
        T left = x[i], right = y[i];
        x[i] = c * left - s * right;
        y[i] = s * left + c * right;
    }
}

/* A = Q T Q^H, T tridiagonal and real: its diagonal d and off[k] = T(k, k+1). Both
 * triangles of A are read, and Q replaces A. */
template <class T>
void make_tridiagonal(long n, matrix_view<T> a, double *d, double *off, bool want_q)
{
    std::vector<T> tau((size_t)n), w((size_t)n);
    for (long k = 0; k + 1 < n; k++) {
        long rest = n - k - 1;
        T *v = a.column(k) + k + 1;
        d[k] = std::real(a(k, k));
        tau[k] = make_reflection(rest, v[0], v + 1);
        off[k] = std::real(v[0]);
        v[0] = 1;
        /* A22 = H^H A22 H = A22 - v w^H - w v^H */
        std::fill(w.begin(), w.end(), T(0));
        for (long j = 0; j < rest; j++)
            add_multiple(rest, tau[k] * v[j], a.column(k + 1 + j) + k + 1, w.data());
        T half = tau[k] * dot<true>(rest, w.data(), v) * -0.5;
        add_multiple(rest, half, v, w.data());
        for (long j = 0; j < rest; j++) {
            T *c = a.column(k + 1 + j) + k + 1;
            add_multiple(rest, -conjugate(w[(size_t)j]), v, c);
            add_multiple(rest, -conjugate(v[j]), w.data(), c);
        }
    }
    if (n) d[n - 1] = std::real(a(n - 1, n - 1));
    if (!want_q) return;
    /* The reflections begin in row 1: they make Q except its first row and column. */
    make_q(
        n - 1, n - 1, n - 1, matrix_view<T>{&a(std::min(1L, n - 1), 0), a.ld},
        tau.data());
    for (long j = n - 1; j > 0; j--) {
        std::copy(a.column(j - 1) + 1, a.column(j - 1) + n, a.column(j) + 1);
        a(0, j) = 0;
    }
    std::fill(a.column(0), a.column(0) + n, T(0));
    if (n) a(0, 0) = 1;
}

/* Eigenvalues of a tridiagonal matrix by QL steps with implicit shifts: they replace d, and
 * the rotations are applied to the columns of Q (n,n), if given. Returns the number of
 * steps, or -1: they do not converge. */
template <class T> int diagonalize(long n, double *d, double *off, matrix_view<T> q)
{
    int steps = 0;
    if (n) off[n - 1] = 0;
    for (long first = 0; first < n; first++) {
        for (int tries = 0;; tries++, steps++) {
            long last = first; /* of the part that does not fall apart */
            while (last + 1 < n &&
                   std::abs(off[last]) >
                       DBL_EPSILON * (std::abs(d[last]) + std::abs(d[last + 1])))
                last++;
            if (last == first) break;
            if (tries == 60) return -1;
            /* The shift is an eigenvalue of the first 2x2 block. */
            double half = (d[first + 1] - d[first]) / (2 * off[first]);
            double g = d[last] - d[first] +
                       off[first] / (half + std::copysign(std::hypot(half, 1), half));
            double s = 1, c = 1, shift = 0;
            long i = last - 1;
            for (; i >= first; i--) {
                double f = s * off[i], b = c * off[i], r = std::hypot(f, g);
                off[i + 1] = r;
                if (r == 0) {
                    d[i + 1] -= shift;
                    break;
                }
                s = f / r, c = g / r;
                g = d[i + 1] - shift;
                r = (d[i] - g) * s + 2 * c * b;
                shift = s * r;
                d[i + 1] = g + shift;
                g = c * r - b;
                if (q.a) rotate(n, c, s, q.column(i), q.column(i + 1));
            }
            off[last] = 0;
            if (i >= first) continue;
            d[first] -= shift;
            off[first] = g;
        }
    }
    return steps;
}

/* A = V diag(w) V^H, w ascending. Reads one triangle; V replaces A if wanted. Returns the
 * number of steps, or -1. */
template <class T>
int eigenvalues(bool upper, long n, matrix_view<T> a, double *w, bool want_vectors)
{
    owned_matrix<T> copy(n, n);
    matrix_view<T> q = copy.view();
    std::vector<double> d((size_t)n), off((size_t)n);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++)
            q(i, j) = i == j             ? T(std::real(a(i, j)))
                      : (i < j) == upper ? a(i, j)
                                         : conjugate(a(j, i));
    make_tridiagonal(n, q, d.data(), off.data(), want_vectors);
    int steps = diagonalize(n, d.data(), off.data(), want_vectors ? q : matrix_view<T>{});
    std::vector<long> order((size_t)n);
    std::iota(order.begin(), order.end(), 0);
    /* not std::sort, which leaves the array if there are NaN */
    std::stable_sort(order.begin(), order.end(), [&](long i, long j) {
        return d[(size_t)i] < d[(size_t)j];
    });
    for (long j = 0; j < n; j++) {
        long from = order[(size_t)j];
        w[j] = d[(size_t)from];
        if (want_vectors) std::copy(q.column(from), q.column(from) + n, a.column(j));
    }
    return steps;
}

/* Rotates the columns of G (m,n), and those of V (n,n) likewise, until they are orthogonal.
 * Returns the number of sweeps. */
template <class T> int orthogonalize(long m, long n, matrix_view<T> g, matrix_view<T> v)
{
    std::vector<double> squares((size_t)n);
    double noise = DBL_EPSILON * std::sqrt((double)m);
    for (int sweep = 1; sweep < 60; sweep++) {
        bool rotated = false;
        for (long j = 0; j < n; j++)
            squares[(size_t)j] = std::real(dot<true>(m, g.column(j), g.column(j)));
        for (long p = 0; p < n; p++) {
            for (long q = p + 1; q < n; q++) {
                double &a = squares[(size_t)p], &b = squares[(size_t)q];
                T product = dot<true>(m, g.column(p), g.column(q));
                double size = std::abs(product);
                if (size <= noise * std::sqrt(a) * std::sqrt(b) || size < DBL_MIN)
                    continue;
                rotated = true;
                double half = (b - a) / (2 * size);
                double t =
                    std::copysign(1 / (std::abs(half) + std::hypot(half, 1)), half);
                double c = 1 / std::hypot(t, 1), s = t * c;
                /* With the phase removed from column q the product is real. */
                T phase = conjugate(product) / size;
                auto turn = [&](long rows, matrix_view<T> x) {
                    for (long i = 0; phase != T(1) && i < rows; i++)
                        x(i, q) *= phase;
                    rotate(rows, c, s, x.column(p), x.column(q));
                };
                turn(m, g);
                turn(n, v);
                a -= t * size, b += t * size;
            }
        }
        if (!rotated) return sweep;
    }
    return 60;
}

/* A (m,n), m >= n, = U diag(s) V^H, s descending; U (m, columns), n <= columns <= m.
 * V starts as the eigenvectors of A^H A, which are accurate except for small s; rotations
 * make them so. Returns the number of their sweeps. */
template <class T>
int singular_values(
    long m, long n, matrix_view<T> a, double *s, long columns, matrix_view<T> u,
    matrix_view<T> v)
{
    owned_matrix<T> square(n, n), product(m, columns), reflections(m, columns);
    matrix_view<T> g = product.view(), aa = square.view();
    for (long j = 0; j < n; j++)
        for (long i = j; i < n; i++)
            aa(i, j) = dot<true>(m, a.column(i), a.column(j));
    std::vector<double> w((size_t)n);
    eigenvalues(false, n, aa, w.data(), true);
    for (long j = 0; j < n; j++) { /* the largest first */
        std::copy(aa.column(n - 1 - j), aa.column(n - 1 - j) + n, v.column(j));
        for (long i = 0; i < n; i++)
            add_multiple(m, v(i, j), a.column(i), g.column(j));
    }
    int sweeps = orthogonalize(m, n, g, v);
    std::vector<long> order((size_t)n);
    for (long j = 0; j < n; j++) {
        w[(size_t)j] = std::sqrt(std::real(dot<true>(m, g.column(j), g.column(j))));
        order[(size_t)j] = j;
    }
    std::stable_sort(order.begin(), order.end(), [&](long i, long j) {
        return w[(size_t)i] > w[(size_t)j];
    });
    matrix_view<T> q = reflections.view();
    for (long j = 0; j < n; j++) {
        long from = order[(size_t)j];
        s[j] = w[(size_t)from];
        std::copy(v.column(from), v.column(from) + n, aa.column(j));
        for (long i = 0; i < m; i++)
            q(i, j) = s[j] > 0 ? g(i, from) / s[j] : T(0);
    }
    for (long j = 0; j < n; j++)
        std::copy(aa.column(j), aa.column(j) + n, v.column(j));
    /* Q of a QR factorization has the missing columns, which are orthogonal to the others. */
    for (long j = 0; j < columns; j++)
        std::copy(q.column(j), q.column(j) + m, g.column(j));
    std::vector<T> tau((size_t)columns);
    factor_qr(m, columns, q, tau.data());
    make_q(m, columns, columns, q, tau.data());
    for (long j = 0; j < columns; j++) {
        T *from = j < n && s[j] > 0 ? g.column(j) : q.column(j);
        std::copy(from, from + m, u.column(j));
    }
    return sweeps;
}
}  // namespace wbcpu

#endif
