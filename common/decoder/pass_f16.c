/* pass_f16.c - prefill and decode in f16. */
#define E wb_f16
#define OP(name) name##_f16
#include "pass.h"
