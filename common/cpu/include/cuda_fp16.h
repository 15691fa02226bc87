/* cuda_fp16.h - __half and __half2 with the toolkit's names. */
#ifndef WBCPU_CUDA_FP16_H
#define WBCPU_CUDA_FP16_H

#include "cuda_runtime.h"
#include "wbcpu/float16.h"

struct __half_raw {
    unsigned short x;
};

struct alignas(2) __half {
    unsigned short __x;

    __half() = default;
    __half(const __half_raw &raw) : __x(raw.x) {}
    __half(float value) : __x(wbcpu::float_to_half(value)) {}
    __half(double value) : __x(wbcpu::encode<5, 10>(value)) {}
    template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
    __half(T value) : __half((double)value)
    {
    }
    operator float() const
    {
        return wbcpu::half_to_float(__x);
    }
    operator __half_raw() const
    {
        return {__x};
    }
    static __half from_bits(unsigned bits)
    {
        return __half_raw{(unsigned short)bits};
    }
};
typedef __half half;
typedef __half __nv_half;

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    __half2(const __half &low, const __half &high) : x(low), y(high) {}
};
typedef __half2 half2;
typedef __half2 __nv_half2;

#define WBCPU_H __half
#define WBCPU_H2 __half2
#include "wbcpu/float16_ops.h"
#undef WBCPU_H
#undef WBCPU_H2

/* --- conversions -------------------------------------------------------------------- */

WBCPU_INLINE __half __float2half(float f)
{
    return __half(f);
}
WBCPU_INLINE __half __float2half_rn(float f)
{
    return __half(f);
}
WBCPU_INLINE __half __double2half(double d)
{
    return __half(d);
}
WBCPU_INLINE float __half2float(__half h)
{
    return h;
}
WBCPU_INLINE unsigned short __half_as_ushort(__half h)
{
    return h.__x;
}
WBCPU_INLINE short __half_as_short(__half h)
{
    return (short)h.__x;
}
WBCPU_INLINE __half __ushort_as_half(unsigned short u)
{
    return __half::from_bits(u);
}
WBCPU_INLINE __half __short_as_half(short s)
{
    return __half::from_bits((unsigned)s);
}

/* rounding modes: _rn to nearest, _rz toward zero, _rd down, _ru up */
WBCPU_INLINE __half wbcpu_round_half(double value, wbcpu::rounding mode)
{
    return __half::from_bits(wbcpu::encode<5, 10>(value, mode));
}
WBCPU_INLINE __half __float2half_rz(float f)
{
    return wbcpu_round_half(f, wbcpu::TOWARD_ZERO);
}
WBCPU_INLINE __half __float2half_rd(float f)
{
    return wbcpu_round_half(f, wbcpu::DOWN);
}
WBCPU_INLINE __half __float2half_ru(float f)
{
    return wbcpu_round_half(f, wbcpu::UP);
}

#define WBCPU_INTEGER_MODE(T, name, suffix, mode)                                        \
    WBCPU_INLINE T __half2##name##_##suffix(__half h)                                    \
    {                                                                                    \
        return wbcpu::to_integer<T>(h, wbcpu::mode);                                     \
    }                                                                                    \
    WBCPU_INLINE __half __##name##2half_##suffix(T i)                                    \
    {                                                                                    \
        return wbcpu_round_half((double)i, wbcpu::mode);                                 \
    }
#define WBCPU_INTEGER(T, name)                                                           \
    WBCPU_INTEGER_MODE(T, name, rn, NEAREST)                                             \
    WBCPU_INTEGER_MODE(T, name, rz, TOWARD_ZERO)                                         \
    WBCPU_INTEGER_MODE(T, name, rd, DOWN)                                                \
    WBCPU_INTEGER_MODE(T, name, ru, UP)
WBCPU_INTEGER(int, int)
WBCPU_INTEGER(unsigned, uint)
WBCPU_INTEGER(short, short)
WBCPU_INTEGER(unsigned short, ushort)
WBCPU_INTEGER(long long, ll)
WBCPU_INTEGER(unsigned long long, ull)
#undef WBCPU_INTEGER
#undef WBCPU_INTEGER_MODE

/* --- pairs: packing and unpacking --------------------------------------------------- */

WBCPU_INLINE __half2 make_half2(__half low, __half high)
{
    return {low, high};
}
WBCPU_INLINE __half2 __halves2half2(__half low, __half high)
{
    return {low, high};
}
WBCPU_INLINE __half2 __half2half2(__half h)
{
    return {h, h};
}
WBCPU_INLINE __half2 __float2half2_rn(float f)
{
    return {__half(f), __half(f)};
}
WBCPU_INLINE __half2 __floats2half2_rn(float low, float high)
{
    return {__half(low), __half(high)};
}
WBCPU_INLINE __half2 __float22half2_rn(float2 f)
{
    return {__half(f.x), __half(f.y)};
}
WBCPU_INLINE float2 __half22float2(__half2 h)
{
    return make_float2(h.x, h.y);
}
WBCPU_INLINE __half __low2half(__half2 h)
{
    return h.x;
}
WBCPU_INLINE __half __high2half(__half2 h)
{
    return h.y;
}
WBCPU_INLINE __half2 __low2half2(__half2 h)
{
    return {h.x, h.x};
}
WBCPU_INLINE __half2 __high2half2(__half2 h)
{
    return {h.y, h.y};
}
WBCPU_INLINE __half2 __lows2half2(__half2 a, __half2 b)
{
    return {a.x, b.x};
}
WBCPU_INLINE __half2 __highs2half2(__half2 a, __half2 b)
{
    return {a.y, b.y};
}

#endif
