/* decode_tensor.cuh - lab 07, part 07.7: room for a kernel for 16-bit caches on tensor
 * cores. The solution has its own here; no part needs one.
 */
#ifndef DECODE_TENSOR_CUH
#define DECODE_TENSOR_CUH
#include "decode.cuh"

/* TODO(07.7): nothing, if a block of attention_decode.cu serves all heads of a group. */
#endif
