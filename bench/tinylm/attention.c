/* attention.c - a training step with the attention of lab 05 and with its rung zero,
 * batched GEMMs: two models of the same sizes, whose steps alternate.
 *
 *     build/<backend>/bench/tinylm/attention --csv FILE [--runs N] [options of train]
 */
#include "tools.h"

#include <stdlib.h>

enum { RUNGS = 2, WARM = 3 };  // the first step allocates, the second records the graph
static const char *const rungs[RUNGS] = {"gemm", "lab05"};

static void open_trainer(trainer *t, model *m, const bench_args *a, const char *rung)
{
    bench_args mine = *a;
    snprintf(mine.o.attention, sizeof mine.o.attention, "%s", rung);
    bench_trainer(t, m, &mine, &one_rank);
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
            double one = bench_step_ms(&t[i]);
            if (run < 0) continue;
            ms[i][run] = one;
            fprintf(
                csv, "%s,%s,%s,%s,%d,%.6f\n", machine_name(), a.o.preset,
                wb_dtype_name(m[0].config.dtype), rungs[i], run, one);
        }
    printf("%s, %s, %s\n", machine_name(), a.o.preset, wb_dtype_name(m[0].config.dtype));
    for (int i = 0; i < RUNGS; i++) {
        median[i] = bench_median(ms[i], a.runs);
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
