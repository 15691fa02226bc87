/* block_linear_wgmma.cuh - part 06.7: the matrices of both gates on a Hopper GPU, which
 * block_linear_tensor.cu calls for blocks of 64, 128 or 256. You can pass without it.
 */
#ifndef BLOCK_LINEAR_WGMMA_CUH
#define BLOCK_LINEAR_WGMMA_CUH

/* TODO(06.7): nothing, if the kernels of 06.1 as templates serve f16 and bf16. */
#endif
