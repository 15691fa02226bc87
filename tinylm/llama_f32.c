/* llama_f32.c - the passes in f32. */
#define E float
#define OP(name) name##_f32
#include "llama_pass.h"

const llama_calls llama_calls_f32 = {
    .step = step,
    .micro = micro,
    .evaluate = evaluate,
    .extend = extend,
    .cast = cast,
    .workspace = workspace,
};
