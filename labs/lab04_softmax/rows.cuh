/* rows.cuh - lab 04: what the kernels of all parts share, above all the reductions over
 * the threads of a row. */
#ifndef ROWS_CUH
#define ROWS_CUH
#include <float.h>

#include "cuda/device.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"
#include "softmax.h"

/* TODO(04.1, step 1): block_max and block_sum: the maximum and the sum of v over the
 * block, in all of its threads, as in lab 03. Every part needs them. 10 lines each. */
#endif
