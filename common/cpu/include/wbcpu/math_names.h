/* math_names.h - <math.h>. glibc has begun to declare functions that CUDA has too. g++ then
 * refuses the inline ones of device_functions.h and arithmetic.h ("was declared 'extern' and
 * later 'static'"), so these get other names. */
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
