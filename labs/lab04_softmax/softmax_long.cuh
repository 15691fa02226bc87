/* softmax_long.cuh - lab 04, part 04.2: the kernels of softmax.cu for rows that one block
 * cannot keep in registers.
 */
#ifndef SOFTMAX_LONG_CUH
#define SOFTMAX_LONG_CUH
#include "cuda/pdl.cuh"
#include "long_row.cuh"

/* TODO(04.2): 32 rows of 256,000 columns keep 32 blocks busy, but the GPU has room for a
 * thousand. Let many blocks share a row: each stores the maximum and the sum of its part
 * in the workspace, a second kernel combines them and normalises. About 40 lines. */
#endif
