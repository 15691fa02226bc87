// step_bf16.cu - linear_step_bf16 and logits_step_bf16.
#include "step_choose.cuh"

DEFINE_STEP(wb_bf16, bf16)
