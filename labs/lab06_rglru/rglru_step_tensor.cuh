/* rglru_step_tensor.cuh - part 06.7: the solution's step for several rows on tensor
 * cores, and what it shares with the plain step of rglru_step.cu. You can pass without
 * it.
 */
#ifndef RGLRU_STEP_TENSOR_CUH
#define RGLRU_STEP_TENSOR_CUH

/* TODO(06.7): nothing, if the templates of rglru_step.cu serve f16 and bf16. */
#endif
