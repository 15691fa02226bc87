/* rglru_steps.cuh - part 06.5: code of yours for rglru.cu, if you like. The solution has
 * what its two kernels share here.
 */
#ifndef RGLRU_STEPS_CUH
#define RGLRU_STEPS_CUH

/* TODO(06.5): nothing, if rglru.cu has it all. */
#endif
