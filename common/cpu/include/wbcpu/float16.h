/* float16.h - conversions of the two 16-bit floats, as bits.
 *
 *               sign  exponent  mantissa   largest   spacing at 1
 *     half        1       5        10       65504       2^-10
 *     bfloat16    1       8         7       3.4e38      2^-7
 *
 * Every conversion rounds once, to nearest even unless a mode is given. NaN becomes
 * 0x7fff, as on the device. Where speed matters the code has no branches, so that loops
 * vectorize.
 */
#ifndef WBCPU_FLOAT16_H
#define WBCPU_FLOAT16_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace wbcpu
{

template <class To, class From> inline To bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast: sizes differ");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

enum rounding { NEAREST, TOWARD_ZERO, DOWN, UP };

/* Any rounding mode, any value: slow and simple. */
template <int EXPONENT, int MANTISSA>
inline uint16_t encode(double value, rounding mode = NEAREST)
{
    const int bias = (1 << (EXPONENT - 1)) - 1, smallest = 1 - bias;
    const uint64_t infinity = (uint64_t)((1 << EXPONENT) - 1) << MANTISSA;
    if (value != value) return 0x7fff;
    uint64_t bits = bit_cast<uint64_t>(value) & ~(1ull << 63);
    bool negative = bit_cast<uint64_t>(value) >> 63;
    uint16_t sign = negative ? 0x8000 : 0;
    if (bits == 0x7ffull << 52) return sign | infinity;

    int exponent = (int)(bits >> 52) - 1023;
    uint64_t mantissa = bits & ((1ull << 52) - 1);
    if (exponent > -1023) mantissa |= 1ull << 52;
    int drop = 52 - MANTISSA;  // bits that do not fit; more in a subnormal
    if (exponent < smallest) drop += smallest - exponent;
    if (drop > 63) drop = 63;
    uint64_t kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1);
    uint64_t tie = 1ull << (drop - 1);
    bool away = mode == NEAREST ? rest > tie || (rest == tie && (kept & 1))
                : mode == UP    ? rest && !negative
                : mode == DOWN  ? rest && negative
                                : false;
    kept += away;
    // the leading 1 of `kept` adds one to the exponent field
    if (exponent >= smallest) kept += (uint64_t)(exponent - smallest) << MANTISSA;
    if (kept >= infinity) {
        bool stays_finite = mode == TOWARD_ZERO || (mode == UP && negative) ||
                            (mode == DOWN && !negative);
        kept = stays_finite ? infinity - 1 : infinity;
    }
    return sign | (uint16_t)kept;
}

/* --- half, in software -------------------------------------------------------------- */

inline float half_to_float_soft(uint16_t half)
{
    // the smallest normal number is 2^-14 in half and 2^-126 in float
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t bits = bit_cast<uint32_t>(bit_cast<float>(magnitude) * 0x1p112f);
    bits |= magnitude >= 0x7c00u << 13 ? 0x7f800000u : 0;  // Inf and NaN
    return bit_cast<float>(bits | (uint32_t)(half & 0x8000) << 16);
}

inline uint16_t float_to_half_soft(float value)
{
    uint32_t bits = bit_cast<uint32_t>(value);
    uint32_t magnitude = bits & 0x7fffffff;
    // half an ulp less one, plus the last kept bit: ties to even
    uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    // in [0.5, 1) floats have the spacing of subnormal halves, 2^-24
    float shifted = bit_cast<float>(magnitude) + 0.5f;
    uint32_t subnormal = bit_cast<uint32_t>(shifted) - bit_cast<uint32_t>(0.5f);
    uint32_t half = magnitude < 0x38800000 ? subnormal : normal;  // 2^-14
    half = magnitude >= 0x477ff000 ? 0x7c00 : half;  // 65520: halfway to 2^16
    half |= bits >> 16 & 0x8000;
    return (uint16_t)(magnitude > 0x7f800000 ? 0x7fff : half);
}

/* --- half, one value: one instruction where the CPU has it -------------------------- */

#if defined(__aarch64__) || (defined(__F16C__) && defined(__clang__))
inline float half_to_float(uint16_t half)
{
    __fp16 h;  // cannot be passed or returned
    __builtin_memcpy(&h, &half, sizeof h);
    return (float)h;
}
inline uint16_t float_to_half(float value)
{
    __fp16 h = (__fp16)value;
    uint16_t half;
    __builtin_memcpy(&half, &h, sizeof half);
    return value != value ? 0x7fff : half;
}
#elif defined(__F16C__)
typedef short eight_halves __attribute__((vector_size(16)));
typedef float four_floats __attribute__((vector_size(16)));
inline float half_to_float(uint16_t half)
{
    return __builtin_ia32_vcvtph2ps(eight_halves{(short)half})[0];
}
inline uint16_t float_to_half(float value)
{
    if (value != value) return 0x7fff;
    return (uint16_t)__builtin_ia32_vcvtps2ph(four_floats{value}, 0)[0];
}
#else
inline float half_to_float(uint16_t half)
{
    return half_to_float_soft(half);
}
inline uint16_t float_to_half(float value)
{
    return float_to_half_soft(value);
}
#endif

/* --- bfloat16: the upper half of a float -------------------------------------------- */

inline float bfloat16_to_float(uint16_t value)
{
    return bit_cast<float>((uint32_t)value << 16);
}

inline uint16_t float_to_bfloat16(float value)
{
    uint32_t bits = bit_cast<uint32_t>(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
}

/* --- fma with a single rounding ----------------------------------------------------- */

/* a*b + c for 16-bit operands, rounded to odd: the last bit is 1 if the result is
 * inexact, so that the following rounding to 16 bits does not mistake it for a tie. */
inline double fma_to_odd(float a, float b, float c)
{
    double product = (double)a * b;  // exact: 22 bits at most
    double sum = product + c;
    double of_c = sum - product;
    double lost = (product - (sum - of_c)) + (c - of_c);
    int64_t bits = bit_cast<int64_t>(sum);
    if (lost != 0 && std::isfinite(sum) && !(bits & 1))
        bits += (lost > 0) == (sum > 0) ? 1 : -1;
    return bit_cast<double>(bits);
}

/* Float to integer as on the device: NaN becomes 0, values out of range are clamped. */
template <class Integer> inline Integer to_integer(double value, rounding mode)
{
    typedef std::numeric_limits<Integer> limits;
    double whole = mode == NEAREST ? std::nearbyint(value)
                   : mode == UP    ? std::ceil(value)
                   : mode == DOWN  ? std::floor(value)
                                   : std::trunc(value);
    if (whole != whole) return 0;
    if (whole <= (double)limits::min()) return limits::min();
    if (whole >= (double)limits::max()) return limits::max();
    return (Integer)whole;
}

}  // namespace wbcpu
#endif
