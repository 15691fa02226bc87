/* solver_generic.h - the calls of cusolverDn.h with int64_t sizes, whose arguments say the
 * type. They run those of solver_calls.h. */
#ifndef WBCPU_SOLVER_GENERIC_H
#define WBCPU_SOLVER_GENERIC_H

#include "solver_calls.h"

namespace wbcpu
{
/* call(solver<T, R>()) for the matrix's type; the computation has the same. */
template <class Call>
cusolverStatus_t for_type(cudaDataType type, cudaDataType compute, const Call &call)
{
    if (type != compute) return CUSOLVER_STATUS_INVALID_VALUE;
    switch (type) {
    case CUDA_R_32F:
        return call(solver<float, float>());
    case CUDA_R_64F:
        return call(solver<double, double>());
    case CUDA_C_32F:
        return call(solver<cuComplex, float>());
    case CUDA_C_64F:
        return call(solver<cuDoubleComplex, double>());
    default:
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
}
/* Of workspaces, which are not used */
inline cusolverStatus_t smallest(size_t *on_device, size_t *on_host)
{
    *on_device = *on_host = 1;
    return CUSOLVER_STATUS_SUCCESS;
}
}  // namespace wbcpu

#define WBCPU_CALL(name, ...)                                                            \
    static inline cusolverStatus_t cusolverDnX##name(                                    \
        cusolverDnHandle_t h, cusolverDnParams_t, __VA_ARGS__)
/* The buffers' arguments; S and its types in a call for one type */
#define WBCPU_SIZES size_t *on_device, size_t *on_host
#define WBCPU_BUFFERS void *, size_t, void *, size_t
#define WBCPU_FOR(type, compute, ...)                                                    \
    return wbcpu::for_type(type, compute, [=](auto s) {                                  \
        typedef decltype(s) S;                                                           \
        typedef typename S::element T;                                                   \
        typedef typename S::real R;                                                      \
        (void)sizeof(R);                                                                 \
        return __VA_ARGS__;                                                              \
    })

WBCPU_CALL(
    getrf_bufferSize, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType,
    WBCPU_SIZES)
{
    return h ? wbcpu::smallest(on_device, on_host) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
WBCPU_CALL(
    getrf, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda, int64_t *pivots,
    cudaDataType compute, WBCPU_BUFFERS, int *info)
{
    WBCPU_FOR(type, compute, S::lu(h, m, n, (T *)a, lda, pivots, info));
}
WBCPU_CALL(
    getrs, cublasOperation_t op, int64_t n, int64_t count, cudaDataType type,
    const void *a, int64_t lda, const int64_t *pivots, cudaDataType type_of_b, void *b,
    int64_t ldb, int *info)
{
    WBCPU_FOR(
        type, type_of_b,
        S::after_lu(h, op, n, count, (const T *)a, lda, pivots, (T *)b, ldb, info));
}
WBCPU_CALL(
    potrf_bufferSize, cublasFillMode_t, int64_t, cudaDataType, const void *, int64_t,
    cudaDataType, WBCPU_SIZES)
{
    return h ? wbcpu::smallest(on_device, on_host) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
WBCPU_CALL(
    potrf, cublasFillMode_t fill, int64_t n, cudaDataType type, void *a, int64_t lda,
    cudaDataType compute, WBCPU_BUFFERS, int *info)
{
    WBCPU_FOR(type, compute, S::potrf(h, fill, n, (T *)a, lda, nullptr, 0, info));
}
WBCPU_CALL(
    potrs, cublasFillMode_t fill, int64_t n, int64_t count, cudaDataType type,
    const void *a, int64_t lda, cudaDataType type_of_b, void *b, int64_t ldb, int *info)
{
    WBCPU_FOR(
        type, type_of_b,
        S::potrs(h, fill, n, count, (const T *)a, lda, (T *)b, ldb, info));
}
WBCPU_CALL(
    geqrf_bufferSize, int64_t, int64_t, cudaDataType, const void *, int64_t, cudaDataType,
    const void *, cudaDataType, WBCPU_SIZES)
{
    return h ? wbcpu::smallest(on_device, on_host) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
WBCPU_CALL(
    geqrf, int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda, cudaDataType,
    void *tau, cudaDataType compute, WBCPU_BUFFERS, int *info)
{
    WBCPU_FOR(type, compute, S::geqrf(h, m, n, (T *)a, lda, (T *)tau, nullptr, 0, info));
}
WBCPU_CALL(
    syevd_bufferSize, cusolverEigMode_t, cublasFillMode_t, int64_t, cudaDataType,
    const void *, int64_t, cudaDataType, const void *, cudaDataType, WBCPU_SIZES)
{
    return h ? wbcpu::smallest(on_device, on_host) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
WBCPU_CALL(
    syevd, cusolverEigMode_t mode, cublasFillMode_t fill, int64_t n, cudaDataType type,
    void *a, int64_t lda, cudaDataType, void *w, cudaDataType compute, WBCPU_BUFFERS,
    int *info)
{
    WBCPU_FOR(
        type, compute, S::syevd(h, mode, fill, n, (T *)a, lda, (R *)w, nullptr, 0, info));
}
WBCPU_CALL(
    gesvd_bufferSize, signed char, signed char, int64_t, int64_t, cudaDataType,
    const void *, int64_t, cudaDataType, const void *, cudaDataType, const void *,
    int64_t, cudaDataType, const void *, int64_t, cudaDataType, WBCPU_SIZES)
{
    return h ? wbcpu::smallest(on_device, on_host) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
WBCPU_CALL(
    gesvd, signed char jobu, signed char jobvt, int64_t m, int64_t n, cudaDataType type,
    void *a, int64_t lda, cudaDataType, void *s_values, cudaDataType, void *u,
    int64_t ldu, cudaDataType, void *vt, int64_t ldvt, cudaDataType compute,
    WBCPU_BUFFERS, int *info)
{
    WBCPU_FOR(
        type, compute,
        S::gesvd(
            h, jobu, jobvt, m, n, (T *)a, lda, (R *)s_values, (T *)u, ldu, (T *)vt, ldvt,
            nullptr, 0, nullptr, info));
}
#undef WBCPU_CALL
#undef WBCPU_SIZES
#undef WBCPU_BUFFERS
#undef WBCPU_FOR

#endif
