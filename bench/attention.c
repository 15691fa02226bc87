/* attention.c - rows of lab 05's benchmark. FLOPs are those of visible pairs. */
#include "attention.h"

#include <math.h>
#include <stdio.h>

#include "kernels.h"

static const double MAX_WORKSPACE = 2e9; /* bytes; a naive rung stores its scores */

struct shape {
    int B, H, K, T, D, window;
};

struct attention {
    enum bench_type E;
    struct shape z;
    float scale;
    void *out, *q, *k, *v, *dout, *dq, *dk, *dv, *workspace;
    float *lse;
    size_t workspace_bytes;
};

static wb_status forward(const void *context)
{
    const struct attention *a = context;
    const struct shape *z = &a->z;
    return BENCH_CALL(
        a->E, attention_forward, a->out, a->lse, a->q, a->k, a->v, NULL, z->B, z->T, z->T,
        z->H, z->K, z->D, z->H * z->D, z->K * z->D, z->window, a->scale, a->workspace,
        a->workspace_bytes, NULL);
}

static wb_status backward(const void *context)
{
    const struct attention *a = context;
    const struct shape *z = &a->z;
    return BENCH_CALL(
        a->E, attention_backward, a->dq, a->dk, a->dv, a->dout, a->q, a->k, a->v, a->out,
        a->lse, NULL, z->B, z->T, z->T, z->H, z->K, z->D, z->H * z->D, z->K * z->D,
        z->window, a->scale, a->workspace, a->workspace_bytes, NULL);
}

/* (query, key) pairs of one head and sequence */
static double pairs(const struct shape *z)
{
    double sum = 0;
    for (int t = 0; t < z->T; t++)
        sum += (t < z->window ? t : z->window) + 1.0;
    return sum;
}

/* Allocates a workspace; false if it would be too large. */
static int
allocate(struct attention *a, size_t bytes, const char *function, const char *name)
{
    if ((double)bytes > MAX_WORKSPACE) {
        printf(
            "%-26s %-4s %-12s skipped: %.1f GB of workspace\n", function,
            bench_type_name[a->E], name, (double)bytes / 1e9);
        return 0;
    }
    a->workspace_bytes = bytes;
    a->workspace = bench_bytes(bytes ? bytes : 16);
    return 1;
}

static void rows(enum bench_type E, struct shape z)
{
    size_t nq = (size_t)z.B * z.T * z.H * z.D, nk = (size_t)z.B * z.T * z.K * z.D;
    char name[64], heads[32], window[32] = "";
    snprintf(heads, sizeof heads, z.H == z.K ? "%d" : "%d/%d", z.H, z.K);
    if (z.window != WB_ALL) snprintf(window, sizeof window, " W%d", z.window);
    snprintf(name, sizeof name, "B%d H%s T%d D%d%s", z.B, heads, z.T, z.D, window);

    struct attention a = {.E = E, .z = z, .scale = 1.0f / sqrtf((float)z.D)};
    a.out = bench_tensor(E, nq), a.q = bench_tensor(E, nq), a.dout = bench_tensor(E, nq);
    a.k = bench_tensor(E, nk), a.v = bench_tensor(E, nk), a.dq = bench_tensor(E, nq);
    a.dk = bench_tensor(E, nk), a.dv = bench_tensor(E, nk);
    a.lse = bench_tensor(BENCH_F32, (size_t)z.B * z.H * z.T);

    double gemm = 2.0 * pairs(&z) * z.B * z.H * z.D;
    size_t bytes =
        BENCH_CALL(E, attention_forward_workspace, z.B, z.T, z.T, z.H, z.K, z.D);
    if (allocate(&a, bytes, "attention_forward", name))
        bench_flops("attention_forward", E, name, 2 * gemm, forward, &a);
    bytes = BENCH_CALL(E, attention_backward_workspace, z.B, z.T, z.T, z.H, z.K, z.D);
    if (allocate(&a, bytes, "attention_backward", name))
        bench_flops("attention_backward", E, name, 5 * gemm, backward, &a);
    bench_free_all();
}

void bench_op(void)
{
    static const struct shape gpu[] = {
        {4, 16, 16, 4096, 64, WB_ALL},  {4, 16, 16, 4096, 128, WB_ALL},
        {4, 16, 16, 4096, 256, WB_ALL}, {1, 10, 1, 8192, 256, 2048},
        {4, 32, 8, 4096, 128, WB_ALL},  {64, 6, 6, 256, 64, WB_ALL},
    };
    static const struct shape small = {1, 16, 16, 2048, 64, WB_ALL}; /* every rung */
    static const struct shape cpu[] = {
        {12, 4, 4, 64, 32, WB_ALL}, {1, 4, 1, 128, 64, 32}};
    const struct shape *shapes = bench_on_gpu ? gpu : cpu;
    int count = bench_on_gpu ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        rows(BENCH_BF16, shapes[i]);
    if (bench_on_gpu) rows(BENCH_F16, gpu[0]), rows(BENCH_F16, gpu[1]);
    static const struct shape hopper[] = {
        {1, 2, 2, 128, 64, WB_ALL},
        {1, 2, 2, 128, 128, WB_ALL},
        {1, 2, 1, 128, 256, WB_ALL}};
    for (int i = 0; bench_once && i < 3; i++)
        rows(BENCH_BF16, hopper[i]);
    rows(BENCH_F32, bench_on_gpu ? small : cpu[0]);
    if (bench_on_gpu) rows(BENCH_BF16, small);
}
