/* rmsnorm.c - the rows of lab 03's benchmark. */
#include "rmsnorm.h"

#include <stdio.h>

#include "kernels.h"

struct norm {
    enum bench_type E;
    int R, C;
    void *out, *sum, *x, *res, *w, *dres, *workspace;
    float *rstd, *dw;
    size_t workspace_bytes;
};

static wb_status forward(const void *context)
{
    const struct norm *n = context;
    return BENCH_CALL(
        n->E, rmsnorm_forward, n->out, n->rstd, n->x, n->w, n->R, n->C, 1e-5f, 0.0f,
        NULL);
}

static wb_status residual_forward(const void *context)
{
    const struct norm *n = context;
    return BENCH_CALL(
        n->E, rmsnorm_residual_forward, n->out, n->sum, n->rstd, n->x, n->res, n->w, n->R,
        n->C, 1e-5f, 0.0f, NULL);
}

static wb_status backward(const void *context)
{
    const struct norm *n = context;
    return BENCH_CALL(
        n->E, rmsnorm_backward, n->out, n->dw, n->res, n->x, n->w, n->rstd, n->dres, n->R,
        n->C, 0.0f, n->workspace, n->workspace_bytes, NULL);
}

static void rows(enum bench_type E, int R, int C)
{
    size_t n = (size_t)R * C;
    double tensor = (double)n * bench_type_size[E];
    double small = C * (double)bench_type_size[E] + R * 4.0; /* w and rstd */
    char shape[32];
    snprintf(shape, sizeof shape, "%dx%d", R, C);
    struct norm norm = {.E = E, .R = R, .C = C};
    norm.out = bench_tensor(E, n), norm.sum = bench_tensor(E, n);
    norm.x = bench_tensor(E, n), norm.res = bench_tensor(E, n);
    norm.w = bench_tensor(E, C), norm.dw = bench_tensor(BENCH_F32, C);
    norm.rstd = bench_tensor(BENCH_F32, R);
    norm.workspace_bytes = BENCH_CALL(E, rmsnorm_backward_workspace, R, C);
    norm.workspace = bench_bytes(norm.workspace_bytes);

    bench_row("rmsnorm_forward", E, shape, 2 * tensor + small, forward, &norm);
    bench_row(
        "rmsnorm_residual_forward", E, shape, 4 * tensor + small, residual_forward,
        &norm);
    bench_row(
        "rmsnorm_backward", E, shape, 3 * tensor + small + 8.0 * C, backward, &norm);
    norm.dres = norm.sum;
    bench_row(
        "rmsnorm_backward dres", E, shape, 4 * tensor + small + 8.0 * C, backward, &norm);
    bench_free_all();
}

void bench_op(void)
{
    static const int gpu[][2] = {{4096, 4096},  {16384, 2560}, {16384, 384}, {8192, 8192},
                                 {4096, 16384}, {2048, 16384}, {131072, 128}};
    static const int cpu[][2] = {{768, 128}, {256, 1024}, {64, 4096}};
    const int(*shapes)[2] = bench_on_gpu ? gpu : cpu;
    int count = bench_on_gpu ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        for (int E = BENCH_F32; E <= BENCH_BF16; E++)
            if (E != BENCH_F16) rows((enum bench_type)E, shapes[i][0], shapes[i][1]);
    if (bench_once) rows(BENCH_F32, 64, 1001); /* not whole vectors */
}
