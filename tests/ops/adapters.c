/* adapters.c - one typed call per function of common/ops/ops.h. */
#include "adapters.h"

#include <stdio.h>
#include <stdlib.h>

#include "../tap.h"

static wb_blas *blas(void)
{
    static wb_blas *handle; /* created in the first run, also used by the captured run */
    if (!handle) WB_CHECK(wb_blas_create(&handle));
    return handle;
}

static wb_status run_matmul_forward(const struct call *c)
{
    return BY_DTYPE(
        c, matmul_forward, arg(c, "y"), arg(c, "x"), arg(c, "w"), arg(c, "bias"),
        arg(c, "res"), size(c, "R"), size(c, "I"), size(c, "O"), blas(), stream(c));
}
static wb_status run_matmul_backward(const struct call *c)
{
    return BY_DTYPE(
        c, matmul_backward, arg(c, "dx"), arg(c, "dw"), arg(c, "dbias"), arg(c, "dy"),
        arg(c, "x"), arg(c, "w"), size(c, "R"), size(c, "I"), size(c, "O"), blas(),
        stream(c));
}
static wb_status run_linear_step(const struct call *c)
{
    return BY_DTYPE(
        c, linear_step, arg(c, "out"), arg(c, "x"), arg(c, "w"), arg(c, "bias"),
        arg(c, "norm"), arg(c, "res"), size(c, "R"), size(c, "I"), size(c, "O"),
        size(c, "act"), number(c, "eps"), number(c, "offset"), blas(), stream(c));
}
static wb_status run_logits_step(const struct call *c)
{
    return BY_DTYPE(
        c, logits_step, arg(c, "logits"), arg(c, "x"), arg(c, "w"), arg(c, "norm"),
        size(c, "R"), size(c, "C"), size(c, "V"), number(c, "eps"), number(c, "offset"),
        blas(), stream(c));
}

#define ATTENTION_SIZES(c)                                                               \
    size(c, "B"), size(c, "T"), size(c, "S"), size(c, "H"), size(c, "K"), size(c, "D")
static wb_status run_attention_forward(const struct call *c)
{
    return BY_DTYPE(
        c, attention_gemm_forward, arg(c, "out"), arg(c, "p"), arg(c, "q"), arg(c, "k"),
        arg(c, "v"), ATTENTION_SIZES(c), size(c, "ldq"), size(c, "ldkv"),
        number(c, "scale"), blas(), stream(c));
}
static wb_status run_attention_backward(const struct call *c)
{
    return BY_DTYPE(
        c, attention_gemm_backward, arg(c, "dq"), arg(c, "dk"), arg(c, "dv"),
        arg(c, "dout"), arg(c, "q"), arg(c, "k"), arg(c, "v"), arg(c, "p"),
        ATTENTION_SIZES(c), size(c, "ldq"), size(c, "ldkv"), number(c, "scale"),
        workspace(c), workspace_bytes(c), blas(), stream(c));
}
static size_t attention_workspace(const struct call *c)
{
    return BY_DTYPE(c, attention_gemm_backward_workspace, ATTENTION_SIZES(c));
}

static wb_status run_embedding_forward(const struct call *c)
{
    return BY_DTYPE(
        c, embedding_forward, arg(c, "out"), arg(c, "table"), arg(c, "token"),
        size(c, "R"), size(c, "C"), size(c, "V"), number(c, "scale"), stream(c));
}
static wb_status run_embedding_backward(const struct call *c)
{
    return BY_DTYPE(
        c, embedding_backward, arg(c, "dtable"), arg(c, "dout"), arg(c, "token"),
        size(c, "R"), size(c, "C"), size(c, "V"), number(c, "scale"), workspace(c),
        workspace_bytes(c), stream(c));
}
static size_t embedding_workspace(const struct call *c)
{
    return BY_DTYPE(
        c, embedding_backward_workspace, size(c, "R"), size(c, "C"), size(c, "V"));
}
static wb_status run_gather_rows(const struct call *c)
{
    return BY_DTYPE(
        c, gather_rows, arg(c, "out"), arg(c, "x"), arg(c, "index"), size(c, "R"),
        size(c, "C"), stream(c));
}

