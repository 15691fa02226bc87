/* lab03.c - calls the functions of RMSNorm (labs/lab03_rmsnorm/rmsnorm.h). */
#include "../harness.h"
#include "rmsnorm.h"

static wb_status forward(const struct call *c)
{
    return BY_DTYPE(
        c, rmsnorm_forward, arg(c, "out"), arg(c, "rstd"), arg(c, "x"), arg(c, "w"),
        size(c, "R"), size(c, "C"), number(c, "eps"), number(c, "offset"), stream(c));
}

static wb_status residual_forward(const struct call *c)
{
    return BY_DTYPE(
        c, rmsnorm_residual_forward, arg(c, "out"), arg(c, "sum"), arg(c, "rstd"),
        arg(c, "x"), arg(c, "res"), arg(c, "w"), size(c, "R"), size(c, "C"),
        number(c, "eps"), number(c, "offset"), stream(c));
}

static wb_status backward(const struct call *c)
{
    return BY_DTYPE(
        c, rmsnorm_backward, arg(c, "dx"), arg(c, "dw"), arg(c, "dout"), arg(c, "x"),
        arg(c, "w"), arg(c, "rstd"), arg(c, "dres"), size(c, "R"), size(c, "C"),
        number(c, "offset"), workspace(c), workspace_bytes(c), stream(c));
}

static size_t backward_workspace(const struct call *c)
{
    return BY_DTYPE(c, rmsnorm_backward_workspace, size(c, "R"), size(c, "C"));
}

const struct adapter adapters[] = {
    {"rmsnorm_forward", forward, NULL},
    {"rmsnorm_residual_forward", residual_forward, NULL},
    {"rmsnorm_backward", backward, backward_workspace},
    {NULL, NULL, NULL},
};
