/* basics.c - the rows of lab 00's benchmark: the functions with several rungs. */
#include "basics.h"

#include <stdio.h>

#include "kernels.h"

struct matrix {
    int R, C;
    float *out, *x, *w;
};

static wb_status scale_rows(const void *context)
{
    const struct matrix *m = context;
    return scale_rows_f32(m->out, m->x, m->w, m->R, m->C, NULL);
}

static wb_status transpose(const void *context)
{
    const struct matrix *m = context;
    return transpose_f32(m->out, m->x, m->R, m->C, NULL);
}

static wb_status sum_rows(const void *context)
{
    const struct matrix *m = context;
    return sum_rows_f32(m->out, m->x, m->R, m->C, NULL);
}

static wb_status sum_rows_warp(const void *context)
{
    const struct matrix *m = context;
    return sum_rows_warp_f32(m->out, m->x, m->R, m->C, NULL);
}

void bench_op(void)
{
    struct matrix m = {.R = bench_on_gpu ? 16384 : 512, .C = bench_on_gpu ? 4096 : 512};
    size_t n = (size_t)m.R * m.C;
    double bytes = 4.0 * n;
    char shape[32];
    snprintf(shape, sizeof shape, "%dx%d", m.R, m.C);
    m.out = bench_tensor(BENCH_F32, n), m.x = bench_tensor(BENCH_F32, n);
    m.w = bench_tensor(BENCH_F32, m.R);
    bench_row("scale_rows", BENCH_F32, shape, 2 * bytes, scale_rows, &m);
    bench_row("transpose", BENCH_F32, shape, 2 * bytes, transpose, &m);
    bench_row("sum_rows", BENCH_F32, shape, bytes, sum_rows, &m);
    bench_row("sum_rows_warp", BENCH_F32, shape, bytes, sum_rows_warp, &m);
    bench_free_all();
}
