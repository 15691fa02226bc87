/* cusolverDn.h - dense linear systems, eigenvalues and singular values: LU, Cholesky, QR,
 * Hermitian eigenvalues, SVD. float, double, cuComplex and cuDoubleComplex; column-major.
 *
 * Names, signatures and values are those of cuSOLVER 12. No call needs its workspace. The
 * library is correct, but not fast: one thread, no blocks. */
#ifndef WBCPU_CUSOLVERDN_H
#define WBCPU_CUSOLVERDN_H
#define CUSOLVERDN_H_ /* helper_cuda.h asks for it */

#include "wbcpu/solver_calls.h"

typedef syevjInfo *syevjInfo_t;
typedef gesvdjInfo *gesvdjInfo_t;
typedef struct cusolverDnParams {
} * cusolverDnParams_t;
typedef enum { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1 } cusolverDnFunction_t;

#define WBCPU_CALL static inline cusolverStatus_t
#define WBCPU_MAKE(Name, T)                                                              \
    WBCPU_CALL cusolverDn##Name(T *made)                                                 \
    {                                                                                    \
        *made = new std::remove_pointer_t<T>();                                          \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }
#define WBCPU_FREE(Name, T)                                                              \
    WBCPU_CALL cusolverDn##Name(T made)                                                  \
    {                                                                                    \
        delete made;                                                                     \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }
