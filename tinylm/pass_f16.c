/* pass_f16.c - the passes in f16. */
#define E wb_f16
#define OP(name) name##_f16
#include "pass.h"

const model_calls model_calls_f16 = {
    .step = step,
    .micro = micro,
    .evaluate = evaluate,
    .cast = cast,
    .workspace = workspace,
};
