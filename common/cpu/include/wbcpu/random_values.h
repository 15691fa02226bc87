/* random_values.h - cuRAND's device functions, over the states of random_states.h.
 * Uniform values have cuRAND's bits; normal ones can differ in the last bits, Poisson ones
 * follow another algorithm. */
#ifndef WBCPU_RANDOM_VALUES_H
#define WBCPU_RANDOM_VALUES_H

#include "random_sobol.h"

namespace wbcpu
{
constexpr float UNIT = 2.3283064e-10f; /* 2^-32 */
/* (0, 1] */
WBCPU_INLINE float unit(unsigned x)
{
    return (float)x * UNIT + UNIT / 2;
}
WBCPU_INLINE double unit(unsigned low, unsigned high)
{
    unsigned long long z = low ^ (unsigned long long)high << 21;
    return (double)z * 0x1p-53 + 0x1p-54;
}
WBCPU_INLINE float2 box_muller(unsigned x, unsigned y)
{
    float u = unit(x), angle = (float)y * (UNIT * 6.2831855f) + UNIT * 6.2831855f / 2;
    float radius = sqrtf(-2 * logf(u));
    return make_float2(sinf(angle) * radius, cosf(angle) * radius);
}
WBCPU_INLINE double2 box_muller_double(double u, double v)
{
    double radius = sqrt(-2 * log(u)), angle = 6.283185307179586 * v;
    return make_double2(sin(angle) * radius, cos(angle) * radius);
}
WBCPU_INLINE float unit(unsigned long long x)
{
    return unit((unsigned)(x >> 32));
}
WBCPU_INLINE double unit_double(unsigned x)
{
    return (double)x * 0x1p-32 + 0x1p-32;
}
WBCPU_INLINE double unit_double(unsigned long long x)
{
    return (double)(x >> 11) * 0x1p-53 + 0x1p-54;
}
}  // namespace wbcpu

template <class S> WBCPU_INLINE float curand_uniform(S *s)
{
    return wbcpu::unit(curand(s));
}
template <class S> WBCPU_INLINE double curand_uniform_double(S *s)
{
    unsigned low = curand(s);
    return wbcpu::unit(low, curand(s));
}
/* Of a quasi-random sequence, each number gives one value. */
template <class T, bool Scrambled>
WBCPU_INLINE double curand_uniform_double(wbcpu::sobol<T, Scrambled> *s)
{
    return wbcpu::unit_double(curand(s));
}
template <class T, bool Scrambled>
WBCPU_INLINE double curand_normal_double(wbcpu::sobol<T, Scrambled> *s)
{
    double u = curand_uniform_double(s);
    return normcdfinv(u < 1 ? u : 1 - 0x1p-53);
}
template <class T, bool Scrambled>
WBCPU_INLINE float curand_normal(wbcpu::sobol<T, Scrambled> *s)
{
    return (float)curand_normal_double(s);
}
template <class S> WBCPU_INLINE float2 curand_normal2(S *s)
{
    unsigned x = curand(s);
    return wbcpu::box_muller(x, curand(s));
}
template <class S> WBCPU_INLINE float curand_normal(S *s)
{
    s->kept = !s->kept;
    if (!s->kept) return s->extra;
    float2 two = curand_normal2(s);
    s->extra = two.y;
    return two.x;
}
template <class S> WBCPU_INLINE double2 curand_normal2_double(S *s)
{
    double u = curand_uniform_double(s);
    return wbcpu::box_muller_double(u, curand_uniform_double(s));
}
template <class S> WBCPU_INLINE double curand_normal_double(S *s)
{
    s->kept_double = !s->kept_double;
    if (!s->kept_double) return s->extra_double;
    double2 two = curand_normal2_double(s);
    s->extra_double = two.y;
    return two.x;
}
template <class S> WBCPU_INLINE float curand_log_normal(S *s, float mean, float deviation)
{
    return expf(mean + deviation * curand_normal(s));
}
template <class S>
WBCPU_INLINE double curand_log_normal_double(S *s, double mean, double deviation)
{
    return exp(mean + deviation * curand_normal_double(s));
}
/* By products of uniform values; from 64 on by a rounded normal value. */
template <class S> WBCPU_INLINE unsigned curand_poisson(S *s, double lambda)
{
    if (lambda >= 64) {
        double x = floor(lambda + sqrt(lambda) * curand_normal_double(s) + 0.5);
        return x < 0 ? 0 : (unsigned)x;
    }
    double left = exp(-lambda), product = curand_uniform_double(s);
    unsigned n = 0;
    for (; product > left; n++)
        product *= curand_uniform_double(s);
    return n;
}
WBCPU_INLINE float4 curand_uniform4(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    return make_float4(
        wbcpu::unit(x.x), wbcpu::unit(x.y), wbcpu::unit(x.z), wbcpu::unit(x.w));
}
WBCPU_INLINE float4 curand_normal4(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    float2 a = wbcpu::box_muller(x.x, x.y), b = wbcpu::box_muller(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
WBCPU_INLINE double2 curand_uniform2_double(curandStatePhilox4_32_10 *s)
{
    uint4 x = curand4(s);
    return make_double2(wbcpu::unit(x.x, x.y), wbcpu::unit(x.z, x.w));
}

#endif
