/* cuSOLVER: LU, Cholesky, QR, eigenvalues and singular values in four types. */
#include <cusolverDn.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>

#include "expect.h"

// Columns; every result is checked in double precision, whatever type made it.
typedef std::complex<double> number;
struct matrix {
    int m, n;
    number *x;
    matrix(int rows, int columns) : m(rows), n(columns)
    {
        x = (number *)calloc((size_t)(m * n + 1), sizeof *x);
    }
    number &operator()(int i, int j) const
    {
        return x[i + j * m];
    }
};
static matrix times(const matrix &a, const matrix &b, bool adjoint = false)
{
    matrix c(adjoint ? a.n : a.m, b.n);
    for (int i = 0; i < c.m; i++)
        for (int j = 0; j < c.n; j++)
            for (int k = 0; k < b.m; k++)
                c(i, j) += (adjoint ? std::conj(a(k, i)) : a(i, k)) * b(k, j);
    return c;
}
static double distance(const matrix &a, const matrix &b)  // the largest difference
{
    double most = 0;
    for (int i = 0; i < a.m * a.n; i++)
        if (!(std::abs(a.x[i] - b.x[i]) <= most)) most = std::abs(a.x[i] - b.x[i]);
    return most;
}
static matrix identity(int n)
{
    matrix a(n, n);
    for (int i = 0; i < n; i++)
        a(i, i) = 1;
    return a;
}
template <class T> static T from(number x)
{
    if constexpr (std::is_floating_point_v<T>)
        return (T)x.real();
    else
        return {(decltype(T().x))x.real(), (decltype(T().x))x.imag()};
}
template <class T> static number to(T x)
{
    if constexpr (std::is_floating_point_v<T>)
        return x;
    else
        return {x.x, x.y};
}
template <class T> static T *managed(const matrix &a)
{
    T *p;
    cudaMallocManaged(&p, (size_t)(a.m * a.n + 1) * sizeof(T));
    for (int i = 0; i < a.m * a.n; i++)
        p[i] = from<T>(a.x[i]);
    return p;
}
template <class T> static matrix read(int m, int n, const T *p)
{
    matrix a(m, n);
    for (int i = 0; i < m * n; i++)
        a.x[i] = to(p[i]);
    return a;
}
template <class T> static matrix example(int m, int n)
{
    matrix a(m, n);
    for (int i = 0; i < m * n; i++)
        a.x[i] = to(from<T>({std::sin(i * i * 1.7 + 1), std::cos(i * i * 2.3)}));
    return a;
}
static cusolverDnHandle_t h;
static int *info;
static double bound;

#define RUN(call)                                                                        \
    do {                                                                                 \
        int result = call;                                                               \
        EXPECT(result == 0);                                                             \
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);                                  \
        EXPECT(*info == 0);                                                              \
    } while (0)

/* The calls for one type */
#define CALLS(L, T, R, make_q, apply_q, sy)                                              \
    struct calls_##L {                                                                   \
        typedef T element;                                                               \
        typedef R real;                                                                  \
        static constexpr auto getrf_bufferSize = cusolverDn##L##getrf_bufferSize;        \
        static constexpr auto getrf = cusolverDn##L##getrf;                              \
        static constexpr auto getrs = cusolverDn##L##getrs;                              \
        static constexpr auto potrf = cusolverDn##L##potrf;                              \
        static constexpr auto potrs = cusolverDn##L##potrs;                              \
        static constexpr auto potri = cusolverDn##L##potri;                              \
        static constexpr auto geqrf = cusolverDn##L##geqrf;                              \
        static constexpr auto orgqr = cusolverDn##L##make_q;                             \
        static constexpr auto ormqr = cusolverDn##L##apply_q;                            \
        static constexpr auto syevd = cusolverDn##L##sy##evd;                            \
        static constexpr auto sygvd = cusolverDn##L##sy##gvd;                            \
        static constexpr auto gesvd = cusolverDn##L##gesvd;                              \
        static constexpr auto gesvdj = cusolverDn##L##gesvdj;                            \
    };
