// step_f16.cu - linear_step_f16 and logits_step_f16.
#include "step_choose.cuh"

DEFINE_STEP(wb_f16, f16)
