/* pass_bf16.c - prompts and steps in bf16. */
#define E wb_bf16
#define OP(name) name##_bf16
#include "pass.h"
