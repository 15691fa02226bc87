/* math_names.h - <math.h>, and other names for CUDA's functions that glibc has begun to
 * declare: a name cannot be a function of the C library and one that is inlined. */
#ifndef WBCPU_MATH_NAMES_H
#define WBCPU_MATH_NAMES_H
#include <math.h> /* declares isfinite and isnan in the global namespace */

#include <cmath>

#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 41)
#define sinpi wbcpu_sinpi
#define sinpif wbcpu_sinpif
#define cospi wbcpu_cospi
#define cospif wbcpu_cospif
#endif
#if __GLIBC_PREREQ(2, 42)
#define rsqrt wbcpu_rsqrt
#define rsqrtf wbcpu_rsqrtf
#endif
#endif
#endif
