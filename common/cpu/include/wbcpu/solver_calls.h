/* solver_calls.h - the calls of cusolverDn.h for one element type, and its streams. */
#ifndef WBCPU_SOLVER_CALLS_H
#define WBCPU_SOLVER_CALLS_H

#include "cuda_runtime.h"
#include "cusolver_common.h"
#include "solver_eigen.h"

struct cusolverDnContext {
    cudaStream_t stream;
};
struct syevjInfo { /* of the last call */
    int steps;
    double residual;
};
struct gesvdjInfo : syevjInfo {
};
typedef cusolverDnContext *cusolverDnHandle_t;

namespace wbcpu
{
template <class T> struct solver_type { /* cuComplex has the layout of std::complex. */
    typedef T type;
};
template <> struct solver_type<cuComplex> {
    typedef std::complex<float> type;
};
template <> struct solver_type<cuDoubleComplex> {
    typedef std::complex<double> type;
};
template <class T> auto view_of(T *a, long ld)
{
    typedef typename solver_type<std::remove_const_t<T>>::type E;
    return matrix_view<E>{(E *)a, ld};
}
/* Enqueues work() on the stream; its result is stored in *info. */
template <class Work>
cusolverStatus_t solve(cusolverDnHandle_t h, int *info, const Work &work)
{
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    wbcpu_run_library(h->stream, [=] {
        int result = work();
        if (info) *info = result;
    });
    return CUSOLVER_STATUS_SUCCESS;
}
/* The lower bound of an argument. at: its position after the handle, from 1 */
struct least {
    int value, bound, at;
};
template <class Work>
cusolverStatus_t solve(
    cusolverDnHandle_t h, int *info, std::initializer_list<least> arguments,
    const Work &work)
{
    for (least a : arguments)
        if (a.value < a.bound) {
            solve(h, info, [=] { return -a.at; });
            return CUSOLVER_STATUS_INVALID_VALUE;
        }
    return solve(h, info, work);
}
/* A leading dimension: at least 1 */
inline least leading(int ld, int rows, int at)
{
    return {ld, std::max(1, rows), at};
}
inline char operation(cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C';
}
inline bool is_upper(cublasFillMode_t fill)
{
    return fill == CUBLAS_FILL_MODE_UPPER;
}

/* A copy in double precision, and the way back */
template <class E>
using wide = std::conditional_t<
    std::is_same_v<E, typename real_of<E>::type>, double, std::complex<double>>;
template <class E> owned_matrix<wide<E>> widened(long m, long n, matrix_view<E> a)
{
    owned_matrix<wide<E>> out(m, n);
    for (long j = 0; j < n; j++)
        std::copy(a.column(j), a.column(j) + m, out.view().column(j));
    return out;
}
/* One triangle; the other need not have been written. */
template <class E>
owned_matrix<wide<E>> widened_half(bool upper, long n, matrix_view<E> a)
{
    owned_matrix<wide<E>> out(n, n);
    for (long j = 0; j < n; j++)
        for (long i = upper ? 0 : j; i < (upper ? j + 1 : n); i++)
            out.view()(i, j) = a(i, j);
    return out;
}
template <class W, class E>
void narrow(long m, long n, matrix_view<W> from, matrix_view<E> to)
{
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++)
            to(i, j) = E(from(i, j));
}

/* The Frobenius norm of A V - U diag(w), A (m,n): how exact the result is */
template <class T>
double residual(
    long m, long n, matrix_view<T> a, const double *w, matrix_view<T> u, matrix_view<T> v,
    long count)
{
    double sum = 0;
    std::vector<T> c((size_t)m);
    for (long j = 0; j < count; j++) {
        for (long i = 0; i < m; i++)
            c[(size_t)i] = -u(i, j) * w[j];
        for (long k = 0; k < n; k++)
            add_multiple(m, v(k, j), a.column(k), c.data());
        sum += std::real(dot<true>(m, c.data(), c.data()));
    }
    return std::sqrt(sum);
}
/* The whole of a Hermitian matrix, given one triangle */
template <class T> void complete(bool upper, long n, matrix_view<T> a)
{
    for (long j = 0; j < n; j++)
        for (long i = 0; i < j; i++)
            (upper ? a(j, i) : a(i, j)) = conjugate(upper ? a(i, j) : a(j, i));
}

