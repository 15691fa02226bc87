/* fast_math.cuh - given: functions of a few instructions each, for kernels that compute about
 * as long as they read.
 *
 * A multiprocessor starts 128 additions a clock, but 16 exponentials, roots or reciprocals.
 * These are single such instructions, good to a few units in the last place, which the
 * tolerance of rglru.h allows; results below 2^-126 become 0.
 */
#ifndef FAST_MATH_CUH
#define FAST_MATH_CUH
#include "wb.h"

#ifdef __CUDACPU__
static __device__ __forceinline__ float fast_exp2(float x)
{
    return exp2f(x);
}
static __device__ __forceinline__ float fast_reciprocal(float x)
{
    return 1.0f / x;
}
static __device__ __forceinline__ float fast_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}
static __device__ __forceinline__ float fast_sqrt(float x)
{
    return sqrtf(x);
}
#else
static __device__ __forceinline__ float fast_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float fast_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float fast_rsqrt(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static __device__ __forceinline__ float fast_sqrt(float x)
{
    float y;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif

constexpr float LOG2_E = 1.4426950408889634f;

// s(x) = 1 / (1 + exp(-x)): exp overflows to inf for x < -88, and s to 0, as it should
static __device__ __forceinline__ float logistic(float x)
{
    return fast_reciprocal(1.0f + fast_exp2(-LOG2_E * x));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + e), e = exp(-|x|); with s = e / (2 + e), at most
 * 1/3, the logarithm is 2 atanh(s) = 2 s (1 + s^2 / 3 + ...): the polynomial, fitted, is off
 * by 4e-9. Nothing cancels for e near 0. */
static __device__ __forceinline__ float softplus(float x)
{
    float e = fast_exp2(-LOG2_E * fabsf(x));
    float s = e * fast_reciprocal(2.0f + e), u = s * s;
    float atanh = 0.13982579f + 0.14078890f * u;
    atanh = 0.20012298f + u * atanh;
    atanh = 0.33333161f + u * atanh;
    return fmaxf(x, 0.0f) + 2.0f * s * (1.0f + u * atanh);
}

/* 1 - 4^x for x <= 0, with p = 2^x. Near 0, where the difference would cancel, x times a
 * polynomial fitted on [-1/4, 0]: off by 3e-9, relatively. */
static __device__ __forceinline__ float one_minus_square(float x, float p)
{
    float y = -0.042297091f - 0.0085063241f * x;
    y = -0.15384266f + x * y;
    y = -0.44403011f + x * y;
    y = -0.96090597f + x * y;
    y = -1.38629436f + x * y;
    return x > -0.25f ? x * y : 1.0f - p * p;
}

/* gelu(y) = y s(2 sqrt(2/pi) (y + 0.044715 y^3)), the tanh form. Where y^3 overflows, s is 0
 * or 1. */
constexpr float GELU_2K = 1.5957691216057308f, GELU_CUBE = 0.044715f;

static __device__ __forceinline__ float gelu_logistic(float y)
{
    constexpr float K = -LOG2_E * GELU_2K, K3 = K * GELU_CUBE;
    return fast_reciprocal(1.0f + fast_exp2(y * (K + K3 * y * y)));
}

/* d/dy of the inside, bounded where it does not matter: there s (1 - s) is 0 */
static __device__ __forceinline__ float gelu_inside_slope(float y)
{
    return GELU_2K + 3.0f * GELU_2K * GELU_CUBE * fminf(y * y, 256.0f);
}

static __device__ __forceinline__ float gelu(float y)
{
    return y * gelu_logistic(y);
}
#endif
