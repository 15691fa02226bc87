/* rope.c - the rows of lab 02's benchmark. */
#include "rope.h"

#include <stdio.h>

#include "kernels.h"

struct rope {
    enum bench_type E;
    int B, T, H, D, N, ld;
    void *out, *x;
    float *cis;
};

static wb_status table(const void *context)
{
    const struct rope *r = context;
    return rope_table_f32(r->cis, r->T, r->N, 10000.0f, NULL);
}

static wb_status forward(const void *context)
{
    const struct rope *r = context;
    return BENCH_CALL(
        r->E, rope_forward, r->out, r->x, r->cis, NULL, r->B, r->T, r->H, r->D, r->N,
        r->ld, NULL);
}

static wb_status backward(const void *context)
{
    const struct rope *r = context;
    return BENCH_CALL(
        r->E, rope_backward, r->out, r->x, r->cis, NULL, r->B, r->T, r->H, r->D, r->N,
        r->ld, NULL);
}

/* heads: queries and keys together. Out of place, and in place in a packed GEMM result
 * whose rows end with heads/2 value heads. */
static void rows(enum bench_type E, int B, int T, int heads, int D)
{
    struct rope r = {E, B, T, heads, D, D, heads * D, NULL, NULL, NULL};
    size_t n = (size_t)B * T * heads * D;
    double bytes = 2.0 * n * bench_type_size[E] + 4.0 * T * D;
    char shape[40];
    r.cis = bench_tensor(BENCH_F32, (size_t)T * D);
    WB_CHECK(table(&r));
    r.x = bench_tensor(E, n), r.out = bench_tensor(E, n);
    snprintf(shape, sizeof shape, "%dx%dx%dx%d", B, T, heads, D);
    bench_row("rope_forward", E, shape, bytes, forward, &r);
    bench_row("rope_backward", E, shape, bytes, backward, &r);

    r.ld = heads * D * 3 / 2;
    r.x = r.out = bench_tensor(E, n / 2 * 3);
    bench_row("rope_forward in place", E, shape, bytes, forward, &r);
    bench_row("rope_backward in place", E, shape, bytes, backward, &r);
    bench_free_all();
}

void bench_op(void)
{
    static const int gpu[][4] = {{8, 2048, 32, 128}, {64, 256, 12, 64}};
    static const int cpu[][4] = {{12, 64, 8, 32}};
    const int(*shapes)[4] = bench_on_gpu ? gpu : cpu;
    int count = bench_on_gpu ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        for (int E = BENCH_F32; E <= BENCH_BF16; E++)
            if (E != BENCH_F16)
                rows(
                    (enum bench_type)E, shapes[i][0], shapes[i][1], shapes[i][2],
                    shapes[i][3]);
    struct rope r = {.T = bench_on_gpu ? 131072 : 1024, .N = 128};
    r.cis = bench_bytes((size_t)r.T * r.N * 4);
    char shape[40];
    snprintf(shape, sizeof shape, "%dx%dx2", r.T, r.N / 2);
    bench_row("rope_table", BENCH_F32, shape, 4.0 * r.T * r.N, table, &r);
    bench_free_all();
}
