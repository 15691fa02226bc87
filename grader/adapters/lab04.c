/* lab04.c - calls the functions of softmax (labs/lab04_softmax/softmax.h). */
#include "../harness.h"
#include "softmax.h"

static wb_status forward(const struct call *c)
{
    return BY_DTYPE(
        c, softmax_forward, arg(c, "out"), arg(c, "x"), size(c, "R"), size(c, "N"),
        number(c, "scale"), workspace(c), workspace_bytes(c), stream(c));
}

static size_t forward_workspace(const struct call *c)
{
    return BY_DTYPE(c, softmax_forward_workspace, size(c, "R"), size(c, "N"));
}

static wb_status causal_forward(const struct call *c)
{
    return BY_DTYPE(
        c, softmax_causal_forward, arg(c, "out"), arg(c, "x"), size(c, "R"), size(c, "T"),
        size(c, "S"), number(c, "scale"), stream(c));
}

static wb_status backward(const struct call *c)
{
    return BY_DTYPE(
        c, softmax_backward, arg(c, "dx"), arg(c, "dout"), arg(c, "p"), size(c, "R"),
        size(c, "N"), number(c, "scale"), stream(c));
}

static wb_status entropy(const struct call *c)
{
    return BY_DTYPE(
        c, cross_entropy, arg(c, "loss"), arg(c, "dlogits"), arg(c, "logits"),
        arg(c, "target"), arg(c, "gscale"), size(c, "R"), size(c, "V"), size(c, "ld"),
        number(c, "softcap"), size(c, "ignore"), stream(c));
}

const struct adapter adapters[] = {
    {"softmax_forward", forward, forward_workspace},
    {"softmax_causal_forward", causal_forward, NULL},
    {"softmax_backward", backward, NULL},
    {"cross_entropy", entropy, NULL},
    {NULL, NULL, NULL},
};
