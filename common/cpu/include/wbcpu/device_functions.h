/* device_functions.h - CUDA's built-in functions: intrinsics, cache hints, bits.
 *
 * Fast intrinsics such as __expf call the accurate functions, so a result can differ from
 * a GPU's in the last bits.
 */
#ifndef WBCPU_DEVICE_FUNCTIONS_H
#define WBCPU_DEVICE_FUNCTIONS_H

#include "execution.h"
#include "exponentials.h"

/* A table with one function per line: */
/* clang-format off */

/* --- loads and stores with cache hints, which are ignored --------------------------- */
#define WBCPU_LOAD(name)                                                                 \
    template <class T> WBCPU_INLINE T name(const T *p) { return *p; }
#define WBCPU_STORE(name)                                                                \
    template <class T> WBCPU_INLINE void name(T *p, T v) { *p = v; }
WBCPU_LOAD(__ldg)
WBCPU_LOAD(__ldca)
WBCPU_LOAD(__ldcg)
WBCPU_LOAD(__ldcs)
WBCPU_LOAD(__ldlu)
WBCPU_LOAD(__ldcv)
WBCPU_STORE(__stwb)
WBCPU_STORE(__stcg)
WBCPU_STORE(__stcs)
WBCPU_STORE(__stwt)
#undef WBCPU_LOAD
#undef WBCPU_STORE

/* --- float -------------------------------------------------------------------------- */
WBCPU_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
WBCPU_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
WBCPU_INLINE float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
WBCPU_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
WBCPU_INLINE float __frcp_rn(float x) { return 1.0f / x; }
WBCPU_INLINE float __fdividef(float a, float b) { return a / b; }
WBCPU_INLINE float __fdiv_rn(float a, float b) { return a / b; }
WBCPU_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
WBCPU_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
WBCPU_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
WBCPU_INLINE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
WBCPU_INLINE float sinpif(float x) { return sinf(3.14159265f * x); }
WBCPU_INLINE float cospif(float x) { return cosf(3.14159265f * x); }

/* Inline, because a reduction or softmax calls one per element. With one NaN they return
 * the other argument. As extern inline definitions they leave libm's functions in place
 * for calls that are not inlined. */
#define WBCPU_LIBM extern inline __attribute__((always_inline, gnu_inline))
extern "C" {
WBCPU_LIBM float fmaxf(float a, float b) noexcept { return b != b ? a : a > b ? a : b; }
WBCPU_LIBM float fminf(float a, float b) noexcept { return b != b ? a : a < b ? a : b; }
WBCPU_LIBM double fmax(double a, double b) noexcept { return b != b ? a : a > b ? a : b; }
WBCPU_LIBM double fmin(double a, double b) noexcept { return b != b ? a : a < b ? a : b; }
}
#undef WBCPU_LIBM

/* These always round: the compiler must not fuse them into an fma. */
WBCPU_INLINE float wbcpu_rounded(float x)
{
#if defined(__x86_64__)
    asm("" : "+x"(x));
#else
    asm("" : "+w"(x));
#endif
    return x;
}
WBCPU_INLINE float __fadd_rn(float a, float b) { return wbcpu_rounded(a + b); }
WBCPU_INLINE float __fsub_rn(float a, float b) { return wbcpu_rounded(a - b); }
WBCPU_INLINE float __fmul_rn(float a, float b) { return wbcpu_rounded(a * b); }

/* glibc declares these names, so they are macros. */
#define __expf(x) (::expf(x))
#define __exp10f(x) (::exp10f(x))
#define __logf(x) (::logf(x))
#define __log2f(x) (::log2f(x))
#define __log10f(x) (::log10f(x))
#define __powf(x, y) (::powf(x, y))
#define __sinf(x) (::sinf(x))
#define __cosf(x) (::cosf(x))
#define __tanf(x) (::tanf(x))
#define __tanhf(x) (::tanhf(x))
#define __sincosf(x, s, c) (::sincosf(x, s, c))

/* --- bits --------------------------------------------------------------------------- */
template <class To, class From> WBCPU_INLINE To wbcpu_bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bit cast: sizes differ");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
WBCPU_INLINE int __float_as_int(float x) { return wbcpu_bit_cast<int>(x); }
WBCPU_INLINE unsigned __float_as_uint(float x) { return wbcpu_bit_cast<unsigned>(x); }
WBCPU_INLINE float __int_as_float(int x) { return wbcpu_bit_cast<float>(x); }
WBCPU_INLINE float __uint_as_float(unsigned x) { return wbcpu_bit_cast<float>(x); }
WBCPU_INLINE long long __double_as_longlong(double x)
{
    return wbcpu_bit_cast<long long>(x);
}
WBCPU_INLINE double __longlong_as_double(long long x)
{
    return wbcpu_bit_cast<double>(x);
}

