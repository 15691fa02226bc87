/* tools.c - see tools.h. */
#include "tools.h"
#include "../../tinylm/from_options.h"

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
    if (!a->csv || !*a->csv) bench_stop("give --csv FILE");
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

FILE *bench_csv(const char *path, const char *head)
{
    char text[1200], first[600] = "";
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
