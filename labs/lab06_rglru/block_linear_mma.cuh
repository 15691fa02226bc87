/* block_linear_mma.cuh - part 06.7: the tensor-core matrix multiply of the solution, from
 * which the kernels of block_linear_tensor.cu are made. You can pass without it.
 */
#ifndef BLOCK_LINEAR_MMA_CUH
#define BLOCK_LINEAR_MMA_CUH

/* TODO(06.7): nothing, if the kernels of 06.1 as templates serve f16 and bf16. */
#endif
