/* gate_math.cuh - given: the functions of the gates in a few instructions each, for
 * kernels that compute for about as long as they read. They are built on cuda/math.cuh
 * and accurate to a few units in the last place, which the tolerance of rglru.h allows.
 */
#ifndef GATE_MATH_CUH
#define GATE_MATH_CUH
#include "cuda/math.cuh"

// s(x) = 1 / (1 + exp(-x)). For x < -88 exp overflows to inf and s is 0, as it should be.
static __device__ __forceinline__ float sigmoid(float x)
{
    return fast_rcp(1.0f + fast_exp2(-LOG2_E * x));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + e) with e = exp(-|x|). With s = e / (2 + e), at
 * most 1/3, log(1 + e) = 2 atanh(s) = 2 s (1 + s^2 / 3 + ...). The fitted polynomial has
 * an error of 4e-9, and nothing cancels for e near 0. */
static __device__ __forceinline__ float softplus(float x)
{
    float e = fast_exp2(-LOG2_E * fabsf(x));
    float s = e * fast_rcp(2.0f + e), u = s * s;
    float atanh = 0.13982579f + 0.14078890f * u;
    atanh = 0.20012298f + u * atanh;
    atanh = 0.33333161f + u * atanh;
    return fmaxf(x, 0.0f) + 2.0f * s * (1.0f + u * atanh);
}

/* 1 - a^2 for a = 2^x, x <= 0. Near x = 0 the difference would cancel; there it is x
 * times a polynomial fitted on [-1/4, 0], with a relative error of 3e-9. */
static __device__ __forceinline__ float one_minus_square(float x, float a)
{
    float y = -0.042297091f - 0.0085063241f * x;
    y = -0.15384266f + x * y;
    y = -0.44403011f + x * y;
    y = -0.96090597f + x * y;
    y = -1.38629436f + x * y;
    return x > -0.25f ? x * y : 1.0f - a * a;
}

/* gelu(y) = y s(g(y)),  g(y) = 2 sqrt(2/pi) (y + 0.044715 y^3): the tanh form. Where y^3
 * overflows, s is 0 or 1. */
constexpr float GELU_2K = 1.5957691216057308f, GELU_CUBE = 0.044715f;

/* s(g(y)) */
static __device__ __forceinline__ float gelu_sigmoid(float y)
{
    constexpr float K = -LOG2_E * GELU_2K, K3 = K * GELU_CUBE;
    return fast_rcp(1.0f + fast_exp2(y * (K + K3 * y * y)));
}

/* g'(y). The bound acts only where s (1 - s), its factor in gelu', is 0. */
static __device__ __forceinline__ float gelu_inner_slope(float y)
{
    return GELU_2K + 3.0f * GELU_2K * GELU_CUBE * fminf(y * y, 256.0f);
}

static __device__ __forceinline__ float gelu(float y)
{
    return y * gelu_sigmoid(y);
}
#endif
