/* softmax_long.cuh - lab 04, part 04.2: the kernels of softmax.cu for rows that one block
 * cannot keep in registers.
 */
#ifndef SOFTMAX_LONG_CUH
#define SOFTMAX_LONG_CUH
#include "cuda/pdl.cuh"
#include "long_row.cuh"

/* 32 rows of 256,000 columns keep 32 blocks busy, but the GPU has room for a thousand.
 * Let many blocks share a row, in three steps. `./grade lab04 -k 04.2` grades them
 * together:
 *     TODO(04.2, step 1): block (x,y) stores the maximum and the sum of part x of row y,
 *     4096 columns, in the workspace. About 10 lines.
 *     TODO(04.2, step 2): a second kernel with the same grid combines the parts of its
 *     row, and writes its part of out. About 12 lines.
 *     TODO(04.2, step 3): forward_workspace, and the launches for rows of more than 8192
 *     columns. About 10 lines. */
#endif
