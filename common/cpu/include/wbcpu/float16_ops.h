/* float16_ops.h - the functions that __half and __nv_bfloat16 share.
 *
 * cuda_fp16.h and cuda_bf16.h each include this file once, with WBCPU_H defined as the
 * type and WBCPU_H2 as the pair. These are functions, not templates, because only
 * functions convert their arguments, and half + float is ambiguous, as in the toolkit.
 * Arithmetic is in float and rounded to 16 bits after every operation; a float has more
 * than twice the bits of a half, so the result is correctly rounded.
 */
#define H WBCPU_H
#define H2 WBCPU_H2

namespace wbcpu
{
template <> inline constexpr bool is_plain_class<H> = true; /* blocks.h */
template <> inline constexpr bool is_plain_class<H2> = true;
}  // namespace wbcpu

/* --- arithmetic --------------------------------------------------------------------- */

WBCPU_INLINE H operator+(const H &a, const H &b)
{
    return H((float)a + (float)b);
}
WBCPU_INLINE H operator-(const H &a, const H &b)
{
    return H((float)a - (float)b);
}
WBCPU_INLINE H operator*(const H &a, const H &b)
{
    return H((float)a * (float)b);
}
WBCPU_INLINE H operator/(const H &a, const H &b)
{
    return H((float)a / (float)b);
}
WBCPU_INLINE H operator+(const H &a)
{
    return a;
}
WBCPU_INLINE H operator-(const H &a)
{
    return H::from_bits(a.__x ^ 0x8000);
}
WBCPU_INLINE H &operator+=(H &a, const H &b)
{
    return a = a + b;
}
WBCPU_INLINE H &operator-=(H &a, const H &b)
{
    return a = a - b;
}
WBCPU_INLINE H &operator*=(H &a, const H &b)
{
    return a = a * b;
}
WBCPU_INLINE H &operator/=(H &a, const H &b)
{
    return a = a / b;
}
WBCPU_INLINE H &operator++(H &a)
{
    return a = H((float)a + 1.0f);
}
WBCPU_INLINE H &operator--(H &a)
{
    return a = H((float)a - 1.0f);
}
WBCPU_INLINE H operator++(H &a, int)
{
    H before = a;
    ++a;
    return before;
}
WBCPU_INLINE H operator--(H &a, int)
{
    H before = a;
    --a;
    return before;
}

WBCPU_INLINE H __hadd(H a, H b)
{
    return a + b;
}
WBCPU_INLINE H __hsub(H a, H b)
{
    return a - b;
}
WBCPU_INLINE H __hmul(H a, H b)
{
    return a * b;
}
WBCPU_INLINE H __hdiv(H a, H b)
{
    return a / b;
}
WBCPU_INLINE H __hadd_rn(H a, H b)
{
    return a + b;
}  // _rn: never fused into an fma
WBCPU_INLINE H __hsub_rn(H a, H b)
{
    return a - b;
}
WBCPU_INLINE H __hmul_rn(H a, H b)
{
    return a * b;
}
WBCPU_INLINE H __hneg(H a)
{
    return -a;
}
WBCPU_INLINE H __habs(H a)
{
    return H::from_bits(a.__x & 0x7fff);
}
WBCPU_INLINE H __hfma(H a, H b, H c)
{
    return H(wbcpu::fma_to_odd(a, b, c));
}
WBCPU_INLINE H wbcpu_saturate(H a)  // clamps to [0,1], NaN to 0
{
    float f = a;
    return f > 1 ? H(1.0f) : f > 0 ? a : H(0.0f);
}
WBCPU_INLINE H __hadd_sat(H a, H b)
{
    return wbcpu_saturate(a + b);
}
WBCPU_INLINE H __hsub_sat(H a, H b)
{
    return wbcpu_saturate(a - b);
}
WBCPU_INLINE H __hmul_sat(H a, H b)
{
    return wbcpu_saturate(a * b);
}
WBCPU_INLINE H __hfma_sat(H a, H b, H c)
{
    return wbcpu_saturate(__hfma(a, b, c));
}

/* --- comparisons: all false with NaN, except != and the unordered ones (...u) ------- */

