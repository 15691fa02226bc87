/* rglru_step_tensor.cuh - room for a step of several rows on tensor cores. The solution's stands
 * here; a pass needs none.
 */
#ifndef RGLRU_STEP_TENSOR_CUH
#define RGLRU_STEP_TENSOR_CUH

/* TODO(06.7): nothing, if the templates of rglru_step.cu serve f16 and bf16. */
#endif
