/* lab05.c - calls the functions of attention (labs/lab05_attention/attention.h). */
#include "../harness.h"
#include "attention.h"

static wb_status forward(const struct call *c)
{
    return BY_DTYPE(
        c, attention_forward, arg(c, "out"), arg(c, "lse"), arg(c, "q"), arg(c, "k"),
        arg(c, "v"), arg(c, "pos"), size(c, "B"), size(c, "T"), size(c, "S"),
        size(c, "H"), size(c, "K"), size(c, "D"), size(c, "ldq"), size(c, "ldkv"),
        size(c, "window"), number(c, "scale"), workspace(c), workspace_bytes(c),
        stream(c));
}

static size_t forward_workspace(const struct call *c)
{
    return BY_DTYPE(
        c, attention_forward_workspace, size(c, "B"), size(c, "T"), size(c, "S"),
        size(c, "H"), size(c, "K"), size(c, "D"));
}

static wb_status backward(const struct call *c)
{
    return BY_DTYPE(
        c, attention_backward, arg(c, "dq"), arg(c, "dk"), arg(c, "dv"), arg(c, "dout"),
        arg(c, "q"), arg(c, "k"), arg(c, "v"), arg(c, "out"), arg(c, "lse"),
        arg(c, "pos"), size(c, "B"), size(c, "T"), size(c, "S"), size(c, "H"),
        size(c, "K"), size(c, "D"), size(c, "ldq"), size(c, "ldkv"), size(c, "window"),
        number(c, "scale"), workspace(c), workspace_bytes(c), stream(c));
}

static size_t backward_workspace(const struct call *c)
{
    return BY_DTYPE(
        c, attention_backward_workspace, size(c, "B"), size(c, "T"), size(c, "S"),
        size(c, "H"), size(c, "K"), size(c, "D"));
}

const struct adapter adapters[] = {
    {"attention_forward", forward, forward_workspace},
    {"attention_backward", backward, backward_workspace},
    {NULL, NULL, NULL},
};