#define WBCPU_COMPARE(name, op)                                                          \
    WBCPU_INLINE bool operator op(const H &a, const H &b)                                \
    {                                                                                    \
        return (float)a op(float) b;                                                     \
    }                                                                                    \
    WBCPU_INLINE bool __h##name(H a, H b)                                                \
    {                                                                                    \
        return (float)a op(float) b;                                                     \
    }                                                                                    \
    WBCPU_INLINE bool __h##name##u(H a, H b)                                             \
    {                                                                                    \
        float x = a, y = b;                                                              \
        return x != x || y != y || x op y;                                               \
    }                                                                                    \
    WBCPU_INLINE H2 __h##name##2(H2 a, H2 b) /* 1 or 0 in each half */                   \
    {                                                                                    \
        return H2(H((float)(a.x op b.x)), H((float)(a.y op b.y)));                       \
    }                                                                                    \
    WBCPU_INLINE bool __hb##name##2(H2 a, H2 b)                                          \
    {                                                                                    \
        return a.x op b.x && a.y op b.y;                                                 \
    }
WBCPU_COMPARE(eq, ==)
WBCPU_COMPARE(lt, <)
WBCPU_COMPARE(le, <=)
WBCPU_COMPARE(gt, >)
WBCPU_COMPARE(ge, >=)
#undef WBCPU_COMPARE
WBCPU_INLINE bool operator!=(const H &a, const H &b)
{
    return (float)a != (float)b;
}
WBCPU_INLINE bool __hneu(H a, H b)
{
    return a != b;
}
WBCPU_INLINE bool __hne(H a, H b)  // "ordered and unequal", unlike !=
{
    float x = a, y = b;
    return x < y || x > y;
}
WBCPU_INLINE H2 __hne2(H2 a, H2 b)
{
    return H2(H((float)__hne(a.x, b.x)), H((float)__hne(a.y, b.y)));
}
WBCPU_INLINE bool __hbne2(H2 a, H2 b)
{
    return __hne(a.x, b.x) && __hne(a.y, b.y);
}

WBCPU_INLINE bool __hisnan(H a)
{
    return (float)a != (float)a;
}
WBCPU_INLINE int __hisinf(H a)
{
    float f = a;
    return std::isinf(f) ? f > 0 ? 1 : -1 : 0;
}
/* With one NaN, the other argument, as fmaxf; _nan: NaN if any argument is. */
WBCPU_INLINE H __hmax(H a, H b)
{
    return H(fmaxf(a, b));
}
WBCPU_INLINE H __hmin(H a, H b)
{
    return H(fminf(a, b));
}
WBCPU_INLINE H __hmax_nan(H a, H b)
{
    return __hisnan(a) || __hisnan(b) ? H::from_bits(0x7fff) : __hmax(a, b);
}
WBCPU_INLINE H __hmin_nan(H a, H b)
{
    return __hisnan(a) || __hisnan(b) ? H::from_bits(0x7fff) : __hmin(a, b);
}
WBCPU_INLINE H __hfma_relu(H a, H b, H c)
{
    return __hmax_nan(__hfma(a, b, c), H(0.0f));
}

/* --- functions of one argument, and the same for pairs ------------------------------ */

