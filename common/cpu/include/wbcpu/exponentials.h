/* exponentials.h - expf, exp2f, expm1f, tanhf and logf without branches, tables and calls.
 *
 * A kernel calls them once per element. The compiler inlines these and computes several
 * elements at a time in vector registers, which it cannot do with a call of libm. The
 * largest errors are 1.0, 1.2, 1.5, 2.3 and 0.8 units in the last place. Infinities, NaN and
 * signs of zero are those of libm.
 *
 * With n the integer nearest to x log2(e),  exp(x) = 2^n exp(r),  |r| <= ln(2) / 2. The
 * polynomials are fitted for the smallest relative error: 3e-9, 2e-9 and, for logf, 1e-9.
 */
#ifndef WBCPU_EXPONENTIALS_H
#define WBCPU_EXPONENTIALS_H

#include "qualifiers.h"

#include <math.h>

namespace wbcpu
{
WBCPU_INLINE float float_of_bits(unsigned bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
WBCPU_INLINE unsigned bits_of_float(float x)
{
    unsigned bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Adding it moves the integer part of a small number into the lowest bits. */
constexpr float ROUNDER = 12582912.0f;  // 1.5 * 2^23

/* x 2^n, in two steps because 2^n may not be a normal number; rounder = ROUNDER + n */
WBCPU_INLINE float scale_by_power(float x, float rounder)
{
    int n = (int)(bits_of_float(rounder) - bits_of_float(ROUNDER)), half = n >> 1;
    return x * float_of_bits((unsigned)(half + 127) << 23) *
           float_of_bits((unsigned)(n - half + 127) << 23);
}

/* Both bounds let a NaN pass. */
WBCPU_INLINE float between(float least, float x, float most)
{
    x = x < least ? least : x;
    return x > most ? most : x;
}

/* exp(r) - 1 with x = n ln(2) + r. ln(2) is in two parts; n times the first is exact. */
WBCPU_INLINE float reduced_expm1(float x, float &rounder)
{
    rounder = x * 1.44269504f + ROUNDER;
    float n = rounder - ROUNDER, r = x - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.3814594e-3f;
    p = p * r + 8.3687174e-3f;
    p = p * r + 4.1668388e-2f;
    p = p * r + 1.6666521e-1f;
    p = p * r + 4.9999993e-1f;
    return p * (r * r) + r;
}

WBCPU_INLINE float fast_expf(float x)
{
    float rounder, e = reduced_expm1(between(-104.0f, x, 89.0f), rounder);
    return scale_by_power(e + 1.0f, rounder);
}

WBCPU_INLINE float fast_exp2f(float x)
{
    x = between(-151.0f, x, 129.0f);
    float rounder = x + ROUNDER, r = x - (rounder - ROUNDER);
    float p = 1.5353357e-4f;
    p = p * r + 1.3398878e-3f;
    p = p * r + 9.6184374e-3f;
    p = p * r + 5.5503325e-2f;
    p = p * r + 2.4022648e-1f;
    p = p * r + 6.9314720e-1f;
    return scale_by_power(p * r + 1.0f, rounder);
}

/* 2^(n-1), a normal number for -126 < n < 129 */
WBCPU_INLINE float half_power(float rounder)
{
    return float_of_bits((bits_of_float(rounder) - bits_of_float(ROUNDER) + 126) << 23);
}

WBCPU_INLINE float fast_expm1f(float x)
{
    float rounder, e = reduced_expm1(between(-40.0f, x, 89.0f), rounder);
    float half = half_power(rounder), result = 2.0f * (half * e + (half - 0.5f));
    return x == 0.0f ? x : result;  // -0
}

/* With e = exp(-2|x|) this is (1 - e) / (1 + e). For larger x, 1 - 2e / (1 + e) loses
 * fewer bits. */
WBCPU_INLINE float fast_tanhf(float x)
{
    float y = -2.0f * fabsf(x), rounder,
          r = reduced_expm1(between(-40.0f, y, 0.0f), rounder);
    float half = half_power(rounder), e = 2.0f * (half * r + half);
    float one_minus_e = -2.0f * (half * r + (half - 0.5f));
    bool large = y < -1.1f;
    float quotient = (large ? 2.0f * e : one_minus_e) / (1.0f + e);
    return copysignf(large ? 1.0f - quotient : quotient, x);
}

/* With x = 2^n (1 + f), 1 + f from sqrt(1/2) to sqrt(2):  n log(2) + log(1 + f).  The
 * polynomial is (log(1 + f) - f + f^2 / 2) / f^3. */
WBCPU_INLINE float fast_logf(float x)
{
    const unsigned root = 0x3f3504f3;  // the bits of sqrt(1/2)
    bool subnormal = x < 1.17549435e-38f;
    unsigned bits = bits_of_float(subnormal ? x * 8388608.0f : x) - root;
    float n = (float)(((int)bits >> 23) - (subnormal ? 23 : 0));
    float f = float_of_bits((bits & 0x7fffffu) + root) - 1.0f, ff = f * f;
    float p = 6.746640801429749e-2f;
    p = p * f - 1.1675652116537094e-1f;
    p = p * f + 1.1888162046670914e-1f;
    p = p * f - 1.240558922290802e-1f;
    p = p * f + 1.4219552278518677e-1f;
    p = p * f - 1.666799634695053e-1f;
    p = p * f + 2.000211924314499e-1f;
    p = p * f - 2.5000008940696716e-1f;
    p = p * f + 3.333331346511841e-1f;
    float rest = p * (f * ff) + n * -2.12194440e-4f;
    float result = n * 0.693359375f + (f + (rest - 0.5f * ff));
    float special = x == 0.0f ? -HUGE_VALF : x < 0.0f ? __builtin_nanf("") : x;
    return x > 0.0f && x < HUGE_VALF ? result : special;
}
}  // namespace wbcpu

/* As extern inline definitions they leave libm's functions in place for calls that are
 * not inlined. */
extern "C" {
#define WBCPU_REPLACE(name)                                                              \
    extern inline __attribute__((always_inline, gnu_inline)) float name(                 \
        float x) noexcept                                                                \
    {                                                                                    \
        return wbcpu::fast_##name(x);                                                    \
    }
WBCPU_REPLACE(expf)
WBCPU_REPLACE(exp2f)
WBCPU_REPLACE(expm1f)
WBCPU_REPLACE(tanhf)
WBCPU_REPLACE(logf)
#undef WBCPU_REPLACE
}

#endif
