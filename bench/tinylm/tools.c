/* tools.c - see tools.h. */
#include "tools.h"
#include "../../tinylm/recipe.h"

#include <stdlib.h>
#include <string.h>

void bench_stop(const char *text)
{
    fprintf(stderr, "bench: %s\n", text);
    exit(1);
}

// A whole number from 1 to a million behind a flag.
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
    if (recipe_config(c, &a->o, BENCH_VOCAB, &err)) bench_stop(err.text);
}

// The processor's name as Linux has it; the CPU back end's own names the workers only.
static void cpu_name(char *name, size_t room)
{
    char line[300];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = 0;
        snprintf(name, room, "%.200s", value + 2);
        break;
    }
    if (f) fclose(f);
}

const char *bench_machine(void)
{
    static char name[300];
    struct cudaDeviceProp p;
    CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
    snprintf(name, sizeof name, "%.250s", p.name);
    if (p.integrated) {
        cpu_name(name, sizeof name);
        size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, " (%d threads)", p.multiProcessorCount);
    }
    for (char *s = name; *s; s++)
        if (*s == ',' || *s == '"') *s = ' ';
    return name;
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
    snprintf(text, sizeof text, "%.1000s could not be written whole", path);
    bench_stop(text);
}
