/* lab02.c - calls the functions of the rotary embedding (labs/lab02_rope/rope.h). */
#include "../harness.h"
#include "rope.h"

static wb_status table(const struct call *c)
{
    return rope_table_f32(
        arg(c, "cis"), size(c, "P"), size(c, "N"), number(c, "base"), stream(c));
}

static wb_status forward(const struct call *c)
{
    return BY_DTYPE(
        c, rope_forward, arg(c, "out"), arg(c, "x"), arg(c, "cis"), arg(c, "pos"),
        size(c, "B"), size(c, "T"), size(c, "H"), size(c, "D"), size(c, "N"),
        size(c, "ld"), stream(c));
}

static wb_status backward(const struct call *c)
{
    return BY_DTYPE(
        c, rope_backward, arg(c, "dx"), arg(c, "dout"), arg(c, "cis"), arg(c, "pos"),
        size(c, "B"), size(c, "T"), size(c, "H"), size(c, "D"), size(c, "N"),
        size(c, "ld"), stream(c));
}

const struct adapter adapters[] = {
    {"rope_table", table, NULL},
    {"rope_forward", forward, NULL},
    {"rope_backward", backward, NULL},
    {NULL, NULL, NULL},
};
