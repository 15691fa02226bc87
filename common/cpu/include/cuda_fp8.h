/* cuda_fp8.h - the two 8-bit floats, with the toolkit's names.
 *
 *             sign  exponent  mantissa   largest   infinity   NaN
 *     E4M3      1       4         3        448       no       0x7f
 *     E5M2      1       5         2       57344      0x7c     0x7f
 *
 * Conversions to fp8 round once, to nearest even. Values above the largest become the
 * largest (__NV_SATFINITE), or infinity in E5M2 and NaN in E4M3 (__NV_NOSAT). The classes
 * saturate. NaN loses its sign.
 */
#ifndef WBCPU_CUDA_FP8_H
#define WBCPU_CUDA_FP8_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

struct __half2_raw {
    unsigned short x, y;
};
struct __nv_bfloat162_raw {
    unsigned short x, y;
};

/* --- one value ---------------------------------------------------------------------- */

static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(
    const double value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    const int mantissa = type == __NV_E4M3 ? 3 : 2,
              smallest = type == __NV_E4M3 ? -6 : -14;
    const int largest = type == __NV_E4M3 ? 0x7e : 0x7b;
    if (value != value) return 0x7f;
    const int sign = std::signbit(value) ? 0x80 : 0, beyond = largest + 1;
    int code = beyond;
    if (std::fabs(value) < 1e5) {
        int exponent = (int)(wbcpu_bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
        if (exponent < smallest) exponent = smallest;
        const double scale =  // 2^(mantissa - exponent), without a call of ldexp
            wbcpu_bit_cast<double>((uint64_t)(1023 + mantissa - exponent) << 52);
        // its leading 1 adds one to the exponent field
        code = (int)std::nearbyint(std::fabs(value) * scale) +
               ((exponent - smallest) << mantissa);
    }
    if (code > largest) code = saturate == __NV_SATFINITE ? largest : beyond;
    return (__nv_fp8_storage_t)(sign | code);
}

static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(
    const float value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8(value, saturate, type);
}
static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(
    const __half_raw value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8((float)__half(value), saturate, type);
}
static inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(
    const __nv_bfloat16_raw value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double_to_fp8((float)__nv_bfloat16(value), saturate, type);
}

/* Exact: a half has more bits of both. */
static inline __half_raw __nv_cvt_fp8_to_halfraw(
    const __nv_fp8_storage_t code, const __nv_fp8_interpretation_t type)
{
    const bool nan = (code & 0x7f) > (type == __NV_E4M3 ? 0x7e : 0x7c);
    if (nan) return {0x7fff};
    if (type == __NV_E5M2) return {(unsigned short)(code << 8)};
    static constexpr unsigned short subnormal[8] =  // 0, 1, ... 7 times 2^-9
        {0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300};
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const int size =
        exponent ? (exponent + 8) << 10 | fraction << 7 : subnormal[fraction];
    return {(unsigned short)((code & 0x80) << 8 | size)};
}

/* --- two values: the first in the low byte ------------------------------------------ */

static inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(
    const double2 value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    return (__nv_fp8x2_storage_t)(
        __nv_cvt_double_to_fp8(value.x, saturate, type) |
        __nv_cvt_double_to_fp8(value.y, saturate, type) << 8);
}
static inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(
    const float2 value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    return __nv_cvt_double2_to_fp8x2(make_double2(value.x, value.y), saturate, type);
}
static inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(
    const __half2_raw value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    const __half x(__half_raw{value.x}), y(__half_raw{value.y});
    return __nv_cvt_float2_to_fp8x2(make_float2(x, y), saturate, type);
}
static inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(
    const __nv_bfloat162_raw value, const __nv_saturation_t saturate,
    const __nv_fp8_interpretation_t type)
{
    const __nv_bfloat16 x(__nv_bfloat16_raw{value.x}), y(__nv_bfloat16_raw{value.y});
    return __nv_cvt_float2_to_fp8x2(make_float2(x, y), saturate, type);
}
static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(
    const __nv_fp8x2_storage_t codes, const __nv_fp8_interpretation_t type)
{
    return {
        __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)codes, type).x,
        __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(codes >> 8), type).x};
}

/* --- the classes -------------------------------------------------------------------- */

