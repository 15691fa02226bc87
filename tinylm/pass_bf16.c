/* pass_bf16.c - the passes in bf16. */
#define E wb_bf16
#define OP(name) name##_bf16
#include "pass.h"

const model_calls model_calls_bf16 = {
    .step = step,
    .micro = micro,
    .evaluate = evaluate,
    .cast = cast,
    .workspace = workspace,
};
