/* pass_f32.c - prefill and decode in f32. */
#define E float
#define OP(name) name##_f32
#include "pass.h"
