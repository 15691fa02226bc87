/* tiles.cuh - lab 05, parts 05.6 and 05.7: what warps do with tiles in shared memory.
 *
 * A tile is some rows of D elements of 16 bits. A warp multiplies 16 M rows of one tile
 * by N rows of another; the result is spread over its lanes in the layout of mma
 * (cuda/mma.cuh).
 */
#ifndef TILES_CUH
#define TILES_CUH
#include "cuda/mma.cuh"

/* Nothing here is graded. Once parts 05.6 and 05.7 pass, this is the place for what
 * faster kernels share: where a chunk of 16 bytes lies in a tile, C = A B^T of two tiles,
 * C += P X with P in registers, and the store of C to memory. */
#endif