template <__nv_fp8_interpretation_t TYPE> struct wbcpu_fp8 {
    __nv_fp8_storage_t __x;

    wbcpu_fp8() = default;
    explicit wbcpu_fp8(const __half value) : wbcpu_fp8((float)value) {}
    explicit wbcpu_fp8(const __nv_bfloat16 value) : wbcpu_fp8((float)value) {}
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
    explicit wbcpu_fp8(const T value)
        : __x(__nv_cvt_double_to_fp8((double)value, __NV_SATFINITE, TYPE))
    {
    }
    explicit operator __half() const
    {
        return __nv_cvt_fp8_to_halfraw(__x, TYPE);
    }
    explicit operator float() const
    {
        return __half(*this);
    }
    explicit operator double() const
    {
        return float(*this);
    }
    explicit operator __nv_bfloat16() const
    {
        return __nv_bfloat16(float(*this));
    }
    explicit operator int() const
    {
        return (int)float(*this);
    }
    explicit operator bool() const
    {
        return (__x & 0x7f) != 0;
    }
};
typedef wbcpu_fp8<__NV_E4M3> __nv_fp8_e4m3;
typedef wbcpu_fp8<__NV_E5M2> __nv_fp8_e5m2;

template <__nv_fp8_interpretation_t TYPE> struct alignas(2) wbcpu_fp8x2 {
    __nv_fp8x2_storage_t __x;

    wbcpu_fp8x2() = default;
    explicit wbcpu_fp8x2(const float2 value)
        : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, TYPE))
    {
    }
    explicit wbcpu_fp8x2(const double2 value)
        : __x(__nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, TYPE))
    {
    }
    explicit wbcpu_fp8x2(const __half2 value) : wbcpu_fp8x2(make_float2(value.x, value.y))
    {
    }
    explicit wbcpu_fp8x2(const __nv_bfloat162 value)
        : wbcpu_fp8x2(make_float2(value.x, value.y))
    {
    }
    explicit operator __half2() const
    {
        const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(__x, TYPE);
        return __half2(__half_raw{raw.x}, __half_raw{raw.y});
    }
    explicit operator float2() const
    {
        const __half2 pair(*this);
        return make_float2(pair.x, pair.y);
    }
};
typedef wbcpu_fp8x2<__NV_E4M3> __nv_fp8x2_e4m3;
typedef wbcpu_fp8x2<__NV_E5M2> __nv_fp8x2_e5m2;

template <__nv_fp8_interpretation_t TYPE> struct alignas(4) wbcpu_fp8x4 {
    __nv_fp8x4_storage_t __x;

    wbcpu_fp8x4() = default;
    explicit wbcpu_fp8x4(const float4 value)
        : wbcpu_fp8x4(
              wbcpu_fp8x2<TYPE>(make_float2(value.x, value.y)),
              wbcpu_fp8x2<TYPE>(make_float2(value.z, value.w)))
    {
    }
    explicit wbcpu_fp8x4(const double4 value)
        : wbcpu_fp8x4(
              wbcpu_fp8x2<TYPE>(make_double2(value.x, value.y)),
              wbcpu_fp8x2<TYPE>(make_double2(value.z, value.w)))
    {
    }
    explicit wbcpu_fp8x4(const __half2 low, const __half2 high)
        : wbcpu_fp8x4(wbcpu_fp8x2<TYPE>(low), wbcpu_fp8x2<TYPE>(high))
    {
    }
    explicit wbcpu_fp8x4(const __nv_bfloat162 low, const __nv_bfloat162 high)
        : wbcpu_fp8x4(wbcpu_fp8x2<TYPE>(low), wbcpu_fp8x2<TYPE>(high))
    {
    }
    explicit operator float4() const
    {
        wbcpu_fp8x2<TYPE> low, high;
        low.__x = (__nv_fp8x2_storage_t)__x;
        high.__x = (__nv_fp8x2_storage_t)(__x >> 16);
        const float2 a(low), b(high);
        return make_float4(a.x, a.y, b.x, b.y);
    }

  private:
    wbcpu_fp8x4(const wbcpu_fp8x2<TYPE> low, const wbcpu_fp8x2<TYPE> high)
        : __x(low.__x | (unsigned)high.__x << 16)
    {
    }
};
typedef wbcpu_fp8x4<__NV_E4M3> __nv_fp8x4_e4m3;
typedef wbcpu_fp8x4<__NV_E5M2> __nv_fp8x4_e5m2;

#endif
