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
WBCPU_INLINE unsigned __float2uint_rd(float x) { return (unsigned)floorf(x); }
WBCPU_INLINE unsigned __float2uint_ru(float x) { return (unsigned)ceilf(x); }
WBCPU_INLINE double __int2double_rn(int x) { return x; }
WBCPU_INLINE double __uint2double_rn(unsigned x) { return x; }
WBCPU_INLINE double __ll2double_rn(long long x) { return (double)x; }
WBCPU_INLINE float __ll2float_rn(long long x) { return (float)x; }
WBCPU_INLINE float __ull2float_rn(unsigned long long x) { return (float)x; }
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
WBCPU_INLINE float rhypotf(float a, float b) { return 1 / hypotf(a, b); }
WBCPU_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
WBCPU_INLINE double sinpi(double x) { return sin(3.14159265358979324 * x); }
WBCPU_INLINE double cospi(double x) { return cos(3.14159265358979324 * x); }
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

/* --- the address space of a pointer ----------------------------------------------------- */
/* A 32-bit address in shared memory, as inline PTX uses it: relative to the CPU thread's. */
WBCPU_INLINE size_t __cvta_generic_to_shared(const void *p) { return (uint32_t)((const char *)p - wbcpu_dynamic_shared); }
WBCPU_INLINE void *__cvta_shared_to_generic(size_t a) { return wbcpu_dynamic_shared + (int32_t)(uint32_t)a; }
WBCPU_INLINE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
WBCPU_INLINE void *__cvta_global_to_generic(size_t a) { return (void *)a; }
/* clang-format on */

#endif