CALLS(S, float, float, orgqr, ormqr, sy)
CALLS(D, double, double, orgqr, ormqr, sy)
CALLS(C, cuComplex, float, ungqr, unmqr, he)
CALLS(Z, cuDoubleComplex, double, ungqr, unmqr, he)

template <class C> static void test()
{
    typedef typename C::element T;
    typedef typename C::real R;
    const int m = 9, n = 6;
    int bytes;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    EXPECT(cusolverDnSetStream(h, stream) == 0);
    matrix a = example<T>(n, n), x = example<T>(n, 2), b = times(a, x);
    T *da = managed<T>(a), *db = managed<T>(b), *work;
    const int lwork = 1 << 22; /* more than any call asks for */
    cudaMalloc(&work, lwork * sizeof *work);
    int *pivots;
    cudaMallocManaged(&pivots, n * sizeof *pivots);
    EXPECT(C::getrf_bufferSize(h, n, n, da, n, &bytes) == 0);
    RUN(C::getrf(h, n, n, da, n, work, pivots, info));
    RUN(C::getrs(h, CUBLAS_OP_N, n, 2, da, n, pivots, db, n, info));
    EXPECT(distance(x, read(n, 2, db)) < bound);
    db = managed<T>(times(a, x, true));
    RUN(C::getrs(h, CUBLAS_OP_C, n, 2, da, n, pivots, db, n, info));
    EXPECT(distance(x, read(n, 2, db)) < bound);
    for (cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
        matrix p = times(a, a, true);
        for (int i = 0; i < n; i++)
            p(i, i) += 1;
        da = managed<T>(p), db = managed<T>(times(p, x));
        RUN(C::potrf(h, fill, n, da, n, work, lwork, info));
        RUN(C::potrs(h, fill, n, 2, da, n, db, n, info));
        EXPECT(distance(x, read(n, 2, db)) < bound);
        RUN(C::potri(h, fill, n, da, n, work, lwork, info));
        matrix inverse = read(n, n, da);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i; j++)
                if (fill == CUBLAS_FILL_MODE_LOWER)
                    inverse(j, i) = std::conj(inverse(i, j));
                else
                    inverse(i, j) = std::conj(inverse(j, i));
        EXPECT(distance(identity(n), times(p, inverse)) < bound);

        matrix w(n, n), q = p; /* A x = w B x */
        R *values;
        cudaMallocManaged(&values, m * sizeof(R));
        p = example<T>(n, n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                p(j, i) = i == j ? p(i, i).real() : std::conj(p(i, j));
        for (int generalized = 0; generalized < 2; generalized++) {
            da = managed<T>(p), db = managed<T>(q);
            if (generalized)
                RUN(C::sygvd(
                    h, CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_MODE_VECTOR, fill, n, da, n, db,
                    n, values, work, lwork, info));
            else
                RUN(C::syevd(
                    h, CUSOLVER_EIG_MODE_VECTOR, fill, n, da, n, values, work, lwork,
                    info));
            for (int i = 0; i < n; i++) {
                w(i, i) = (double)values[i];
                EXPECT(i == 0 || values[i - 1] <= values[i]);
            }
            matrix v = read(n, n, da), right = times(v, w), same = v;
            if (generalized) right = times(q, right), same = times(q, v);
            EXPECT(distance(times(p, v), right) < bound);
            EXPECT(distance(times(v, same, true), identity(n)) < bound);
        }
    }
    matrix tall = example<T>(m, n), c = example<T>(m, 2), d = example<T>(2, m);
    T *tau = managed<T>(x), *dc = managed<T>(c), *dd = managed<T>(d);
    da = managed<T>(tall);
    RUN(C::geqrf(h, m, n, da, m, tau, work, lwork, info));
    const cublasOperation_t adjoint = sizeof(T) == sizeof(R) ? CUBLAS_OP_T : CUBLAS_OP_C;
    RUN(C::ormqr(
        h, CUBLAS_SIDE_LEFT, adjoint, m, 2, n, da, m, tau, dc, m, work, lwork, info));
    RUN(C::ormqr(
        h, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 2, m, n, da, m, tau, dd, 2, work, lwork,
        info));
    matrix r = read(m, n, da), upper(n, n), qc = read(m, 2, dc), dq = read(2, m, dd);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            upper(i, j) = r(i, j);
    RUN(C::orgqr(h, m, n, n, da, m, tau, work, lwork, info));
    matrix q = read(m, n, da), first(n, 2), left(2, n);
    EXPECT(distance(times(q, upper), tall) < bound);
    EXPECT(distance(times(q, q, true), identity(n)) < bound);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            first(i, j) = qc(i, j), left(j, i) = dq(j, i);
    EXPECT(distance(times(q, c, true), first) < bound);
    EXPECT(distance(times(d, q), left) < bound);

    for (int rank = 3; rank <= n; rank += 3) { /* A = U S V^H, also of rank 3 */
        matrix full = times(example<T>(m, rank), example<T>(rank, n)), s(m, n);
        da = managed<T>(full);
        full = read(m, n, da);
        R *values;
        cudaMallocManaged(&values, m * sizeof(R));
        T *u = managed<T>(matrix(m, m)), *vt = managed<T>(matrix(n, n));
        RUN(C::gesvd(
            h, 'A', 'A', m, n, da, m, values, u, m, vt, n, work, lwork, NULL, info));
        matrix uu = read(m, m, u), vv = read(n, n, vt);
        for (int i = 0; i < n; i++) {
            s(i, i) = (double)values[i];
            EXPECT(i == 0 || values[i - 1] >= values[i]);
        }
        EXPECT((values[3] > 0.01) == (rank > 3));
        EXPECT(distance(times(times(uu, s), vv), full) < bound);
        EXPECT(distance(times(uu, uu, true), identity(m)) < bound);
        EXPECT(distance(times(vv, vv, true), identity(n)) < bound);

        gesvdjInfo_t report; /* the adjoint, which is wide; V instead of V^H */
        double error;
        EXPECT(cusolverDnCreateGesvdjInfo(&report) == 0);
        matrix wide(n, m);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                wide(i, j) = std::conj(full(j, i));
        RUN(C::gesvdj(
            h, CUSOLVER_EIG_MODE_VECTOR, 1, n, m, managed<T>(wide), n, values, vt, n, u,
            m, work, lwork, info, report));
        EXPECT(cusolverDnXgesvdjGetResidual(h, report, &error) == 0);
        EXPECT(error < bound);
        uu = read(n, n, vt), vv = read(m, n, u);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                uu(i, j) *= s(j, j);
        EXPECT(distance(times(wide, vv), uu) < bound);
    }
}