template <class E, class R>
int solve_eigen(
    bool vectors, bool upper, long n, matrix_view<E> a, R *w, syevjInfo *info = nullptr)
{
    auto wide_a = widened_half(upper, n, a), before = wide_a;
    std::vector<double> values((size_t)n);
    int steps = eigenvalues(upper, n, wide_a.view(), values.data(), vectors);
    std::copy(values.begin(), values.end(), w);
    if (info) {
        complete(upper, n, before.view());
        *info = {steps, 0};
        if (vectors)
            info->residual = residual(
                n, n, before.view(), values.data(), wide_a.view(), wide_a.view(), n);
    }
    if (vectors) narrow(n, n, wide_a.view(), a);
    return steps < 0 ? 1 : 0;
}
/* A x = w B x: with B = L L^H and y = L^H x it is  L^-1 A L^-H y = w y */
template <class E, class R>
int solve_generalized(
    bool vectors, bool upper, long n, matrix_view<E> a, matrix_view<E> b, R *w)
{
    if (int info = factor_cholesky(upper, n, b)) return (int)n + info;
    auto whole = widened_half(upper, n, a), factor = widened_half(upper, n, b);
    auto c = whole.view(), l = factor.view();
    complete(upper, n, c);
    for (int side = 0; side < 2; side++) { /* C = L^-1 C, then the adjoint of that */
        for (long j = 0; j < n; j++)
            solve_triangular(upper, upper ? 'C' : 'N', false, n, l, c.column(j));
        auto other = whole;
        transpose_conjugated(n, n, other.view(), c);
    }
    std::vector<double> values((size_t)n);
    int steps = eigenvalues(false, n, c, values.data(), vectors);
    std::copy(values.begin(), values.end(), w);
    for (long j = 0; vectors && j < n; j++)
        solve_triangular(upper, upper ? 'N' : 'C', false, n, l, c.column(j));
    if (vectors) narrow(n, n, c, a);
    return steps < 0 ? 1 : 0;
}
/* u (m, all_u ? m : smaller), v (n, ...) and vt, its adjoint; without data: not wanted */
template <class E, class R>
int solve_svd(
    long m, long n, matrix_view<E> a, R *s, bool all, matrix_view<E> u, matrix_view<E> v,
    matrix_view<E> vt, syevjInfo *info = nullptr)
{
    typedef wide<E> W;
    bool flat = m < n; /* then the adjoint, which exchanges U and V */
    long longer = std::max(m, n), shorter = std::min(m, n),
         columns = all ? longer : shorter;
    auto given = widened(m, n, a);
    owned_matrix<W> tall(longer, shorter), left(longer, columns), right(shorter, shorter);
    if (flat)
        transpose_conjugated(m, n, given.view(), tall.view());
    else
        tall = given;
    std::vector<double> values((size_t)shorter);
    int sweeps = singular_values(
        longer, shorter, tall.view(), values.data(), columns, left.view(), right.view());
    std::copy(values.begin(), values.end(), s);
    matrix_view<W> wide_u = (flat ? right : left).view(),
                   wide_v = (flat ? left : right).view();
    long u_columns = flat ? shorter : columns, v_columns = flat ? columns : shorter;
    if (u.a) narrow(m, u_columns, wide_u, u);
    if (v.a) narrow(n, v_columns, wide_v, v);
    for (long j = 0; vt.a && j < v_columns; j++)
        for (long i = 0; i < n; i++)
            vt(j, i) = E(conjugate(wide_v(i, j)));
    if (info)
        *info = {
            sweeps, residual(m, n, given.view(), values.data(), wide_u, wide_v, shorter)};
    return sweeps == 60 ? 1 : 0;
}
template <class E, class R>
int solve_gesvd(
    char jobu, char jobvt, long m, long n, matrix_view<E> a, R *s, matrix_view<E> u,
    matrix_view<E> vt)
{
    matrix_view<E> none = {};
    bool all = jobu == 'A';
    if (jobu == 'O') u = a;
    if (jobvt == 'O') vt = a;
    return solve_svd(
        m, n, a, s, all, jobu == 'N' ? none : u, none, jobvt == 'N' ? none : vt);
}

/* The calls that return the size of a workspace: 1, because none is used */
template <class... P> struct solver_size {
    static cusolverStatus_t of(cusolverDnHandle_t, P..., int *size)
    {
        *size = 1;
        return CUSOLVER_STATUS_SUCCESS;
    }
    template <class Info>
    static cusolverStatus_t with(cusolverDnHandle_t, P..., int *size, Info *)
    {
        *size = 1;
        return CUSOLVER_STATUS_SUCCESS;
    }
    template <class Info>
    static cusolverStatus_t batch(cusolverDnHandle_t, P..., int *size, Info *, int)
    {
        *size = 1;
        return CUSOLVER_STATUS_SUCCESS;
    }
};

