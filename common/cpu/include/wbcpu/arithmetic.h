/* arithmetic.h - the rarer intrinsics: directed rounding, averages, products of parts,
 * conversions; special functions that the C library does not have. */
#ifndef WBCPU_ARITHMETIC_H
#define WBCPU_ARITHMETIC_H

#include "device_functions.h"

/* clang-format off */

/* --- directed rounding: rd down, ru up, rz toward zero ------------------------------- */
namespace wbcpu
{
/* r: a result rounded to nearest; error: the sign of the exact result minus r */
template <class T> WBCPU_INLINE T down(T r, T error) { return error < 0 ? std::nextafter(r, -(T)INFINITY) : r; }
template <class T> WBCPU_INLINE T up(T r, T error) { return error > 0 ? std::nextafter(r, (T)INFINITY) : r; }
template <class T> WBCPU_INLINE T zero(T r, T error) { return r > 0 ? down(r, error) : up(r, error); }
template <class T> WBCPU_INLINE T sum_error(T a, T b, T r)
{
    volatile T t = r - a, u = r - t; /* no contraction, no other order */
    return (a - u) + (b - t);
}
template <class T> WBCPU_INLINE T quotient_error(T a, T b, T r)
{
    T rest = std::fma(-r, b, a);
    return b < 0 ? -rest : rest;
}
}  // namespace wbcpu
#define WBCPU_ROUNDED(T, p, suffix, how)                                                     \
    WBCPU_INLINE T __##p##add_##suffix(T a, T b) { T r = a + b; return wbcpu::how(r, wbcpu::sum_error(a, b, r)); }  \
    WBCPU_INLINE T __##p##sub_##suffix(T a, T b) { T r = a - b; return wbcpu::how(r, wbcpu::sum_error(a, -b, r)); } \
    WBCPU_INLINE T __##p##mul_##suffix(T a, T b) { T r = a * b; return wbcpu::how(r, std::fma(a, b, -r)); }         \
    WBCPU_INLINE T __##p##div_##suffix(T a, T b) { T r = a / b; return wbcpu::how(r, wbcpu::quotient_error(a, b, r)); } \
    WBCPU_INLINE T __##p##rcp_##suffix(T a) { return __##p##div_##suffix((T)1, a); }                                \
    WBCPU_INLINE T __##p##sqrt_##suffix(T a) { T r = std::sqrt(a); return wbcpu::how(r, std::fma(-r, r, a)); }
WBCPU_ROUNDED(float, f, rd, down)
WBCPU_ROUNDED(float, f, ru, up)
WBCPU_ROUNDED(float, f, rz, zero)
WBCPU_ROUNDED(double, d, rd, down)
WBCPU_ROUNDED(double, d, ru, up)
WBCPU_ROUNDED(double, d, rz, zero)
#undef WBCPU_ROUNDED
namespace wbcpu
{
template <class T> WBCPU_INLINE T fma_error(T a, T b, T c, T r) /* Boldo and Muller 2005 */
{
    T product = a * b, low = std::fma(a, b, -product);
    T first = c + low, rest = sum_error(c, low, first);
    T second = product + first;
    volatile T most = second - r;
    return most + sum_error(product, first, second) + rest;
}
}  // namespace wbcpu
#define WBCPU_FMA(suffix, how)                                                               \
    WBCPU_INLINE float __fmaf_##suffix(float a, float b, float c) { float r = std::fma(a, b, c); return wbcpu::how(r, wbcpu::fma_error(a, b, c, r)); } \
    WBCPU_INLINE double __fma_##suffix(double a, double b, double c) { double r = std::fma(a, b, c); return wbcpu::how(r, wbcpu::fma_error(a, b, c, r)); }
WBCPU_FMA(rd, down)
WBCPU_FMA(ru, up)
WBCPU_FMA(rz, zero)
#undef WBCPU_FMA
WBCPU_INLINE double __dadd_rn(double a, double b) { return a + b; }
WBCPU_INLINE double __dsub_rn(double a, double b) { return a - b; }
WBCPU_INLINE double __dmul_rn(double a, double b) { return a * b; }
WBCPU_INLINE double __ddiv_rn(double a, double b) { return a / b; }
WBCPU_INLINE double __drcp_rn(double a) { return 1 / a; }
WBCPU_INLINE double __dsqrt_rn(double a) { return sqrt(a); }

