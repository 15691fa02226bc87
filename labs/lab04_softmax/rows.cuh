/* rows.cuh - lab 04: what the kernels of all parts share, above all the reductions over
 * the threads of a row. */
#ifndef ROWS_CUH
#define ROWS_CUH
#include <float.h>

#include "cuda/device.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"
#include "softmax.h"

/* TODO(04.1): what a sum over a row was in lab 03, for a maximum too: the maximum and the
 * sum of v over the block, in all of its threads. Every part needs them. 20 lines. */
#endif
