/* cuda_bf16.h - __nv_bfloat16 and __nv_bfloat162 with the toolkit's names. */
#ifndef WBCPU_CUDA_BF16_H
#define WBCPU_CUDA_BF16_H

#include "cuda_runtime.h"
#include "wbcpu/float16.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct alignas(2) __nv_bfloat16 {
    unsigned short __x;

    __nv_bfloat16() = default;
    __nv_bfloat16(const __nv_bfloat16_raw &raw) : __x(raw.x) {}
    __nv_bfloat16(float value) : __x(wbcpu::float_to_bfloat16(value)) {}
    __nv_bfloat16(double value) : __x(wbcpu::encode<8, 7>(value)) {}
    template <class T, class = std::enable_if_t<std::is_integral<T>::value>>
    __nv_bfloat16(T value) : __nv_bfloat16((double)value)
    {
    }
    operator float() const
    {
        return wbcpu::bfloat16_to_float(__x);
    }
    operator __nv_bfloat16_raw() const
    {
        return {__x};
    }
    static __nv_bfloat16 from_bits(unsigned bits)
    {
        return __nv_bfloat16_raw{(unsigned short)bits};
    }
};
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __nv_bfloat162(const __nv_bfloat16 &low, const __nv_bfloat16 &high) : x(low), y(high)
    {
    }
};
typedef __nv_bfloat162 nv_bfloat162;

#define WBCPU_H __nv_bfloat16
#define WBCPU_H2 __nv_bfloat162
#include "wbcpu/float16_ops.h"
#undef WBCPU_H
#undef WBCPU_H2

/* --- conversions -------------------------------------------------------------------- */

WBCPU_INLINE __nv_bfloat16 __float2bfloat16(float f)
{
    return __nv_bfloat16(f);
}
WBCPU_INLINE __nv_bfloat16 __float2bfloat16_rn(float f)
{
    return __nv_bfloat16(f);
}
WBCPU_INLINE __nv_bfloat16 __double2bfloat16(double d)
{
    return __nv_bfloat16(d);
}
WBCPU_INLINE float __bfloat162float(__nv_bfloat16 h)
{
    return h;
}
WBCPU_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 h)
{
    return h.__x;
}
WBCPU_INLINE short __bfloat16_as_short(__nv_bfloat16 h)
{
    return (short)h.__x;
}
WBCPU_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short u)
{
    return __nv_bfloat16::from_bits(u);
}
WBCPU_INLINE __nv_bfloat16 __short_as_bfloat16(short s)
{
    return __nv_bfloat16::from_bits((unsigned)s);
}

/* rounding modes: _rn to nearest, _rz toward zero, _rd down, _ru up */
WBCPU_INLINE __nv_bfloat16 wbcpu_round_bfloat16(double value, wbcpu::rounding mode)
{
    return __nv_bfloat16::from_bits(wbcpu::encode<8, 7>(value, mode));
}
WBCPU_INLINE __nv_bfloat16 __float2bfloat16_rz(float f)
{
    return wbcpu_round_bfloat16(f, wbcpu::TOWARD_ZERO);
}
WBCPU_INLINE __nv_bfloat16 __float2bfloat16_rd(float f)
{
    return wbcpu_round_bfloat16(f, wbcpu::DOWN);
}
WBCPU_INLINE __nv_bfloat16 __float2bfloat16_ru(float f)
{
    return wbcpu_round_bfloat16(f, wbcpu::UP);
}

#define WBCPU_INTEGER_MODE(T, name, suffix, mode)                                        \
    WBCPU_INLINE T __bfloat162##name##_##suffix(__nv_bfloat16 h)                         \
    {                                                                                    \
        return wbcpu::to_integer<T>(h, wbcpu::mode);                                     \
    }                                                                                    \
    WBCPU_INLINE __nv_bfloat16 __##name##2bfloat16_##suffix(T i)                         \
    {                                                                                    \
        return wbcpu_round_bfloat16((double)i, wbcpu::mode);                             \
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

WBCPU_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return {low, high};
}
WBCPU_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return {low, high};
}
WBCPU_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 h)
{
    return {h, h};
}
WBCPU_INLINE __nv_bfloat162 __float2bfloat162_rn(float f)
{
    return {__nv_bfloat16(f), __nv_bfloat16(f)};
}
WBCPU_INLINE __nv_bfloat162 __floats2bfloat162_rn(float low, float high)
{
    return {__nv_bfloat16(low), __nv_bfloat16(high)};
}
WBCPU_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 f)
{
    return __floats2bfloat162_rn(f.x, f.y);
}
WBCPU_INLINE float2 __bfloat1622float2(__nv_bfloat162 h)
{
    return make_float2(h.x, h.y);
}
WBCPU_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 h)
{
    return h.x;
}
WBCPU_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 h)
{
    return h.y;
}
WBCPU_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 h)
{
    return {h.x, h.x};
}
WBCPU_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 h)
{
    return {h.y, h.y};
}
WBCPU_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {a.x, b.x};
}
WBCPU_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b)
{
    return {a.y, b.y};
}

#endif
