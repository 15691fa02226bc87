/* rglru.c - rows of lab 06's benchmark. */
#include "rglru.h"

#include <stdio.h>

#include "kernels.h"

/* --- what stands around the scan: parts 06.1 to 06.3 ---------------------------------- */

struct block {
    enum bench_type E;
    int B, T, G, M, width;
    void *c, *px, *pa, *wx, *bx, *wa, *ba, *w, *dc, *dpx, *dpa, *workspace;
    float *a, *z, *dwx, *dbx, *dwa, *dba;
    size_t workspace_bytes;
};

static wb_status matrices(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, block_linear_forward, n->px, n->pa, n->c, n->wx, n->bx, n->wa, n->ba,
        n->B * n->T, n->G, n->M, NULL);
}

static wb_status matrices_back(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, block_linear_backward, n->dc, n->dwx, n->dbx, n->dwa, n->dba, n->dc, n->dpx,
        n->dpa, n->c, n->wx, n->wa, n->B * n->T, n->G, n->M, n->workspace,
        n->workspace_bytes, NULL);
}

static wb_status conv(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, conv1d_forward, n->px, NULL, n->c, n->w, n->bx, NULL, NULL, n->B, n->T,
        n->G * n->M, n->width, n->G * n->M, NULL);
}

static wb_status conv_back(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, conv1d_backward, n->dc, n->dwx, n->dbx, n->dpx, n->c, n->w, NULL, n->B,
        n->T, n->G * n->M, n->width, n->G * n->M, n->workspace, n->workspace_bytes, NULL);
}

static wb_status gates(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, rglru_gates_forward, n->a, n->z, n->c, n->px, n->pa, n->bx, NULL, n->B,
        n->T, n->G * n->M, NULL);
}

static wb_status gates_back(const void *context)
{
    const struct block *n = context;
    return BENCH_CALL(
        n->E, rglru_gates_backward, n->dc, n->dpx, n->dpa, n->dbx, n->a, n->z, n->c,
        n->px, n->pa, n->bx, NULL, n->B, n->T, n->G * n->M, n->workspace,
        n->workspace_bytes, NULL);
}

static void block_rows(enum bench_type E, int B, int T, int G, int M)
{
    size_t R = (size_t)B * T, C = (size_t)G * M, n = R * C;
    double tensor = (double)n * bench_type_size[E], floats = n * 4.0;
    double product = 2.0 * R * C * M;
    struct block b = {.E = E, .B = B, .T = T, .G = G, .M = M, .width = 4};
    void **tensors[] = {&b.c, &b.px, &b.pa, &b.dc, &b.dpx, &b.dpa};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        *tensors[i] = bench_tensor(E, n);
    b.wx = bench_tensor(E, C * M), b.wa = bench_tensor(E, C * M);
    b.bx = bench_tensor(E, C), b.ba = bench_tensor(E, C), b.w = bench_tensor(E, 8 * C);
    b.dwx = bench_tensor(BENCH_F32, C * M), b.dwa = bench_tensor(BENCH_F32, C * M);
    b.dbx = bench_tensor(BENCH_F32, C), b.dba = bench_tensor(BENCH_F32, C);
    b.a = bench_tensor(BENCH_F32, n), b.z = bench_tensor(BENCH_F32, n);
    size_t spaces[] = {
        BENCH_CALL(E, block_linear_backward_workspace, B * T, G, M),
        BENCH_CALL(E, conv1d_backward_workspace, B, T, (int)C, b.width),
        BENCH_CALL(E, rglru_gates_backward_workspace, B, T, (int)C)};
    for (int i = 0; i < 3; i++)
        if (spaces[i] > b.workspace_bytes) b.workspace_bytes = spaces[i];
    b.workspace = bench_bytes(b.workspace_bytes);

    char shape[48];
    snprintf(shape, sizeof shape, "%zux%dx%d", R, G, M);
    bench_flops("block_linear_forward", E, shape, 2 * product, matrices, &b);
    bench_flops("block_linear_backward", E, shape, 4 * product, matrices_back, &b);
    snprintf(shape, sizeof shape, "%dx%dx%zu", B, T, C);
    bench_row("conv1d_forward", E, shape, 2 * tensor, conv, &b);
    bench_row("conv1d_backward", E, shape, 3 * tensor, conv_back, &b);
    bench_row("rglru_gates_forward", E, shape, 3 * tensor + 2 * floats, gates, &b);
    bench_row("rglru_gates_backward", E, shape, 6 * tensor + 2 * floats, gates_back, &b);
    bench_free_all();
}

/* --- the op's part ------------------------------------------------------------------- */

void bench_op(void)
{
    static const int card[][4] = {
        {8, 4096, 10, 256}, {1, 4096, 10, 256}, {64, 256, 6, 64}};
    static const int cpu[][4] = {{12, 64, 4, 32}};
    const int(*shapes)[4] = bench_on_card ? card : cpu;
    int count = bench_on_card ? sizeof card / sizeof *card : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        for (int E = BENCH_F32; E <= BENCH_BF16; E++)
            if (E != BENCH_F16)
                block_rows(
                    (enum bench_type)E, shapes[i][0], shapes[i][1], shapes[i][2],
                    shapes[i][3]);
}
