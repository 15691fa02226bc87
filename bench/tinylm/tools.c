/* tools.c - see tools.h. */
#include "tools.h"
#include "../../common/progress.h"
#include "../../tinylm/from_options.h"
#include "../../tinylm/reduction.h"

#include <stdlib.h>
#include <string.h>

void bench_stop(const char *text)
{
    fprintf(stderr, "bench: %s\n", text);
    exit(1);
}

// A whole number from 1 to a million after a flag.
static int number(const char *flag, const char *value)
{
    char *end, text[200];
    long n = strtol(value, &end, 10);
    if (end != value && !*end && n >= 1 && n <= 1000000) return (int)n;
    snprintf(
        text, sizeof text, "%s: '%.40s' is not a whole number from 1 to 1000000", flag,
        value);
    bench_stop(text);
}

void bench_read_args(bench_args *a, int argc, char **argv)
{
    wb_error err;
    int n = 0;
    *a = (bench_args){.runs = 10, .longest = 4096};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--csv") == 0)
            a->csv = value, i++;
        else if (strcmp(argv[i], "--runs") == 0)
            a->runs = number("--runs", value), i++;
        else if (strcmp(argv[i], "--longest") == 0)
            a->longest = number("--longest", value), i++;
        else
            argv[n++] = argv[i];
    }
    options_default(&a->o);
    if (options_flags(&a->o, n, argv, FOR_TRAIN, &err) ||
        options_preset(&a->o, a->o.preset, &err) ||
        options_flags(&a->o, n, argv, FOR_TRAIN, &err))
        bench_stop(err.text);
}

void bench_config(const bench_args *a, model_config *c)
{
    wb_error err;
    if (config_from_options(c, &a->o, BENCH_VOCAB, &err)) bench_stop(err.text);
}

void bench_trainer(trainer *t, model *m, const bench_args *a, const ranks *k)
{
    static int text[1 << 16];
    model_config c;
    model_recipe r;
    wb_error err;
    wb_dtype reduced = strcmp(a->o.reduce, "bf16") == 0 ? WB_BF16 : WB_F32;
    for (int i = 0; i < 1 << 16; i++)
        text[i] = (int)((uint32_t)i * 2654435761u >> 16) % BENCH_VOCAB;
    bench_config(a, &c);
    if (recipe_from_options(&r, &a->o, &err) ||
        model_create_rank(
            m, &c, (int)a->o.batch / k->size, c.shape.context, r.accum, k, a->o.shard,
            &err) ||
        reduction_open(m, reduced, (size_t)(a->o.bucket * 1e6), &err))
        bench_stop(err.text);
    model_initialise(m, 1);
    trainer_open(t, m, &r, text, 1 << 16, 1, 0, !a->o.gen.no_graph);
}

double bench_step_ms(trainer *t)
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

double bench_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

FILE *bench_csv(const char *path, const char *head)
{
    char text[1200], first[600] = "";
    if (!path || !*path) bench_stop("give --csv FILE");
    FILE *f = fopen(path, "a+");
    if (!f) {
        snprintf(text, sizeof text, "cannot write %.1000s", path);
        bench_stop(text);
    }
    rewind(f);
    if (!fgets(first, sizeof first, f)) {
        fprintf(f, "%s\n", head);
    } else if (strncmp(first, head, strlen(head)) != 0) {
        snprintf(text, sizeof text, "%.1000s has other columns: remove it", path);
        bench_stop(text);
    }
    return f;
}

void bench_close(FILE *f, const char *path)
{
    bool bad = ferror(f);
    if (!fclose(f) && !bad) return;
    char text[1200];
    snprintf(text, sizeof text, "%.1000s could not be written completely", path);
    bench_stop(text);
}
