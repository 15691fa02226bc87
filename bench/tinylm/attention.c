/* attention.c - a training step with the attention of lab 05 and with its rung zero,
 * batched GEMMs: two models of the same sizes, whose steps alternate.
 *
 *     build/<backend>/bench/tinylm/attention --csv FILE [--runs N] [options of train]
 */
#include "../../common/progress.h"
#include "../../tinylm/from_options.h"
#include "../../tinylm/trainer.h"
#include "tools.h"

#include <stdlib.h>
#include <string.h>

enum { RUNGS = 2, WARM = 3 };  // the first step allocates, the second records the graph
static const char *const rungs[RUNGS] = {"gemm", "lab05"};

static void open_trainer(trainer *t, model *m, const bench_args *a, const char *rung)
{
    static int text[1 << 16];
    bench_args mine = *a;
    model_config c;
    model_recipe r;
    wb_error err;
    for (int i = 0; i < 1 << 16; i++)
        text[i] = (int)((uint32_t)i * 2654435761u >> 16) % BENCH_VOCAB;
    snprintf(mine.o.attention, sizeof mine.o.attention, "%s", rung);
    bench_config(&mine, &c);
    if (recipe_from_options(&r, &mine.o, &err) ||
        model_create(m, &c, (int)a->o.batch, c.shape.context, r.accum, MODEL_TRAIN, &err))
        bench_stop(err.text);
    model_initialise(m, 1);
    trainer_open(t, m, &r, text, 1 << 16, 1, 0, !a->o.gen.no_graph);
}

static double step_ms(trainer *t)
{
    double start = seconds_now();
    trainer_step(t);
    CUDA_CHECK(cudaStreamSynchronize(t->m->stream));
    return 1e3 * (seconds_now() - start);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static bench_args a;
    static trainer t[RUNGS];
    static model m[RUNGS];
    bench_read_args(&a, argc, argv);
    double *ms[RUNGS], median[RUNGS];
    for (int i = 0; i < RUNGS; i++) {
        open_trainer(&t[i], &m[i], &a, rungs[i]);
        ms[i] = calloc((size_t)a.runs, sizeof *ms[i]);
        if (!ms[i]) bench_stop("no memory");
    }
    FILE *csv = bench_csv(a.csv, "machine,model,dtype,attention,run,ms");
    for (int run = -WARM; run < a.runs; run++)
        for (int i = 0; i < RUNGS; i++) {
            double one = step_ms(&t[i]);
            if (run < 0) continue;
            ms[i][run] = one;
            fprintf(
                csv, "%s,%s,%s,%s,%d,%.6f\n", machine_name(), a.o.preset,
                model_dtype_name(m[0].config.dtype), rungs[i], run, one);
        }
    printf(
        "%s, %s, %s\n", machine_name(), a.o.preset, model_dtype_name(m[0].config.dtype));
    for (int i = 0; i < RUNGS; i++) {
        qsort(ms[i], (size_t)a.runs, sizeof *ms[i], by_value);
        median[i] = ms[i][a.runs / 2];
        printf(
            "attention %-6s %9.3f ms per step, median of %d (%.3f to %.3f)\n", rungs[i],
            median[i], a.runs, ms[i][0], ms[i][a.runs - 1]);
        trainer_close(&t[i]);
        model_destroy(&m[i]);
        free(ms[i]);
    }
    printf("lab05 takes %.2f of the time of gemm\n", median[1] / median[0]);
    bench_close(csv, a.csv);
    return 0;
}
