/* pass_f32.c - prompts and steps in f32. */
#define E float
#define OP(name) name##_f32
#include "pass.h"
