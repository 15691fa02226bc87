/* block_linear_tiles.cuh - part 06.1: the solution's kernels for the matrices of both
 * gates. block_linear.cu uses them for float, block_linear_tensor.cu for f16 and bf16 on
 * a GPU whose tensor cores do not take that type. Your kernels can be here or in
 * block_linear.cu.
 */
#ifndef BLOCK_LINEAR_TILES_CUH
#define BLOCK_LINEAR_TILES_CUH
#include "cuda/vec.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

/* TODO(06.1): nothing, if block_linear.cu has your kernels. */
#endif
