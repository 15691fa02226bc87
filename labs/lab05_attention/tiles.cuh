/* tiles.cuh - lab 05: what warps do with tiles in shared memory.
 *
 * A tile is some rows of D elements, 16 bits each. A warp computes with 16 M rows of one and
 * N rows of another; what comes out is spread over its lanes as tensor_cores.cuh says. */
#ifndef TILES_CUH
#define TILES_CUH
#include "tensor_cores.cuh"

/* TODO(05.6): what the kernels of parts 05.6 and 05.7 need: where a chunk of 16 bytes lies in
 * a tile, C = A B^T of two tiles, C += W X with W in registers, and the way of C to memory. */
#endif
