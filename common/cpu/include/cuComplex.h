/* cuComplex.h - CUDA's complex numbers: pairs of floats or doubles. */
#ifndef WBCPU_CUCOMPLEX_H
#define WBCPU_CUCOMPLEX_H
#define CU_COMPLEX_H_

#include <math.h>

#include "vector_functions.h"
#include "vector_types.h"

typedef float2 cuFloatComplex, cuComplex;
typedef double2 cuDoubleComplex;

#define WBCPU_COMPLEX(C, R, f, make, root)                                               \
    static inline C make(R x, R y)                                                       \
    {                                                                                    \
        C r;                                                                             \
        r.x = x;                                                                         \
        r.y = y;                                                                         \
        return r;                                                                        \
    }                                                                                    \
    static inline R cuCreal##f(C a)                                                      \
    {                                                                                    \
        return a.x;                                                                      \
    }                                                                                    \
    static inline R cuCimag##f(C a)                                                      \
    {                                                                                    \
        return a.y;                                                                      \
    }                                                                                    \
    static inline C cuConj##f(C a)                                                       \
    {                                                                                    \
        return make(a.x, -a.y);                                                          \
    }                                                                                    \
    static inline C cuCadd##f(C a, C b)                                                  \
    {                                                                                    \
        return make(a.x + b.x, a.y + b.y);                                               \
    }                                                                                    \
    static inline C cuCsub##f(C a, C b)                                                  \
    {                                                                                    \
        return make(a.x - b.x, a.y - b.y);                                               \
    }                                                                                    \
    static inline C cuCmul##f(C a, C b)                                                  \
    {                                                                                    \
        return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                       \
    }                                                                                    \
    static inline C cuCdiv##f(C a, C b)                                                  \
    {                                                                                    \
        R s = 1 / (b.x * b.x + b.y * b.y);                                               \
        return make((a.x * b.x + a.y * b.y) * s, (a.y * b.x - a.x * b.y) * s);           \
    }                                                                                    \
    static inline R cuCabs##f(C a)                                                       \
    {                                                                                    \
        return root(a.x, a.y);                                                           \
    }
WBCPU_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, hypotf)
WBCPU_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, hypot)
#undef WBCPU_COMPLEX
static inline cuComplex make_cuComplex(float x, float y)
{
    return make_cuFloatComplex(x, y);
}
static inline cuComplex cuCfmaf(cuComplex a, cuComplex b, cuComplex c)
{
    return cuCaddf(cuCmulf(a, b), c);
}
static inline cuDoubleComplex cuCfma(cuDoubleComplex a, cuDoubleComplex b, cuDoubleComplex c)
{
    return cuCadd(cuCmul(a, b), c);
}

#endif
