/* ceiling.h - the best that the device can do, measured in the same run as the model:
 * --bench and bench/prefill give their figures as fractions of these. */
#ifndef CEILING_H
#define CEILING_H
#include <stdbool.h>

/* Bytes read and written per second by a large copy on the device. */
double ceiling_copy(void);
/* FLOPs per second of the library's GEMM of large square matrices, bf16 or f32. */
double ceiling_gemm(bool bf16);

/* Sorts x; n >= 1. */
double median_of(double *x, int n);

#endif
