/* blas_mixed.cpp - cuBLAS level 1 of a cudaDataType: half, bfloat16, float or double, the
 * same for all vectors. Computed in double here. */
#include "blas_views.h"

/* cuBLAS has these types. It computes double in double, and the others in float. */
static bool is_known(cudaDataType type, cudaDataType execution)
{
    if (type == CUDA_R_64F) return execution == CUDA_R_64F;
    return execution == CUDA_R_32F &&
           (type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F);
}

/* A vector of any of these types; a scalar is a vector of one. */
struct any_vector {
    char *p;
    cudaDataType type;
    long step; /* bytes */

    any_vector(const void *x, cudaDataType t, int n = 1, int inc = 1) : type(t)
    {
        step = inc * (long)size();
        p = (char *)const_cast<void *>(x) + (inc < 0 ? (1 - n) * step : 0);
    }
    size_t size() const
    {
        return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
    }
    double get(long i = 0) const
    {
        wbcpu::check::library_touches(p + i * step, size(), false);
        if (type == CUDA_R_64F) return *(double *)(p + i * step);
        float x;
        wbcpu_widen(&x, p + i * step, type, 1);
        return x;
    }
    void set(long i, double x) const
    {
        float narrow = (float)x;
        wbcpu::check::library_touches(p + i * step, size(), true);
        if (type == CUDA_R_64F)
            *(double *)(p + i * step) = x;
        else
            wbcpu_narrow(p + i * step, &narrow, type, 1);
    }
};

extern "C" {
cublasStatus_t cublasDotEx(
    H, int n, const void *x, cudaDataType xtype, int incx, const void *y,
    cudaDataType ytype, int incy, void *result, cudaDataType rtype,
    cudaDataType execution)
{
    if (!is_known(xtype, execution) || ytype != xtype || rtype != xtype)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    RESULT(any_vector a(x, xtype, n, incx), b(y, ytype, n, incy); double sum = 0;
        LOOP sum += a.get(i) * b.get(i); any_vector(result, rtype).set(0, sum););
}
cublasStatus_t cublasNrm2Ex(
    H, int n, const void *x, cudaDataType xtype, int incx, void *result,
    cudaDataType rtype, cudaDataType execution)
{
    if (!is_known(xtype, execution) || rtype != xtype) return CUBLAS_STATUS_NOT_SUPPORTED;
    RESULT(any_vector a(x, xtype, n, incx); double most = 0, sum = 0;
        LOOP most = std::max(most, std::abs(a.get(i)));
        LOOP sum += most == 0 ? 0 : std::pow(a.get(i) / most, 2);
        any_vector(result, rtype).set(0, most * std::sqrt(sum)););
}
cublasStatus_t cublasAxpyEx(
    H, int n, const void *alpha, cudaDataType atype, const void *x, cudaDataType xtype,
    int incx, void *y, cudaDataType ytype, int incy, cudaDataType execution)
{
    if (!is_known(xtype, execution) || ytype != xtype || atype != execution)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    RUN(any_vector a(x, xtype, n, incx), b(y, ytype, n, incy);
        double by = any_vector(alpha, atype).get();
        LOOP b.set(i, b.get(i) + by * a.get(i)););
}
cublasStatus_t cublasScalEx(
    H, int n, const void *alpha, cudaDataType atype, void *x, cudaDataType xtype,
    int incx, cudaDataType execution)
{
    if (!is_known(xtype, execution) || atype != execution)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    RUN(any_vector a(x, xtype, n, incx); double by = any_vector(alpha, atype).get();
        LOOP a.set(i, by * a.get(i)););
}
}
