/* long_row.cuh - lab 04: a row that is too long for the registers of a block, for softmax.cu
 * (04.2) and cross_entropy.cu (04.7). */
#ifndef LONG_ROW_CUH
#define LONG_ROW_CUH
#include "cuda/hopper.cuh"
#include "rows.cuh"

/* TODO(04.7): a row of 50,304 columns of bf16 takes 100 KB: too much for registers, but
 * it fits in shared memory. Keep it there between the two passes. About 30 lines. */
#endif