/* The calls whose arguments say the type */
#define SIZES(name, ...)                                                                 \
    EXPECT(                                                                              \
        cusolverDnX##name##_bufferSize(h, about, __VA_ARGS__, type, &bytes, &on_host) == \
        0)
#define BUFFERS type, work, bytes, host, on_host, info
template <class T, class R> static void test_generic(cudaDataType type, cudaDataType real)
{
    const int64_t n = 6;
    const cublasFillMode_t fill = CUBLAS_FILL_MODE_LOWER;
    matrix a = example<T>(n, n), x = example<T>(n, 2), p = times(a, a, true);
    for (int i = 0; i < n; i++)
        p(i, i) += 1;
    T *da = managed<T>(a), *db = managed<T>(times(a, x)), *tau = managed<T>(x);
    T *u = managed<T>(a), *vt = managed<T>(a);
    R *w, *s;
    int64_t *pivots;
    cudaMallocManaged(&w, n * sizeof *w);
    cudaMallocManaged(&s, n * sizeof *s);
    cudaMallocManaged(&pivots, n * sizeof *pivots);
    size_t bytes, on_host;
    void *work, *host = malloc(1 << 20);
    cudaMalloc(&work, 1 << 24);
    cusolverDnParams_t about;
    EXPECT(cusolverDnCreateParams(&about) == 0);
    SIZES(getrf, n, n, type, da, n);
    RUN(cusolverDnXgetrf(h, about, n, n, type, da, n, pivots, BUFFERS));
    RUN(cusolverDnXgetrs(
        h, about, CUBLAS_OP_N, n, 2, type, da, n, pivots, type, db, n, info));
    EXPECT(distance(x, read(n, 2, db)) < bound);
    da = managed<T>(p), db = managed<T>(times(p, x));
    SIZES(potrf, fill, n, type, da, n);
    RUN(cusolverDnXpotrf(h, about, fill, n, type, da, n, BUFFERS));
    RUN(cusolverDnXpotrs(h, about, fill, n, 2, type, da, n, type, db, n, info));
    EXPECT(distance(x, read(n, 2, db)) < bound);
    da = managed<T>(a);
    SIZES(geqrf, n, n, type, da, n, type, tau);
    RUN(cusolverDnXgeqrf(h, about, n, n, type, da, n, type, tau, BUFFERS));
    matrix r = read(n, n, da), upper(n, n);
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            upper(i, j) = r(i, j);
    EXPECT(distance(times(upper, upper, true), times(a, a, true)) < 10 * bound);
    da = managed<T>(p);
    SIZES(gesvd, 'A', 'A', n, n, type, da, n, real, s, type, u, n, type, vt, n);
    RUN(cusolverDnXgesvd(
        h, about, 'A', 'A', n, n, type, da, n, real, s, type, u, n, type, vt, n,
        BUFFERS));
    da = managed<T>(p);
    SIZES(syevd, CUSOLVER_EIG_MODE_VECTOR, fill, n, type, da, n, real, w);
    RUN(cusolverDnXsyevd(
        h, about, CUSOLVER_EIG_MODE_VECTOR, fill, n, type, da, n, real, w, BUFFERS));
    for (int i = 0; i < n; i++)
        EXPECT(std::abs(w[i] - s[n - 1 - i]) < 10 * bound);
    EXPECT(cusolverDnDestroyParams(about) == 0);
}

