/* rglru.c - rows of lab 06's benchmark. */
#include "rglru.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernels.h"

/* --- parts 06.1 to 06.3 ------------------------------------------------------------- */

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

/* --- the scan and the fused pass: parts 06.4 and 06.5 ------------------------------- */

struct row {
    enum bench_type E;
    int B, T, C;
    void *c, *px, *pa, *y, *a_param, *out, *dc, *dpx, *dpa, *dy, *workspace;
    float *states, *state, *da_param;
    size_t workspace_bytes;
};

static wb_status scan(const void *context)
{
    const struct row *n = context;
    return BENCH_CALL(
        n->E, linear_scan_forward, n->out, NULL, n->c, n->px, NULL, n->B, n->T, n->C,
        n->workspace, n->workspace_bytes, NULL);
}

static wb_status scan_back(const void *context)
{
    const struct row *n = context;
    return BENCH_CALL(
        n->E, linear_scan_backward, n->dc, n->dpx, NULL, n->c, NULL, n->px, n->pa, NULL,
        n->B, n->T, n->C, n->workspace, n->workspace_bytes, NULL);
}

/* as in prefill: from and to a state */
static wb_status fused(const void *context)
{
    const struct row *n = context;
    return BENCH_CALL(
        n->E, rglru_forward, n->out, NULL, n->state, n->c, n->px, n->pa, n->y, n->a_param,
        NULL, NULL, n->B, n->T, n->C, n->C, n->workspace, n->workspace_bytes, NULL);
}

/* as in training: h is stored for the backward pass */
static wb_status fused_kept(const void *context)
{
    const struct row *n = context;
    return BENCH_CALL(
        n->E, rglru_forward, n->out, n->states, NULL, n->c, n->px, n->pa, n->y,
        n->a_param, NULL, NULL, n->B, n->T, n->C, n->C, n->workspace, n->workspace_bytes,
        NULL);
}

static wb_status fused_back(const void *context)
{
    const struct row *n = context;
    return BENCH_CALL(
        n->E, rglru_backward, n->dc, n->dpx, n->dpa, n->dy, n->da_param, n->out, n->c,
        n->px, n->pa, n->y, n->states, n->a_param, NULL, n->B, n->T, n->C, n->C,
        n->workspace, n->workspace_bytes, NULL);
}

static void row_rows(enum bench_type E, int B, int T, int C)
{
    size_t n = (size_t)B * T * C;
    double tensor = (double)n * bench_type_size[E], floats = n * 4.0;
    struct row r = {.E = E, .B = B, .T = T, .C = C};
    void **tensors[] = {&r.c, &r.px, &r.pa, &r.y, &r.out, &r.dc, &r.dpx, &r.dpa, &r.dy};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        *tensors[i] = bench_tensor(E, n);
    r.a_param = bench_tensor(E, C);
    r.states = bench_tensor(BENCH_F32, n);
    r.state = bench_tensor(BENCH_F32, (size_t)B * C);
    r.da_param = bench_tensor(BENCH_F32, C);
    size_t spaces[] = {
        BENCH_CALL(E, linear_scan_forward_workspace, B, T, C),
        BENCH_CALL(E, linear_scan_backward_workspace, B, T, C),
        BENCH_CALL(E, rglru_forward_workspace, B, T, C),
        BENCH_CALL(E, rglru_backward_workspace, B, T, C)};
    for (int i = 0; i < 4; i++)
        if (spaces[i] > r.workspace_bytes) r.workspace_bytes = spaces[i];
    r.workspace = bench_bytes(r.workspace_bytes);

    char shape[48];
    snprintf(shape, sizeof shape, "%dx%dx%d", B, T, C);
    bench_row("linear_scan_forward", E, shape, 3 * tensor, scan, &r);
    bench_row("linear_scan_backward", E, shape, 5 * tensor, scan_back, &r);
    bench_row("rglru_forward", E, shape, 5 * tensor, fused, &r);
    bench_row("rglru_forward, h kept", E, shape, 5 * tensor + floats, fused_kept, &r);
    bench_row("rglru_backward", E, shape, 9 * tensor + floats, fused_back, &r);
    bench_free_all();
}

/* --- one token: part 06.6 ----------------------------------------------------------- */

struct token {
    enum bench_type E;
    int B, G, M, width, *pos;
    void *out, *ring, *x, *y, *w, *bias, *wx, *bx, *wa, *ba, *a_param;
    float *state;
};

static wb_status step(const void *context)
{
    const struct token *n = context;
    return BENCH_CALL(
        n->E, rglru_step, n->out, n->ring, n->state, n->x, n->y, n->w, n->bias, n->wx,
        n->bx, n->wa, n->ba, n->a_param, n->pos, n->B, n->G, n->M, n->width, n->G * n->M,
        NULL);
}

static void token_row(enum bench_type E, int B, int G, int M)
{
    size_t C = (size_t)G * M, n = B * C, size = bench_type_size[E];
    struct token t = {.E = E, .B = B, .G = G, .M = M, .width = 4};
    t.out = bench_tensor(E, n), t.x = bench_tensor(E, n), t.y = bench_tensor(E, n);
    t.ring = bench_tensor(E, 4 * n), t.w = bench_tensor(E, 4 * C);
    t.bias = bench_tensor(E, C), t.bx = bench_tensor(E, C), t.ba = bench_tensor(E, C);
    t.wx = bench_tensor(E, C * M), t.wa = bench_tensor(E, C * M);
    t.a_param = bench_tensor(E, C), t.state = bench_tensor(BENCH_F32, n);
    t.pos = bench_bytes(B * sizeof *t.pos);
    cudaMemset(t.pos, 1, B * sizeof *t.pos); /* far into a document */
    double weights = (2.0 * C * M + 8.0 * C) * size;
    double rows = n * (7.0 * size + 8.0); /* x, y, out, 3 slots read, 1 written, state */
    char shape[48];
    snprintf(shape, sizeof shape, "%dx%dx%d", B, G, M);
    bench_row("rglru_step", E, shape, weights + rows, step, &t);
    bench_free_all();
}

/* --- the op's part ------------------------------------------------------------------ */

void bench_op(void)
{
    static const int gpu[][4] = {
        {8, 4096, 10, 256}, {1, 4096, 10, 256}, {64, 256, 6, 64}};
    static const int cpu[][4] = {{12, 64, 4, 32}};
    const int(*shapes)[4] = bench_on_gpu ? gpu : cpu;
    int count = bench_on_gpu ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        for (int E = BENCH_F32; E <= BENCH_BF16; E++)
            if (E != BENCH_F16) {
                const int *n = shapes[i];
                block_rows((enum bench_type)E, n[0], n[1], n[2], n[3]);
                row_rows((enum bench_type)E, n[0], n[1], n[2] * n[3]);
            }
    if (bench_once) {
        block_rows(BENCH_BF16, 1, 256, 1, 64);
        row_rows(BENCH_BF16, 1, 2048, 576); /* Hopper: clusters that walk */
        row_rows(BENCH_BF16, 99, 260, 72);  /* blocks that fetch their next chunk */
    }
    static const int batches[] = {1, 8, 64};
    for (int i = 0; i < 3; i++) {
        if (bench_once) token_row(BENCH_BF16, batches[i], 2, 256);
        if (bench_on_gpu)
            token_row(BENCH_BF16, batches[i], 10, 256);
        else
            token_row(BENCH_F32, batches[i], 4, 32);
    }
}
