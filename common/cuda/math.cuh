/* math.cuh - constants, and functions of a few instructions each.
 *
 * A multiprocessor starts 128 additions per clock, but only 16 exponentials, roots or
 * reciprocals. A kernel that computes for about as long as it reads therefore uses the
 * single instructions: fast_exp2, fast_rcp, fast_rsqrt and fast_sqrt. They are accurate
 * to about 2 ulp (PTX manual: ex2, rcp, rsqrt, sqrt); results below 2^-126 become 0.
 * exp(x) = fast_exp2(LOG2_E x).
 *
 * The CPU back end computes the same functions with its own exp2f and the host's exact
 * division and root.
 */
#ifndef CUDA_MATH_CUH
#define CUDA_MATH_CUH
#include "wb.h"

constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LN_2 = 0.6931471805599453f;

#ifdef __CUDACPU__
static __device__ __forceinline__ float fast_exp2(float x)
{
    return exp2f(x);
}
static __device__ __forceinline__ float fast_rcp(float x)
{
    return 1.0f / x;
}
static __device__ __forceinline__ float fast_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}
static __device__ __forceinline__ float fast_sqrt(float x)
{
    return sqrtf(x);
}
#else
#define FAST_MATH(name, instruction)                                                     \
    static __device__ __forceinline__ float name(float x)                                \
    {                                                                                    \
        float y;                                                                         \
        asm(instruction ".approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));                   \
        return y;                                                                        \
    }
FAST_MATH(fast_exp2, "ex2")
FAST_MATH(fast_rcp, "rcp")
FAST_MATH(fast_rsqrt, "rsqrt")
FAST_MATH(fast_sqrt, "sqrt")
#undef FAST_MATH
#endif

#endif