/* --- integers ------------------------------------------------------------------------- */
WBCPU_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
WBCPU_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
WBCPU_INLINE unsigned __sad(int a, int b, unsigned c) { return c + (unsigned)(a > b ? a - b : b - a); }
WBCPU_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
WBCPU_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
WBCPU_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
WBCPU_INLINE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
WBCPU_INLINE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
WBCPU_INLINE unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32)); }
WBCPU_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255) * (b >> i & 255);
    return c;
}
WBCPU_INLINE int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
WBCPU_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) { return c + (unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w); }
/* c + two products of 16-bit parts of a and the low or high bytes of b */
#define WBCPU_DP2A(T, short_type, byte)                                                      \
    WBCPU_INLINE T __dp2a_lo(T a, T b, T c) { return c + (short_type)a * (byte)b + (short_type)(a >> 16) * (byte)(b >> 8); } \
    WBCPU_INLINE T __dp2a_hi(T a, T b, T c) { return __dp2a_lo(a, b >> 16, c); }
WBCPU_DP2A(int, short, signed char)
WBCPU_DP2A(unsigned, unsigned short, unsigned char)
#undef WBCPU_DP2A
WBCPU_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) { return shift < 32 ? __funnelshift_l(low, high, shift) : low; }
WBCPU_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) { return shift < 32 ? __funnelshift_r(low, high, shift) : high; }
/* The place of the n-th set bit of mask from bit `base` on: upwards for n > 0, downwards for
 * n < 0; ~0u: there is none. n = 0: base, if it is set */
WBCPU_INLINE unsigned __fns(unsigned mask, unsigned base, int n)
{
    int step = n < 0 ? -1 : 1, left = n == 0 ? 1 : n * step;
    for (int i = (int)base; i >= 0 && i < 32; i += step) {
        if (mask >> i & 1 && --left == 0) return (unsigned)i;
        if (n == 0) break;
    }
    return ~0u;
}

/* --- conversions ------------------------------------------------------------------------ */
#define WBCPU_TO(name, From, To)                                                             \
    WBCPU_INLINE To __##name##_rn(From x) { return (To)std::nearbyint(x); }                  \
    WBCPU_INLINE To __##name##_rz(From x) { return (To)std::trunc(x); }                      \
    WBCPU_INLINE To __##name##_rd(From x) { return (To)std::floor(x); }                      \
    WBCPU_INLINE To __##name##_ru(From x) { return (To)std::ceil(x); }
WBCPU_TO(float2ll, float, long long)
WBCPU_TO(float2ull, float, unsigned long long)
WBCPU_TO(double2int, double, int)
WBCPU_TO(double2uint, double, unsigned)
WBCPU_TO(double2ll, double, long long)
WBCPU_TO(double2ull, double, unsigned long long)
#undef WBCPU_TO
/* long double has all bits of either. */
namespace wbcpu
{
template <class T> WBCPU_INLINE T sign(long double x) { return (T)((x > 0) - (x < 0)); }
}  // namespace wbcpu
#define WBCPU_FROM(name, From, To)                                                           \
    WBCPU_INLINE To __##name##_rd(From x) { To r = (To)x; return wbcpu::down(r, wbcpu::sign<To>((long double)x - r)); } \
    WBCPU_INLINE To __##name##_ru(From x) { To r = (To)x; return wbcpu::up(r, wbcpu::sign<To>((long double)x - r)); }   \
    WBCPU_INLINE To __##name##_rz(From x) { To r = (To)x; return wbcpu::zero(r, wbcpu::sign<To>((long double)x - r)); }
WBCPU_FROM(int2float, int, float)
WBCPU_FROM(uint2float, unsigned, float)
WBCPU_FROM(ll2float, long long, float)
WBCPU_FROM(ull2float, unsigned long long, float)
WBCPU_FROM(ll2double, long long, double)
WBCPU_FROM(ull2double, unsigned long long, double)
WBCPU_FROM(double2float, double, float)
#undef WBCPU_FROM
WBCPU_INLINE unsigned __float2uint_rd(float x) { return (unsigned)floorf(x); }
WBCPU_INLINE unsigned __float2uint_ru(float x) { return (unsigned)ceilf(x); }
WBCPU_INLINE double __int2double_rn(int x) { return x; }
WBCPU_INLINE double __uint2double_rn(unsigned x) { return x; }
WBCPU_INLINE double __ll2double_rn(long long x) { return (double)x; }
WBCPU_INLINE float __ll2float_rn(long long x) { return (float)x; }
WBCPU_INLINE float __ull2float_rn(unsigned long long x) { return (float)x; }
WBCPU_INLINE double __ull2double_rn(unsigned long long x) { return (double)x; }
WBCPU_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
WBCPU_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
WBCPU_INLINE double __hiloint2double(int high, int low) { return __longlong_as_double((long long)high << 32 | (unsigned)low); }