static size_t elements(const struct call *c)
{
    return (size_t)size(c, "N");
}
static wb_status run_add(const struct call *c)
{
    return BY_DTYPE(
        c, add_forward, arg(c, "out"), arg(c, "a"), arg(c, "b"), elements(c), stream(c));
}
static wb_status run_cast(const struct call *c)
{
    return BY_DTYPE(c, cast, arg(c, "out"), arg(c, "x"), elements(c), stream(c));
}
static wb_status run_widen(const struct call *c)
{
    return widen_bf16(arg(c, "out"), arg(c, "x"), elements(c), stream(c));
}
static wb_status run_softcap(const struct call *c)
{
    return softcap_f32(
        arg(c, "out"), arg(c, "x"), elements(c), number(c, "cap"), stream(c));
}
static wb_status run_sum(const struct call *c)
{
    return sum_f32(
        arg(c, "out"), arg(c, "x"), elements(c), workspace(c), workspace_bytes(c),
        stream(c));
}
static size_t sum_workspace(const struct call *c)
{
    return sum_workspace_f32(elements(c));
}
static wb_status run_dropout(const struct call *c)
{
    const wb_train *st = state_from(arg(c, "st"), stream(c));
    return BY_DTYPE(
        c, dropout_forward, arg(c, "out"), arg(c, "x"), st, elements(c),
        (size_t)size(c, "first"), number(c, "p"), (uint32_t)size(c, "site"), stream(c));
}

static wb_status run_train_begin(const struct call *c)
{
    wb_schedule schedule = {
        size(c, "kind"), size(c, "warmup"), size(c, "steps"), number(c, "max_lr"),
        number(c, "min_lr")};
    wb_train *st = state_from(arg(c, "st"), stream(c));
    wb_status status =
        train_begin(st, schedule, size(c, "tokens"), size(c, "first"), stream(c));
    state_to(arg(c, "st"), stream(c));
    return status;
}
static wb_status run_train_end(const struct call *c)
{
    wb_train *st = state_from(arg(c, "st"), stream(c));
    wb_status status = train_end(st, size(c, "growth"), stream(c));
    state_to(arg(c, "st"), stream(c));
    return status;
}
static wb_status run_gradnorm(const struct call *c)
{
    wb_train *st = state_from(arg(c, "st"), stream(c));
    wb_status status = gradnorm_f32(
        st, arg(c, "grad"), elements(c), workspace(c), workspace_bytes(c), stream(c));
    state_to(arg(c, "st"), stream(c));
    return status;
}
static size_t gradnorm_workspace(const struct call *c)
{
    return gradnorm_workspace_f32(elements(c));
}
static wb_status run_gradnorm_join(const struct call *c)
{
    wb_train *st = state_from(arg(c, "st"), stream(c));
    wb_status status = gradnorm_join(st, arg(c, "norm"), size(c, "n"), stream(c));
    state_to(arg(c, "st"), stream(c));
    return status;
}
static wb_status run_adamw(const struct call *c)
{
    const wb_train *st = state_from(arg(c, "st"), stream(c));
    return BY_DTYPE(
        c, adamw_step, arg(c, "param"), arg(c, "master"), arg(c, "m"), arg(c, "v"),
        arg(c, "grad"), st, elements(c), number(c, "b1"), number(c, "b2"),
        number(c, "eps"), number(c, "decay"), number(c, "clip"), stream(c));
}

static wb_status run_prompt_chunk(const struct call *c)
{
    return prompt_chunk(
        arg(c, "token"), arg(c, "pos"), arg(c, "len"), arg(c, "last"), arg(c, "seen"),
        arg(c, "prompt"), arg(c, "n"), arg(c, "base"), size(c, "B"), size(c, "T"),
        size(c, "P"), size(c, "V"), size(c, "t0"), stream(c));
}
static wb_status run_generate_advance(const struct call *c)
{
    return BY_DTYPE(
        c, generate_advance, arg(c, "out"), arg(c, "table"), arg(c, "token"),
        arg(c, "pos"), arg(c, "done"), arg(c, "count"), arg(c, "text"), arg(c, "stop"),
        size(c, "B"), size(c, "L"), size(c, "nstop"), size(c, "C"), number(c, "scale"),
        stream(c));
}