int main()
{
    EXPECT(cusolverDnCreate(&h) == 0);
    cudaMallocManaged(&info, sizeof *info);
    bound = 2e-4;
    test<calls_S>();
    test<calls_C>();
    test_generic<cuComplex, float>(CUDA_C_32F, CUDA_R_32F);
    bound = 1e-11;
    test<calls_D>();
    test<calls_Z>();
    test_generic<double, double>(CUDA_R_64F, CUDA_R_64F);
    /* The eigenvalues of the second difference are known. */
    const int n = 40;
    matrix a(n, n);
    for (int i = 0; i < n; i++)
        a(i, i) = 2, a(i, (i + 1) % n) = i + 1 < n ? -1 : 0,
             a((i + 1) % n, i) = i + 1 < n ? -1 : 0;
    double *values, *da = managed<double>(a);
    cudaMallocManaged(&values, n * sizeof *values);
    double *work;
    const int lwork = 1 << 22;
    cudaMalloc(&work, lwork * sizeof *work);
    RUN(cusolverDnDsyevd(
        h, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, n, da, n, values, work,
        lwork, info));
    for (int k = 0; k < n; k++)
        EXPECT(std::abs(values[k] - 2 + 2 * std::cos((k + 1) * M_PI / (n + 1))) < 1e-13);
    /* Errors: a matrix that is not positive definite, a singular one, a wide one */
    a(3, 3) = -1;
    da = managed<double>(a);
    EXPECT(cusolverDnDpotrf(h, CUBLAS_FILL_MODE_LOWER, n, da, n, work, lwork, info) == 0);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && *info == 4);
    int *pivots;
    cudaMallocManaged(&pivots, n * sizeof *pivots);
    da = managed<double>(matrix(2, 2));
    EXPECT(cusolverDnDgetrf(h, 2, 2, da, 2, work, pivots, info) == 0);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && *info == 1);
    EXPECT(
        cusolverDnDpotrf(h, CUBLAS_FILL_MODE_LOWER, n, da, n - 1, work, lwork, info) ==
        CUSOLVER_STATUS_INVALID_VALUE);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && *info == -4);
    EXPECT(
        cusolverDnDgesvd(h, 'N', 'N', 2, 3, da, 2, 0, 0, 2, 0, 3, work, lwork, 0, info) ==
        CUSOLVER_STATUS_INVALID_VALUE);
    return 0;
}
