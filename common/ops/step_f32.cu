// step_f32.cu - linear_step_f32 and logits_step_f32.
#include "step_choose.cuh"

DEFINE_STEP(float, f32)