WBCPU_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
WBCPU_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WBCPU_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
WBCPU_INLINE int __clzll(long long x)
{
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
WBCPU_INLINE int __ffs(int x) { return __builtin_ffs(x); }
WBCPU_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
WBCPU_INLINE unsigned __brev(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r = r << 1 | (x >> i & 1);
    return r;
}
WBCPU_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned select)
{
    uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned)(bytes >> 8 * (select >> 4 * i & 7) & 0xff) << 8 * i;
    return r;
}
WBCPU_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)((((uint64_t)high << 32 | low) << (shift & 31)) >> 32);
}
WBCPU_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

/* --- integers and conversions: rn nearest, rz toward zero, rd down, ru up ----------- */
WBCPU_INLINE int __float2int_rn(float x) { return (int)lrintf(x); }
WBCPU_INLINE int __float2int_rz(float x) { return (int)x; }
WBCPU_INLINE int __float2int_rd(float x) { return (int)floorf(x); }
WBCPU_INLINE int __float2int_ru(float x) { return (int)ceilf(x); }
WBCPU_INLINE unsigned __float2uint_rn(float x) { return (unsigned)llrintf(x); }
WBCPU_INLINE unsigned __float2uint_rz(float x) { return (unsigned)x; }
WBCPU_INLINE float __int2float_rn(int x) { return (float)x; }
WBCPU_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
WBCPU_INLINE float __double2float_rn(double x) { return (float)x; }
WBCPU_INLINE int __mul24(int a, int b) { return a * b; }
WBCPU_INLINE int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
WBCPU_INLINE unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
WBCPU_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
WBCPU_INLINE int __dp4a(int a, int b, int c) /* c + four products of signed bytes */
{
    for (int i = 0; i < 4; i++)
        c += (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i);
    return c;
}

/* --- min and max of every combination that CUDA accepts ----------------------------- */
#define WBCPU_MIN_MAX(T, A, B)                                                           \
    WBCPU_INLINE T min(A a, B b) { return (T)a < (T)b ? (T)a : (T)b; }                   \
    WBCPU_INLINE T max(A a, B b) { return (T)a > (T)b ? (T)a : (T)b; }
WBCPU_MIN_MAX(int, int, int)
WBCPU_MIN_MAX(unsigned, unsigned, unsigned)
WBCPU_MIN_MAX(unsigned, unsigned, int)
WBCPU_MIN_MAX(unsigned, int, unsigned)
WBCPU_MIN_MAX(long, long, long)
WBCPU_MIN_MAX(unsigned long, unsigned long, unsigned long)
WBCPU_MIN_MAX(unsigned long, unsigned long, long)
WBCPU_MIN_MAX(unsigned long, long, unsigned long)
WBCPU_MIN_MAX(long long, long long, long long)
WBCPU_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
#undef WBCPU_MIN_MAX
WBCPU_INLINE unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
WBCPU_INLINE unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
/* With one NaN they return the other argument, as on the device. */
WBCPU_INLINE float min(float a, float b) { return fminf(a, b); }
WBCPU_INLINE float max(float a, float b) { return fmaxf(a, b); }
WBCPU_INLINE double min(double a, double b) { return fmin(a, b); }
WBCPU_INLINE double max(double a, double b) { return fmax(a, b); }
WBCPU_INLINE double min(float a, double b) { return fmin(a, b); }
WBCPU_INLINE double max(float a, double b) { return fmax(a, b); }
WBCPU_INLINE double min(double a, float b) { return fmin(a, b); }
WBCPU_INLINE double max(double a, float b) { return fmax(a, b); }

/* --- other -------------------------------------------------------------------------- */
extern "C" long long wbcpu_nanoseconds(void);
/* Cycles of the CPU's counter, or nanoseconds */
WBCPU_INLINE long long clock64()
{
#if defined(__x86_64__)
    return (long long)__builtin_ia32_rdtsc();
#else
    return wbcpu_nanoseconds();
#endif
}
/* In device code not libc's, which asks the system for the process's time */
extern "C" {
extern clock_t wbcpu_clock_of_libc(void) noexcept __asm__("clock");
extern inline __attribute__((always_inline, gnu_inline)) clock_t clock(void) noexcept
{
    return wbcpu_on_device() ? (clock_t)clock64() : wbcpu_clock_of_libc();
}
}
WBCPU_INLINE unsigned long long globaltimer()
{
    return (unsigned long long)wbcpu_nanoseconds();
}
WBCPU_INLINE void __trap() { wbcpu_trap(); }
WBCPU_INLINE void __brkpt() { __builtin_trap(); }
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)

#endif