const struct adapter adapters[] = {
    {"matmul_forward", run_matmul_forward, NULL},
    {"matmul_backward", run_matmul_backward, NULL},
    {"linear_step", run_linear_step, NULL},
    {"logits_step", run_logits_step, NULL},
    {"attention_gemm_forward", run_attention_forward, NULL},
    {"attention_gemm_backward", run_attention_backward, attention_workspace},
    {"embedding_forward", run_embedding_forward, NULL},
    {"embedding_backward", run_embedding_backward, embedding_workspace},
    {"gather_rows", run_gather_rows, NULL},
    {"add_forward", run_add, NULL},
    {"cast", run_cast, NULL},
    {"widen", run_widen, NULL},
    {"softcap", run_softcap, NULL},
    {"sum", run_sum, sum_workspace},
    {"dropout_forward", run_dropout, NULL},
    {"train_begin", run_train_begin, NULL},
    {"train_end", run_train_end, NULL},
    {"gradnorm", run_gradnorm, gradnorm_workspace},
    {"gradnorm_join", run_gradnorm_join, NULL},
    {"adamw_step", run_adamw, NULL},
    {"prompt_chunk", run_prompt_chunk, NULL},
    {"generate_advance", run_generate_advance, NULL},
    {NULL, NULL, NULL},
};

/* These pointers are never read: the arguments are invalid, or there is nothing to do. */
void test_refusals(void)
{
    static float x[4];
    static int token[1];
    wb_train *st = (wb_train *)x;
    wb_schedule unknown = {9, 0, 10, 1, 0};
    tap(matmul_forward_f32(x, x, x, NULL, NULL, -1, 1, 1, blas(), NULL) == WB_BAD_SHAPE,
        "matmul_forward: R < 0");
    tap(matmul_forward_f32(NULL, x, x, NULL, NULL, 1, 1, 1, blas(), NULL) == WB_BAD_SHAPE,
        "matmul_forward: y is NULL");
    tap(matmul_forward_f32(NULL, NULL, NULL, NULL, NULL, 0, 1, 1, blas(), NULL) == WB_OK,
        "matmul_forward: nothing to do");
    tap(attention_gemm_forward_f32(
            x, x, x, x, x, 1, 2, 1, 1, 1, 1, 1, 1, 1.0f, blas(), NULL) == WB_BAD_SHAPE,
        "attention: S < T");
    tap(attention_gemm_forward_f32(
            x, x, x, x, x, 1, 1, 1, 3, 2, 1, 3, 2, 1.0f, blas(), NULL) == WB_BAD_SHAPE,
        "attention: K does not divide H");
    tap(attention_gemm_backward_f32(
            x, x, x, x, x, x, x, x, 1, 1, 1, 1, 1, 1, 1, 1, 1.0f, x, 3, blas(), NULL) ==
            WB_NO_SPACE,
        "attention backward: the workspace is too small");
    tap(embedding_backward_f32(x, x, token, 1, 4, 1, 1.0f, x, 4, NULL) == WB_NO_SPACE,
        "embedding backward: the workspace is too small");
    tap(sum_f32(x, x, 4, x, 0, NULL) == WB_NO_SPACE, "sum: the workspace is too small");
    tap(softcap_f32(x, x, 4, 0.0f, NULL) == WB_BAD_SHAPE, "softcap: cap is 0");
    tap(min_p_scores(x, NULL, 1, 4, 0, 0, NULL) == WB_BAD_SHAPE, "min_p: penalty is 0");
    tap(min_p_keep(x, NULL, 1, 4, 0.1f, NULL) == WB_BAD_SHAPE, "min_p: nothing is left");
    tap(dropout_forward_f32(x, x, st, 4, 0, 1.0f, 0, NULL) == WB_BAD_SHAPE,
        "dropout: p is 1");
    tap(dropout_forward_f32(x, x, st, 4, 2, 0.1f, 0, NULL) == WB_BAD_SHAPE,
        "dropout: first is not a multiple of 4");
    tap(train_begin(st, unknown, 1, 1, NULL) == WB_BAD_SHAPE,
        "train_begin: unknown schedule");
    tap(adamw_step_bf16((wb_bf16 *)x, NULL, x, x, x, st, 4, 0.9f, 0.9f, 0, 0, 0, NULL) ==
            WB_BAD_SHAPE,
        "adamw: bf16 without master weights");
    tap(add_forward_f32(NULL, NULL, NULL, 0, NULL) == WB_OK, "add: nothing to do");
}
