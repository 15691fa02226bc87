/* pass_f32.c - the passes in f32. */
#define E float
#define OP(name) name##_f32
#include "pass.h"

const model_calls model_calls_f32 = {
    .step = step,
    .micro = micro,
    .evaluate = evaluate,
    .cast = cast,
    .workspace = workspace,
};
