/* pass_bf16.c - prefill and decode in bf16. */
#define E wb_bf16
#define OP(name) name##_bf16
#include "pass.h"
