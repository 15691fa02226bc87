/* lab01.c - calls the functions of the gated activations (labs/lab01_swiglu/swiglu.h). */
#include "../harness.h"
#include "swiglu.h"

static wb_status swiglu_forward(const struct call *c)
{
    return BY_DTYPE(
        c, swiglu_forward, arg(c, "out"), arg(c, "gate"), arg(c, "up"), size(c, "R"),
        size(c, "F"), size(c, "ld"), stream(c));
}

static wb_status swiglu_backward(const struct call *c)
{
    return BY_DTYPE(
        c, swiglu_backward, arg(c, "dgate"), arg(c, "dup"), arg(c, "dout"),
        arg(c, "gate"), arg(c, "up"), size(c, "R"), size(c, "F"), size(c, "ld"),
        stream(c));
}

static wb_status geglu_forward(const struct call *c)
{
    return BY_DTYPE(
        c, geglu_forward, arg(c, "out"), arg(c, "gate"), arg(c, "up"), size(c, "R"),
        size(c, "F"), size(c, "ld"), stream(c));
}

static wb_status geglu_backward(const struct call *c)
{
    return BY_DTYPE(
        c, geglu_backward, arg(c, "dgate"), arg(c, "dup"), arg(c, "dout"), arg(c, "gate"),
        arg(c, "up"), size(c, "R"), size(c, "F"), size(c, "ld"), stream(c));
}

const struct adapter adapters[] = {
    {"swiglu_forward", swiglu_forward, NULL},
    {"swiglu_backward", swiglu_backward, NULL},
    {"geglu_forward", geglu_forward, NULL},
    {"geglu_backward", geglu_backward, NULL},
    {NULL, NULL, NULL},
};