/* T is float, double, cuComplex or cuDoubleComplex, R its real type. Pointers to numbers
 * without a name are workspaces, which are not needed. */
template <class T, class R> struct solver {
    typedef cusolverDnHandle_t handle;
    typedef cublasFillMode_t fill_mode;
    typedef cusolverEigMode_t eig_mode;
    typedef cusolverStatus_t status;
    typedef typename solver_type<T>::type E;
    typedef T element;
    typedef R real;

    template <class I> /* of the pivots */
    static status lu(handle h, int m, int n, T *a, int lda, I *pivots, int *info)
    {
        return solve(h, info, {{m, 0, 1}, {n, 0, 2}, leading(lda, m, 4)}, [=] {
            return factor_lu(m, n, view_of(a, lda), pivots);
        });
    }
    static status
    getrf(handle h, int m, int n, T *a, int lda, T *, int *pivots, int *info)
    {
        return lu(h, m, n, a, lda, pivots, info);
    }
    template <class I>
    static status after_lu(
        handle h, cublasOperation_t op, int n, int count, const T *a, int lda,
        const I *pivots, T *b, int ldb, int *info)
    {
        return solve(
            h, info, {{n, 0, 2}, {count, 0, 3}, leading(lda, n, 5), leading(ldb, n, 8)},
            [=] {
                solve_lu(
                    operation(op), n, count, view_of(a, lda), pivots, view_of(b, ldb));
                return 0;
            });
    }
    static status getrs(
        handle h, cublasOperation_t op, int n, int count, const T *a, int lda,
        const int *pivots, T *b, int ldb, int *info)
    {
        return after_lu(h, op, n, count, a, lda, pivots, b, ldb, info);
    }
    static status
    potrf(handle h, fill_mode fill, int n, T *a, int lda, T *, int, int *info)
    {
        return solve(h, info, {{n, 0, 2}, leading(lda, n, 4)}, [=] {
            return factor_cholesky(is_upper(fill), n, view_of(a, lda));
        });
    }
    static status
    potri(handle h, fill_mode fill, int n, T *a, int lda, T *, int, int *info)
    {
        return solve(h, info, {{n, 0, 2}, leading(lda, n, 4)}, [=] {
            return invert_cholesky(is_upper(fill), n, view_of(a, lda));
        });
    }
    static status potrs(
        handle h, fill_mode fill, int n, int count, const T *a, int lda, T *b, int ldb,
        int *info)
    {
        return solve(
            h, info, {{n, 0, 2}, {count, 0, 3}, leading(lda, n, 5), leading(ldb, n, 7)},
            [=] {
                solve_cholesky(
                    is_upper(fill), n, count, view_of(a, lda), view_of(b, ldb));
                return 0;
            });
    }
    static status
    potrf_batch(handle h, fill_mode fill, int n, T *a[], int lda, int *info, int batch)
    {
        return solve(h, nullptr, [=] {
            for (int i = 0; i < batch; i++)
                info[i] = factor_cholesky(is_upper(fill), n, view_of(a[i], lda));
            return 0;
        });
    }
    static status potrs_batch(
        handle h, fill_mode fill, int n, int count, T *a[], int lda, T *b[], int ldb,
        int *info, int batch)
    {
        if (count != 1) return CUSOLVER_STATUS_INVALID_VALUE; /* as in cuSOLVER */
        return solve(h, info, [=] {
            for (int i = 0; i < batch; i++)
                solve_cholesky(
                    is_upper(fill), n, 1, view_of(a[i], lda), view_of(b[i], ldb));
            return 0;
        });
    }
    static status
    geqrf(handle h, int m, int n, T *a, int lda, T *tau, T *, int, int *info)
    {
        return solve(h, info, {{m, 0, 1}, {n, 0, 2}, leading(lda, m, 4)}, [=] {
            factor_qr(m, n, view_of(a, lda), (E *)tau);
            return 0;
        });
    }
    static status
    orgqr(handle h, int m, int n, int k, T *a, int lda, const T *tau, T *, int, int *info)
    {
        return solve(h, info, {{m, 0, 1}, {n, 0, 2}, {k, 0, 3}, leading(lda, m, 5)}, [=] {
            make_q(m, n, k, view_of(a, lda), (const E *)tau);
            return 0;
        });
    }
    static status ormqr(
        handle h, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,
        const T *a, int lda, const T *tau, T *c, int ldc, T *, int, int *info)
    {
        if (op == (sizeof(T) == sizeof(R) ? CUBLAS_OP_C : CUBLAS_OP_T))
            return CUSOLVER_STATUS_INVALID_VALUE; /* as in cuSOLVER */
        return solve(
            h, info,
            {{m, 0, 3},
             {n, 0, 4},
             {k, 0, 5},
             leading(lda, side == CUBLAS_SIDE_LEFT ? m : n, 7),
             leading(ldc, m, 10)},
            [=] {
                auto multiply =
                    side == CUBLAS_SIDE_LEFT ? multiply_q<E> : multiply_by_q<E>;
                multiply(
                    op != CUBLAS_OP_N, m, n, k, view_of(a, lda), (const E *)tau,
                    view_of(c, ldc));
                return 0;
            });
    }
    static status syevd(
        handle h, eig_mode mode, fill_mode fill, int n, T *a, int lda, R *w, T *, int,
        int *info)
    {
        return solve(h, info, {{n, 0, 3}, leading(lda, n, 5)}, [=] {
            return solve_eigen(mode, is_upper(fill), n, view_of(a, lda), w);
        });
    }
    static status syevj(
        handle h, eig_mode mode, fill_mode fill, int n, T *a, int lda, R *w, T *, int,
        int *info, syevjInfo *report)
    {
        return solve(h, info, [=] {
            return solve_eigen(mode, is_upper(fill), n, view_of(a, lda), w, report);
        });
    }
    static status syevj_batch(
        handle h, eig_mode mode, fill_mode fill, int n, T *a, int lda, R *w, T *, int,
        int *info, syevjInfo *report, int batch)
    {
        return solve(h, nullptr, [=] {
            for (long i = 0; i < batch; i++)
                info[i] = solve_eigen(
                    mode, is_upper(fill), n, view_of(a + i * lda * n, lda), w + i * n,
                    report);
            return 0;
        });
    }
    static status sygvd(
        handle h, cusolverEigType_t type, eig_mode mode, fill_mode fill, int n, T *a,
        int lda, T *b, int ldb, R *w, T *, int, int *info)
    {
        if (type != CUSOLVER_EIG_TYPE_1) return CUSOLVER_STATUS_NOT_SUPPORTED;
        return solve(h, info, {{n, 0, 4}, leading(lda, n, 6), leading(ldb, n, 8)}, [=] {
            return solve_generalized(
                mode, is_upper(fill), n, view_of(a, lda), view_of(b, ldb), w);
        });
    }
    static status gesvd(
        handle h, signed char jobu, signed char jobvt, int m, int n, T *a, int lda, R *s,
        T *u, int ldu, T *vt, int ldvt, T *, int, R *, int *info)
    {
        if (m < n) return CUSOLVER_STATUS_INVALID_VALUE; /* as in cuSOLVER */
        return solve(h, info, {{m, 0, 3}, {n, 0, 4}, leading(lda, m, 6)}, [=] {
            return solve_gesvd(
                (char)jobu, (char)jobvt, m, n, view_of(a, lda), s, view_of(u, ldu),
                view_of(vt, ldvt));
        });
    }
    static status gesvdj(
        handle h, eig_mode mode, int economy, int m, int n, T *a, int lda, R *s, T *u,
        int ldu, T *v, int ldv, T *, int, int *info, gesvdjInfo *report)
    {
        return solve(h, info, [=] {
            return solve_svd(
                m, n, view_of(a, lda), s, !economy, view_of(mode ? u : nullptr, ldu),
                view_of(mode ? v : nullptr, ldv), {}, report);
        });
    }
    static status gesvdj_batch(
        handle h, eig_mode mode, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v,
        int ldv, T *, int, int *info, gesvdjInfo *report, int batch)
    {
        return solve(h, nullptr, [=] {
            for (long i = 0; i < batch; i++)
                info[i] = solve_svd(
                    m, n, view_of(a + i * lda * n, lda), s + i * std::min(m, n), true,
                    view_of(mode ? u + i * ldu * m : nullptr, ldu),
                    view_of(mode ? v + i * ldv * n : nullptr, ldv), {}, report);
            return 0;
        });
    }
};
}  // namespace wbcpu

#endif
