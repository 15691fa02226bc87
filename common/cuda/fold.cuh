/* fold.cuh - the sum or the maximum of an array in a thread's registers.
 *
 *     add_all(sum, x)       sum + x[0] + x[1] + ...
 *     add_squares(sum, x)   sum + x[0]^2 + x[1]^2 + ...
 *     max_all(m, x)         the largest of m and x; may ignore a NaN
 *
 * On a GPU one element after another. On the CPU back end, where N is a power of two, the
 * upper half of the array is folded onto the lower half until one element is left: the
 * compiler computes several elements at a time, but does not change an order itself.
 */
#ifndef CUDA_FOLD_CUH
#define CUDA_FOLD_CUH
#include "vec.cuh"

#if defined(__CUDACPU__) && !defined(WBCPU_CHECKED)  // check mode computes as a GPU does
#define IN_HALVES
static __device__ __forceinline__ float sum_in_halves(const float (&x)[1])
{
    return x[0];
}
static __device__ __forceinline__ float max_in_halves(const float (&x)[1])
{
    return x[0];
}
template <int N>
static __device__ __forceinline__ float sum_in_halves(const float (&x)[N])
{
    float y[N / 2];
    for (int i = 0; i < N / 2; i++)
        y[i] = x[i] + x[i + N / 2];
    return sum_in_halves(y);
}
template <int N>
static __device__ __forceinline__ float max_in_halves(const float (&x)[N])
{
    float y[N / 2];
    for (int i = 0; i < N / 2; i++)
        y[i] = x[i] > x[i + N / 2] ? x[i] : x[i + N / 2];
    return max_in_halves(y);
}
#endif

template <int N>
static __device__ __forceinline__ float add_all(float sum, const float (&x)[N])
{
#ifdef IN_HALVES
    return sum + sum_in_halves(x);
#else
#pragma unroll
    for (int i = 0; i < N; i++)
        sum += x[i];
    return sum;
#endif
}

template <int N>
static __device__ __forceinline__ float max_all(float m, const float (&x)[N])
{
#ifdef IN_HALVES
    return fmaxf(m, max_in_halves(x));
#else
#pragma unroll
    for (int i = 0; i < N; i++)
        m = fmaxf(m, x[i]);
    return m;
#endif
}

template <int N>
static __device__ __forceinline__ float add_squares(float sum, const float (&x)[N])
{
#ifdef IN_HALVES
    float y[N];
    for (int i = 0; i < N; i++)
        y[i] = x[i] * x[i];
    return sum + sum_in_halves(y);
#else
#pragma unroll
    for (int i = 0; i < N; i++)
        sum += x[i] * x[i];
    return sum;
#endif
}
#undef IN_HALVES

#endif
