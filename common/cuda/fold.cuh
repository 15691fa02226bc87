/* fold.cuh - sums and maxima of arrays in a thread's registers, and a sum over memory.
 *
 *     add_all(sum, x)       sum + x[0] + x[1] + ...
 *     add_squares(sum, x)   sum + x[0]^2 + x[1]^2 + ...
 *     max_all(m, x)         the largest of m and x; may ignore a NaN
 *     add_rows(sum, x, y, ld)   sum[j] += x[0] y[j] + x[1] y[ld + j] + x[2] y[2 ld + j] ...
 *
 * On a GPU one element after another. On the CPU back end, where N is a power of two, the
 * upper half of the array is folded onto the lower half until one element is left: the
 * compiler computes several elements at a time, but does not change an order itself. For
 * the same reason add_rows has several sums there: one would wait for its last addition.
 *
 *     sum_column(p, first, step, rows, ld)   p[first ld] + p[(first + step) ld] + ...
 *
 * This one adds in order on both, so equal inputs give equal bits.
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

/* Four vectors of sums: those of the rows k, k + CHAINS, ... */
template <int K, int N>
static __device__ __forceinline__ void
add_in_chains(float (&sum)[N], const float (&x)[K], const float *y, int ld)
{
    typedef float run __attribute__((vector_size(64), aligned(4), may_alias));
    constexpr int LANES = 16, V = N / LANES, CHAINS = V < 4 ? 4 / V : 1;
    run part[CHAINS][V] = {};
#pragma GCC unroll 32
    for (int k = 0; k < K; k++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++)
            part[k % CHAINS][v] += x[k] * *(const run *)(y + k * ld + v * LANES);
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) {
        run *to = (run *)(sum + v * LANES);
        for (int c = 1; c < CHAINS; c++)
            part[0][v] += part[c][v];
        *to += part[0][v];
    }
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

template <int K, int N>
static __device__ __forceinline__ void
add_rows(float (&sum)[N], const float (&x)[K], const float *y, int ld)
{
#ifdef IN_HALVES
    if constexpr (N % 16 == 0 && N <= 64) {
        add_in_chains(sum, x, y, ld);
        return;
    }
#endif
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j] += x[k] * y[k * ld + j];
}
#undef IN_HALVES

/* A column of a float matrix in device memory, rows ld apart: those below `rows`. Eight
 * loads are in flight together; a loop with a rest would load the rest one by one. */
static __device__ __forceinline__ float
sum_column(const float *p, int first, unsigned step, int rows, size_t ld)
{
    constexpr int TOGETHER = 8;
    float sum = 0.0f;
    for (; first < rows; first += TOGETHER * step) {
        float x[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) {
            int row = first + k * step;
            x[k] = row < rows ? p[row * ld] : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++)
            sum += x[k];
    }
    return sum;
}

#endif
