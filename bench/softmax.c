/* softmax.c - the rows of lab 04's benchmark. */
#include "softmax.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

struct rows {
    enum bench_type E;
    int R, N; /* N: columns, keys or classes */
    int T;    /* queries of the causal variant */
    void *out, *x, *p, *workspace;
    size_t workspace_bytes;
    float *loss;
    int *target;
};

static wb_status forward(const void *context)
{
    const struct rows *s = context;
    return BENCH_CALL(
        s->E, softmax_forward, s->out, s->x, s->R, s->N, 1.0f, s->workspace,
        s->workspace_bytes, NULL);
}

static wb_status causal_forward(const void *context)
{
    const struct rows *s = context;
    return BENCH_CALL(
        s->E, softmax_causal_forward, s->out, s->x, s->R, s->T, s->N, 0.125f, NULL);
}

static wb_status backward(const void *context)
{
    const struct rows *s = context;
    return BENCH_CALL(
        s->E, softmax_backward, s->out, s->x, s->p, s->R, s->N, 0.125f, NULL);
}

static wb_status entropy(const void *context)
{
    const struct rows *s = context;
    return BENCH_CALL(
        s->E, cross_entropy, s->loss, s->out, s->x, s->target, NULL, s->R, s->N, s->N,
        0.0f, -1, NULL);
}

static double take(struct rows *s, char shape[32]) /* returns the bytes of one tensor */
{
    size_t n = (size_t)s->R * s->N;
    snprintf(shape, 32, "%dx%d", s->R, s->N);
    s->out = bench_tensor(s->E, n), s->x = bench_tensor(s->E, n);
    return (double)n * bench_type_size[s->E];
}

static void softmax_rows(enum bench_type E, int R, int N)
{
    struct rows s = {.E = E, .R = R, .N = N};
    char shape[32];
    double tensor = take(&s, shape);
    s.p = bench_tensor(E, (size_t)R * N);
    s.workspace_bytes = BENCH_CALL(E, softmax_forward_workspace, R, N);
    s.workspace = bench_bytes(s.workspace_bytes);
    bench_row("softmax_forward", E, shape, 2 * tensor, forward, &s);
    bench_row("softmax_backward", E, shape, 3 * tensor, backward, &s);
    bench_free_all();
}

/* Only the visible half of x must be read; all of out is written. */
static void causal_rows(enum bench_type E, int R, int T)
{
    struct rows s = {.E = E, .R = R, .N = T, .T = T};
    char shape[32];
    double tensor = take(&s, shape);
    bench_row(
        "softmax_causal_forward", E, shape, tensor * (1.5 + 0.5 / T), causal_forward, &s);
    bench_free_all();
}

/* Logits are read once, the gradient is written once, into another tensor: in place the
 * second call would read the gradients of the first. */
static void entropy_rows(enum bench_type E, int R, int V)
{
    struct rows s = {.E = E, .R = R, .N = V};
    char shape[32];
    double tensor = take(&s, shape);
    size_t bytes = (size_t)R * sizeof *s.target;
    int *target = malloc(bytes);
    for (int r = 0; r < R; r++)
        target[r] = (int)(r * 40503u % (unsigned)V);
    s.loss = bench_tensor(BENCH_F32, R), s.target = bench_bytes(bytes);
    cudaMemcpy(s.target, target, bytes, cudaMemcpyHostToDevice);
    free(target);
    bench_row("cross_entropy", E, shape, 2 * tensor + 8.0 * R, entropy, &s);
    bench_free_all();
}

void bench_op(void)
{
    if (!bench_on_gpu) { /* TinyLM's shapes */
        softmax_rows(BENCH_F32, 64, 4096);
        softmax_rows(BENCH_F32, 3072, 64);
        causal_rows(BENCH_F32, 3072, 64);
        entropy_rows(BENCH_F32, 768, 65);
        entropy_rows(BENCH_F32, 64, 4096);
        if (!bench_once) return;
        softmax_rows(BENCH_F32, 2, 65536), softmax_rows(BENCH_F32, 200, 32768);
        entropy_rows(BENCH_F32, 2, 65536);
        return;
    }
    softmax_rows(BENCH_BF16, 4096, 4096);
    softmax_rows(BENCH_BF16, 16384, 1024);
    softmax_rows(BENCH_F32, 4096, 4096);
    softmax_rows(BENCH_F32, 32, 256000);
    causal_rows(BENCH_BF16, 64 * 6 * 256, 256);
    causal_rows(BENCH_BF16, 16 * 2048, 2048);
    entropy_rows(BENCH_BF16, 8192, 50304);
    entropy_rows(BENCH_BF16, 2048, 256000);
    entropy_rows(BENCH_F32, 4096, 50304);
    entropy_rows(BENCH_BF16, 64 * 256, 128);
}
