/* llama_bf16.c - the passes in bf16. */
#define E wb_bf16
#define OP(name) name##_bf16
#include "llama_pass.h"

const llama_calls llama_calls_bf16 = {
    .step = step,
    .micro = micro,
    .evaluate = evaluate,
    .extend = extend,
    .cast = cast,
    .workspace = workspace,
};
