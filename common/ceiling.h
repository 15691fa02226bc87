/* ceiling.h - what the machine can do at best, measured beside what the model does: the
 * figures of --bench and of bench/prefill stand as parts of these. */
#ifndef CEILING_H
#define CEILING_H
#include <stdbool.h>

/* Bytes read and bytes written a second by a large copy on the device. */
double ceiling_copy(void);
/* FLOPs a second of the library's own product of large square matrices, bf16 or f32. */
double ceiling_product(bool bf16);

/* Sorts x; n >= 1. */
double median_of(double *x, int n);

#endif