WBCPU_CALL cusolverDnCreate(cusolverDnHandle_t *made)
{
    cudaSetDevice(0); /* makes a context */
    *made = new std::remove_pointer_t<cusolverDnHandle_t>();
    return CUSOLVER_STATUS_SUCCESS;
}
WBCPU_FREE(Destroy, cusolverDnHandle_t)
WBCPU_MAKE(CreateParams, cusolverDnParams_t)
WBCPU_FREE(DestroyParams, cusolverDnParams_t)
WBCPU_MAKE(CreateSyevjInfo, syevjInfo_t)
WBCPU_FREE(DestroySyevjInfo, syevjInfo_t)
WBCPU_MAKE(CreateGesvdjInfo, gesvdjInfo_t)
WBCPU_FREE(DestroyGesvdjInfo, gesvdjInfo_t)
#undef WBCPU_MAKE
#undef WBCPU_FREE
WBCPU_CALL cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t stream)
{
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    h->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}
WBCPU_CALL cusolverDnGetStream(cusolverDnHandle_t h, cudaStream_t *stream)
{
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    *stream = h->stream;
    return CUSOLVER_STATUS_SUCCESS;
}
WBCPU_CALL
cusolverDnSetAdvOptions(cusolverDnParams_t, cusolverDnFunction_t, cusolverAlgMode_t)
{
    return CUSOLVER_STATUS_SUCCESS;
}
#define WBCPU_JACOBI(name, Info)                                                         \
    WBCPU_CALL cusolverDnX##name##SetTolerance(Info, double)                             \
    {                                                                                    \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    WBCPU_CALL cusolverDnX##name##SetMaxSweeps(Info, int)                                \
    {                                                                                    \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    WBCPU_CALL cusolverDnX##name##SetSortEig(Info, int)                                  \
    {                                                                                    \
        return CUSOLVER_STATUS_SUCCESS; /* they are always sorted */                     \
    }                                                                                    \
    WBCPU_CALL cusolverDnX##name##GetSweeps(cusolverDnHandle_t, Info info, int *sweeps)  \
    {                                                                                    \
        *sweeps = info->steps;                                                           \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }                                                                                    \
    WBCPU_CALL                                                                           \
    cusolverDnX##name##GetResidual(cusolverDnHandle_t, Info info, double *residual)      \
    {                                                                                    \
        *residual = info->residual;                                                      \
        return CUSOLVER_STATUS_SUCCESS;                                                  \
    }
WBCPU_JACOBI(syevj, syevjInfo_t)
WBCPU_JACOBI(gesvdj, gesvdjInfo_t)
#undef WBCPU_JACOBI

#undef WBCPU_CALL

/* The names for one element type T, whose real type is R: L is their letter, sy is sy or he */
#define WBCPU_SOLVER(name, ...)                                                          \
    static constexpr auto cusolverDn##name = wbcpu::__VA_ARGS__;
#define WBCPU_NAMES(L, T, R, make_q, apply_q, sy)                                        \
    WBCPU_SOLVER(L##getrf, solver<T, R>::getrf)                                          \
    WBCPU_SOLVER(L##getrf##_bufferSize, solver_size<int, int, T *, int>::of)             \
    WBCPU_SOLVER(L##getrs, solver<T, R>::getrs)                                          \
    WBCPU_SOLVER(L##potrf, solver<T, R>::potrf)                                          \
    WBCPU_SOLVER(                                                                        \
        L##potrf##_bufferSize, solver_size<cublasFillMode_t, int, T *, int>::of)         \
    WBCPU_SOLVER(L##potrs, solver<T, R>::potrs)                                          \
    WBCPU_SOLVER(L##potri, solver<T, R>::potri)                                          \
    WBCPU_SOLVER(                                                                        \
        L##potri##_bufferSize, solver_size<cublasFillMode_t, int, T *, int>::of)         \
    WBCPU_SOLVER(L##potrfBatched, solver<T, R>::potrf_batch)                             \
    WBCPU_SOLVER(L##potrsBatched, solver<T, R>::potrs_batch)                             \
    WBCPU_SOLVER(L##geqrf, solver<T, R>::geqrf)                                          \
    WBCPU_SOLVER(L##geqrf##_bufferSize, solver_size<int, int, T *, int>::of)             \
    WBCPU_SOLVER(L##make_q, solver<T, R>::orgqr)                                         \
    WBCPU_SOLVER(                                                                        \
        L##make_q##_bufferSize,                                                          \
        solver_size<int, int, int, const T *, int, const T *>::of)                       \
    WBCPU_SOLVER(L##apply_q, solver<T, R>::ormqr)                                        \
    WBCPU_SOLVER(                                                                        \
        L##apply_q##_bufferSize, solver_size<                                            \
                                     cublasSideMode_t, cublasOperation_t, int, int, int, \
                                     const T *, int, const T *, const T *, int>::of)     \
    WBCPU_SOLVER(L##sy##evd, solver<T, R>::syevd)                                        \
    WBCPU_SOLVER(                                                                        \
        L##sy##evd##_bufferSize,                                                         \
        solver_size<                                                                     \
            cusolverEigMode_t, cublasFillMode_t, int, const T *, int, const R *>::of)    \
    WBCPU_SOLVER(L##sy##gvd, solver<T, R>::sygvd)                                        \
    WBCPU_SOLVER(                                                                        \
        L##sy##gvd##_bufferSize,                                                         \
        solver_size<                                                                     \
            cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int, const T *, int, \
            const T *, int, const R *>::of)                                              \
    WBCPU_SOLVER(L##sy##evj, solver<T, R>::syevj)                                        \
    WBCPU_SOLVER(                                                                        \
        L##sy##evj##_bufferSize, solver_size<                                            \
                                     cusolverEigMode_t, cublasFillMode_t, int,           \
                                     const T *, int, const R *>::with<syevjInfo>)        \
    WBCPU_SOLVER(L##sy##evjBatched, solver<T, R>::syevj_batch)                           \
    WBCPU_SOLVER(                                                                        \
        L##sy##evjBatched##_bufferSize,                                                  \
        solver_size<                                                                     \
            cusolverEigMode_t, cublasFillMode_t, int, const T *, int,                    \
            const R *>::batch<syevjInfo>)                                                \
    WBCPU_SOLVER(L##gesvd, solver<T, R>::gesvd)                                          \
    WBCPU_SOLVER(L##gesvd##_bufferSize, solver_size<int, int>::of)                       \
    WBCPU_SOLVER(L##gesvdj, solver<T, R>::gesvdj)                                        \
    WBCPU_SOLVER(                                                                        \
        L##gesvdj##_bufferSize,                                                          \
        solver_size<                                                                     \
            cusolverEigMode_t, int, int, int, const T *, int, const R *, const T *, int, \
            const T *, int>::with<gesvdjInfo>)                                           \
    WBCPU_SOLVER(L##gesvdjBatched, solver<T, R>::gesvdj_batch)                           \
    WBCPU_SOLVER(                                                                        \
        L##gesvdjBatched##_bufferSize,                                                   \
        solver_size<                                                                     \
            cusolverEigMode_t, int, int, const T *, int, const R *, const T *, int,      \
            const T *, int>::batch<gesvdjInfo>)
WBCPU_NAMES(S, float, float, orgqr, ormqr, sy)
WBCPU_NAMES(D, double, double, orgqr, ormqr, sy)
WBCPU_NAMES(C, cuComplex, float, ungqr, unmqr, he)
WBCPU_NAMES(Z, cuDoubleComplex, double, ungqr, unmqr, he)
#undef WBCPU_NAMES
#undef WBCPU_SOLVER

#include "wbcpu/solver_generic.h"

#endif