#define WBCPU_FUNCTION(name, of_f)                                                       \
    WBCPU_INLINE H h##name(H a)                                                          \
    {                                                                                    \
        float f = a;                                                                     \
        return H(of_f);                                                                  \
    }                                                                                    \
    WBCPU_INLINE H2 h2##name(H2 a)                                                       \
    {                                                                                    \
        return H2(h##name(a.x), h##name(a.y));                                           \
    }
WBCPU_FUNCTION(exp, expf(f))
WBCPU_FUNCTION(exp2, exp2f(f))
WBCPU_FUNCTION(exp10, exp10f(f))
WBCPU_FUNCTION(log, logf(f))
WBCPU_FUNCTION(log2, log2f(f))
WBCPU_FUNCTION(log10, log10f(f))
WBCPU_FUNCTION(sqrt, sqrtf(f))
WBCPU_FUNCTION(rsqrt, 1.0f / sqrtf(f))
WBCPU_FUNCTION(rcp, 1.0f / f)
WBCPU_FUNCTION(sin, sinf(f))
WBCPU_FUNCTION(cos, cosf(f))
WBCPU_FUNCTION(tanh, tanhf(f))
WBCPU_FUNCTION(floor, floorf(f))
WBCPU_FUNCTION(ceil, ceilf(f))
WBCPU_FUNCTION(trunc, truncf(f))
WBCPU_FUNCTION(rint, rintf(f))
#undef WBCPU_FUNCTION

/* --- pairs -------------------------------------------------------------------------- */

#define WBCPU_PAIRWISE(name2, name1)                                                     \
    WBCPU_INLINE H2 name2(H2 a, H2 b)                                                    \
    {                                                                                    \
        return H2(name1(a.x, b.x), name1(a.y, b.y));                                     \
    }
WBCPU_PAIRWISE(__hadd2, __hadd)
WBCPU_PAIRWISE(__hsub2, __hsub)
WBCPU_PAIRWISE(__hmul2, __hmul)
WBCPU_PAIRWISE(__h2div, __hdiv)
WBCPU_PAIRWISE(__hadd2_rn, __hadd)
WBCPU_PAIRWISE(__hsub2_rn, __hsub)
WBCPU_PAIRWISE(__hmul2_rn, __hmul)
WBCPU_PAIRWISE(__hadd2_sat, __hadd_sat)
WBCPU_PAIRWISE(__hsub2_sat, __hsub_sat)
WBCPU_PAIRWISE(__hmul2_sat, __hmul_sat)
WBCPU_PAIRWISE(__hmax2, __hmax)
WBCPU_PAIRWISE(__hmin2, __hmin)
WBCPU_PAIRWISE(__hmax2_nan, __hmax_nan)
WBCPU_PAIRWISE(__hmin2_nan, __hmin_nan)
#undef WBCPU_PAIRWISE
WBCPU_INLINE H2 __hfma2(H2 a, H2 b, H2 c)
{
    return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
WBCPU_INLINE H2 __hneg2(H2 a)
{
    return H2(-a.x, -a.y);
}
WBCPU_INLINE H2 __habs2(H2 a)
{
    return H2(__habs(a.x), __habs(a.y));
}
WBCPU_INLINE H2 operator+(const H2 &a, const H2 &b)
{
    return __hadd2(a, b);
}
WBCPU_INLINE H2 operator-(const H2 &a, const H2 &b)
{
    return __hsub2(a, b);
}
WBCPU_INLINE H2 operator*(const H2 &a, const H2 &b)
{
    return __hmul2(a, b);
}
WBCPU_INLINE H2 operator/(const H2 &a, const H2 &b)
{
    return __h2div(a, b);
}
WBCPU_INLINE H2 operator-(const H2 &a)
{
    return __hneg2(a);
}
WBCPU_INLINE H2 &operator+=(H2 &a, const H2 &b)
{
    return a = a + b;
}
WBCPU_INLINE H2 &operator-=(H2 &a, const H2 &b)
{
    return a = a - b;
}
WBCPU_INLINE H2 &operator*=(H2 &a, const H2 &b)
{
    return a = a * b;
}
WBCPU_INLINE H2 &operator/=(H2 &a, const H2 &b)
{
    return a = a / b;
}
WBCPU_INLINE bool operator==(const H2 &a, const H2 &b)
{
    return __hbeq2(a, b);
}
WBCPU_INLINE bool operator!=(const H2 &a, const H2 &b)
{
    return a.x != b.x && a.y != b.y;
}

WBCPU_INLINE float __low2float(H2 a)
{
    return a.x;
}
WBCPU_INLINE float __high2float(H2 a)
{
    return a.y;
}
WBCPU_INLINE H2 __lowhigh2highlow(H2 a)
{
    return H2(a.y, a.x);
}

/* --- atomics by compare-and-swap: CPUs have none for 16-bit floats ------------------ */

WBCPU_INLINE H atomicAdd(H *address, H value)
{
    return wbcpu::atomic_update<uint16_t>(address, [=](H old) { return old + value; });
}
WBCPU_INLINE H2 atomicAdd(H2 *address, H2 value)
{
    return wbcpu::atomic_update<uint32_t>(address, [=](H2 old) { return old + value; });
}

#undef H
#undef H2