/* --- functions ------------------------------------------------------------------------ */
WBCPU_INLINE float fdividef(float a, float b) { return a / b; }
WBCPU_INLINE float rcbrtf(float x) { return 1 / cbrtf(x); }
WBCPU_INLINE double rcbrt(double x) { return 1 / cbrt(x); }
WBCPU_INLINE float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
WBCPU_INLINE float norm4df(float a, float b, float c, float d) { return sqrtf(a * a + b * b + c * c + d * d); }
WBCPU_INLINE float rnorm3df(float a, float b, float c) { return 1 / norm3df(a, b, c); }
WBCPU_INLINE double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
WBCPU_INLINE double norm4d(double a, double b, double c, double d) { return sqrt(a * a + b * b + c * c + d * d); }
WBCPU_INLINE double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
WBCPU_INLINE double rnorm4d(double a, double b, double c, double d) { return 1 / norm4d(a, b, c, d); }
WBCPU_INLINE float rnorm4df(float a, float b, float c, float d) { return 1 / norm4df(a, b, c, d); }
#define WBCPU_NORM(T, f) /* of n numbers */                                                  \
    WBCPU_INLINE T norm##f(int n, const T *x) { T sum = 0; for (int i = 0; i < n; i++) sum += x[i] * x[i]; return std::sqrt(sum); } \
    WBCPU_INLINE T rnorm##f(int n, const T *x) { return 1 / norm##f(n, x); }
WBCPU_NORM(float, f)
WBCPU_NORM(double, )
#undef WBCPU_NORM
WBCPU_INLINE double rhypot(double a, double b) { return 1 / hypot(a, b); }
WBCPU_INLINE float rhypotf(float a, float b) { return 1 / hypotf(a, b); }
WBCPU_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
WBCPU_INLINE double sinpi(double x) { return sin(3.14159265358979324 * x); }
WBCPU_INLINE double cospi(double x) { return cos(3.14159265358979324 * x); }
WBCPU_INLINE void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
WBCPU_INLINE void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
/* A rational start (Giles 2012), then Newton's steps for erf(y) = x. */
WBCPU_INLINE double erfinv(double x)
{
    double w = -log((1 - x) * (1 + x)), y;
    if (!(fabs(x) < 1)) return fabs(x) == 1 ? copysign(INFINITY, x) : NAN;
    if (w < 5) {
        w -= 2.5;
        y = 2.81022636e-08;
        for (double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941})
            y = c + y * w;
    } else {
        w = sqrt(w) - 3;
        y = -0.000200214257;
        for (double c : {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682})
            y = c + y * w;
    }
    y *= x;
    for (int i = 0; i < 2; i++) y -= (erf(y) - x) / (1.1283791670955126 * exp(-y * y));
    return y;
}
WBCPU_INLINE float erfinvf(float x) { return (float)erfinv(x); }
WBCPU_INLINE double normcdfinv(double p) { return 1.4142135623730951 * erfinv(2 * p - 1); }
WBCPU_INLINE float normcdfinvf(float p) { return (float)normcdfinv(p); }
WBCPU_INLINE double erfcinv(double x) { return erfinv(1 - x); }
WBCPU_INLINE float erfcinvf(float x) { return (float)erfcinv(x); }

/* exp(x * x) erfc(x): a continued fraction where erfc becomes too small */
WBCPU_INLINE double erfcx(double x)
{
    if (x < 20) return exp(x * x) * erfc(x);
    double t = 0;
    for (int k = 20; k > 0; k--) t = 0.5 * k / (x + t);
    return 0.56418958354775629 / (x + t); /* 1 / sqrt(pi) */
}
WBCPU_INLINE float erfcxf(float x) { return (float)erfcx(x); }

/* --- the address space of a pointer ----------------------------------------------------- */
/* A 32-bit address in shared memory, as inline PTX uses it: relative to the CPU thread's. */
WBCPU_INLINE size_t __cvta_generic_to_shared(const void *p) { return (uint32_t)((const char *)p - wbcpu_dynamic_shared); }
WBCPU_INLINE void *__cvta_shared_to_generic(size_t a) { return wbcpu_dynamic_shared + (int32_t)(uint32_t)a; }
WBCPU_INLINE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
WBCPU_INLINE void *__cvta_global_to_generic(size_t a) { return (void *)a; }
/* clang-format on */

#endif
