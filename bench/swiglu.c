/* swiglu.c - the rows of lab 01's benchmark. */
#include "swiglu.h"

#include <stdio.h>

#include "kernels.h"

struct gated {
    enum bench_type E;
    int R, F, ld;
    void *out, *dout, *gate, *up, *dgate, *dup;
};

static wb_status swiglu_forward(const void *context)
{
    const struct gated *g = context;
    return BENCH_CALL(
        g->E, swiglu_forward, g->out, g->gate, g->up, g->R, g->F, g->ld, NULL);
}

static wb_status swiglu_backward(const void *context)
{
    const struct gated *g = context;
    return BENCH_CALL(
        g->E, swiglu_backward, g->dgate, g->dup, g->dout, g->gate, g->up, g->R, g->F,
        g->ld, NULL);
}

static wb_status geglu_forward(const void *context)
{
    const struct gated *g = context;
    return BENCH_CALL(
        g->E, geglu_forward, g->out, g->gate, g->up, g->R, g->F, g->ld, NULL);
}

static wb_status geglu_backward(const void *context)
{
    const struct gated *g = context;
    return BENCH_CALL(
        g->E, geglu_backward, g->dgate, g->dup, g->dout, g->gate, g->up, g->R, g->F,
        g->ld, NULL);
}

static void rows(enum bench_type E, int R, int F, int packed)
{
    size_t n = (size_t)R * F;
    double tensor = (double)n * bench_type_size[E];
    char shape[32];
    snprintf(shape, sizeof shape, "%dx%d", R, F);
    struct gated g = {.E = E, .R = R, .F = F, .ld = packed ? 2 * F : F};
    g.out = bench_tensor(E, n), g.dout = bench_tensor(E, n);
    g.gate = bench_tensor(E, 2 * n), g.dgate = bench_tensor(E, 2 * n);
    size_t up = (packed ? (size_t)F : n) * bench_type_size[E]; /* bytes from gate to up */
    g.up = (char *)g.gate + up, g.dup = (char *)g.dgate + up;

    bench_row(
        packed ? "swiglu_forward packed" : "swiglu_forward", E, shape, 3 * tensor,
        swiglu_forward, &g);
    bench_row(
        packed ? "swiglu_backward packed" : "swiglu_backward", E, shape, 5 * tensor,
        swiglu_backward, &g);
    bench_row(
        packed ? "geglu_forward packed" : "geglu_forward", E, shape, 3 * tensor,
        geglu_forward, &g);
    bench_row(
        packed ? "geglu_backward packed" : "geglu_backward", E, shape, 5 * tensor,
        geglu_backward, &g);
    bench_free_all();
}

void bench_op(void)
{
    static const int gpu[][2] = {{8192, 11008}, {16384, 1024}};
    static const int cpu[][2] = {{768, 344}};
    const int(*shapes)[2] = bench_on_gpu ? gpu : cpu;
    int count = bench_on_gpu ? sizeof gpu / sizeof *gpu : sizeof cpu / sizeof *cpu;
    for (int i = 0; i < count; i++)
        for (int E = BENCH_F32; E <= BENCH_BF16; E++)
            for (int packed = 0; packed < 2; packed++)
                if (E != BENCH_F16)
                    rows((enum bench_type)E, shapes[i][0], shapes[i][1], packed);
}
