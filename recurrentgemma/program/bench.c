/* bench.c - --bench: B sequences with prompts of P random tokens that generate G, timed.
 * Each time has its lower bound next to it: for prefill, the FLOPs it needs at the rate
 * of a large GEMM; for a step, the bytes it must move at the speed of a large copy. Both
 * rates are measured in the same run. */
#include "ceiling.h"
#include "cost.h"
#include "devices.h"
#include "kernels.h"
#include "machine.h"
#include "progress.h"
#include "session.h"
#include "wb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 64, REPEATS = 5 };

typedef struct bench_case {
    int B, P, G;
} bench_case;

// All times in seconds; medians.
typedef struct figures {
    int repeats;
    double prefill, step; /* step: one token of every sequence */
    double total;         /* prefill and all steps */
    double flops, bytes;  /* that prefill and, on average, a step need */
    double device;        /* bytes */
} figures;

/* --- cases -------------------------------------------------------------------------- */

// A whole number from 1 to 1e8 and the separator after it; 0: none.
static int size_of(const char **p, char after)
{
    char *end;
    errno = 0;
    long n = **p >= '0' && **p <= '9' ? strtol(*p, &end, 10) : 0;
    if (n < 1 || n > 100000000 || (*end != after && !(after == ',' && !*end))) return 0;
    *p = *end ? end + 1 : end;
    return (int)n;
}

static int read_cases(const char *text, bench_case *cases, wb_error *err)
{
    int n = 0;
    const char *p = text;
    do {
        const char *word = p;
        bench_case c = {0};
        if ((c.B = size_of(&p, 'x')) && (c.P = size_of(&p, 'x'))) c.G = size_of(&p, ',');
        if (!c.G)
            return error_set(
                err,
                "--bench: '%.40s' is not BxPxG: sequences, prompt tokens, generated tokens, "
                "each 1 or more, as in 1x512x128,32x512x64",
                word);
        if (n == MAX_CASES)
            return error_set(err, "--bench: more than %d cases", MAX_CASES);
        cases[n++] = c;
    } while (*p);
    return n;
}

/* --- one case ----------------------------------------------------------------------- */

// P ids for each of B sequences.
static int **random_prompts(const bench_case *c, int vocab, uint64_t seed)
{
    size_t B = (size_t)c->B, P = (size_t)c->P;
    int **prompts = malloc(B * sizeof *prompts), *ids = malloc(B * P * sizeof *ids);
    for (size_t b = 0; prompts && ids && b < B; b++) {
        prompts[b] = ids + b * P;
        for (size_t t = 0; t < P; t++) {
            uint32_t r[4];
            wb_random(r, seed, (uint32_t)t, (uint32_t)b, 0, 0);
            prompts[b][t] = (int)(r[0] % (uint32_t)vocab);
        }
    }
    if (prompts && ids) return prompts;
    free(prompts), free(ids);
    return NULL;
}

// One run: the seconds of the prefill and of the G - 1 steps.
static int once(
    session *s, const bench_case *c, int *const *prompts, const int *count,
    double *prefill, double *steps, wb_error *err)
{
    for (int b = 0; b < c->B; b++)
        rg_reset(s->e, b, s->o->gen.seed + (uint64_t)b);
    devices_largest(0);  // all start together
    double t0 = seconds_now();
    int rc = rg_prefill(s->e, (const int *const *)prompts, count, err);
    double t1 = seconds_now();
    if (rc >= 0 && c->G > 1) rc = rg_step(s->e, c->G - 1, err);
    double t2 = seconds_now();
    if (rc < 0) return -1;
    *prefill = devices_largest(t1 - t0), *steps = devices_largest(t2 - t1);
    return 0;
}

// The first run warms up; it counts where a single run takes long (on a CPU).
static int
measure(session *s, const bench_case *c, int *const *prompts, figures *f, wb_error *err)
{
    double prefill[REPEATS], step[REPEATS], total[REPEATS];
    int *count = malloc((size_t)c->B * sizeof *count), n = 0, rc = 0;
    if (!count) return error_set(err, "--bench: no memory");
    for (int b = 0; b < c->B; b++)
        count[b] = c->P;
    double began = seconds_now();
    for (int i = 0; i <= REPEATS && !rc; i++) {
        double r, w;
        rc = once(s, c, prompts, count, &r, &w, err);
        if (rc) break;
        if (i == 0 && r + w < 10) continue;
        prefill[n] = r, total[n] = r + w;
        step[n++] = c->G > 1 ? w / (c->G - 1) : 0;
        if (devices_largest(seconds_now() - began) > 10) break;
    }
    free(count);
    if (rc) return -1;
    f->repeats = n;
    f->prefill = median_of(prefill, n), f->step = median_of(step, n);
    f->total = median_of(total, n);
    return 0;
}

// Opens the model for each case, so that the memory is what this case needs. Each of
// several devices has its share of the sequences; the times are those of the slowest.
static int
run_case(session *s, const bench_case *whole, figures *f, rg_info *info, wb_error *err)
{
    const bench_case *c = &(bench_case){whole->B / devices_count(), whole->P, whole->G};
    rg_settings set = session_settings(s->o, c->B, (long)c->P + c->G, c->P, c->G);
    set.stop_count = 0;
    set.temperature = 0;
    s->e = rg_open(s->o->gen.model, &set, err);
    if (!s->e) return -1;
    const rg_info *i = rg_describe(s->e);
    int **prompts = random_prompts(c, i->shape.vocab, s->o->gen.seed);
    int rc =
        prompts ? measure(s, c, prompts, f, err) : error_set(err, "--bench: no memory");
    f->flops = cost_prompt_flops(i, c->B, c->P);
    f->bytes = cost_step_bytes(i, c->B, c->P + c->G / 2.0);
    f->device = (double)(i->weight_bytes + i->cache_bytes + i->buffer_bytes);
    *info = *i;
    if (prompts) free(prompts[0]);
    free(prompts);
    rg_close(s->e);
    s->e = NULL;
    return rc;
}

/* --- report ------------------------------------------------------------------------- */

typedef struct ceilings {
    double copy, gemm; /* bytes and FLOPs per second */
} ceilings;

static void print_case(const bench_case *c, const figures *f, const ceilings *top)
{
    char name[48];
    snprintf(name, sizeof name, "%dx%dx%d", c->B, c->P, c->G);
    double bound_prefill = f->flops / top->gemm, bound_step = f->bytes / top->copy;
    printf(
        "%-16s %10.2f %9.2f %6.3f %10.0f", name, f->prefill * 1e3, bound_prefill * 1e3,
        bound_prefill / f->prefill, c->B * (double)c->P / f->prefill);
    if (c->G > 1)
        printf(
            " %10.3f %9.3f %6.3f %10.0f", f->step * 1e3, bound_step * 1e3,
            bound_step / f->step, c->B / f->step);
    else
        printf(" %10s %9s %6s %10s", "-", "-", "-", "-");
    printf(" %9.3f %9.1f %3d\n", f->total, f->device * 1e-6, f->repeats);
    fflush(stdout);
}

static int write_json(
    const char *path, const rg_info *i, const bench_case *c, const figures *f,
    const ceilings *top, wb_error *err)
{
    FILE *out = fopen(path, "a");
    if (!out) return error_set(err, "%s: cannot write: %s", path, strerror(errno));
    fprintf(
        out,
        "{\"machine\":\"%s\",\"devices\":%d,\"parameters\":%zu,\"dtype\":\"%s\",\"rows\":%d,\"read\":%d,"
        "\"written\":%d,\"prefill_ms\":%.4f,\"prefill_flops\":%.6g,\"step_ms\":%.5f,"
        "\"step_bytes\":%.6g,\"total_s\":%.5f,\"device_bytes\":%.0f,\"repeats\":%d,"
        "\"copy_GBs\":%.1f,\"product_TFLOPs\":%.2f}\n",
        machine_name(), devices_count(), i->parameters,
        i->dtype == RG_BF16 ? "bf16" : "f32", c->B, c->P, c->G, f->prefill * 1e3,
        f->flops, f->step * 1e3, f->bytes, f->total, f->device, f->repeats,
        top->copy * 1e-9, top->gemm * 1e-12);
    if (fclose(out)) return error_set(err, "%s: cannot write: %s", path, strerror(errno));
    return 0;
}

// The ceilings that all figures are compared with; the GEMM's depends on the model's
// dtype.
static void print_head(const session *s, const rg_info *i, ceilings *top)
{
    top->gemm = devices_count() * ceiling_gemm(i->dtype == RG_BF16);
    printf(
        "%s: %d layers, %d channels, %.1f M parameters, %s\n", s->o->gen.model,
        i->shape.layers, i->shape.channels, (double)i->parameters * 1e-6,
        i->dtype == RG_BF16 ? "bf16" : "f32");
    printf(
        "%s: copy %.1f GB/s, GEMM %.2f TFLOP/s; random tokens of seed %llu\n",
        machine_name(), top->copy * 1e-9, top->gemm * 1e-12,
        (unsigned long long)s->o->gen.seed);
    printf(
        "%-16s %10s %9s %6s %10s %10s %9s %6s %10s %9s %9s %3s\n", "batch x prompt",
        "prefill", "bound", "of it", "tokens/s", "step", "bound", "of it", "tokens/s",
        "total", "memory", "n");
    printf(
        "%-16s %10s %9s %6s %10s %10s %9s %6s %10s %9s %9s\n", "x generated", "ms", "ms",
        "", "", "ms", "ms", "", "", "s", "MB");
}

int bench_check(const char *text, wb_error *err)
{
    bench_case cases[MAX_CASES];
    return read_cases(text, cases, err) < 0 ? -1 : 0;
}

typedef struct case_list {
    bench_case cases[MAX_CASES];
    int count;
} case_list;

// On each device; the first prints. The ceilings are those of all devices together.
static int run_cases(session *s, void *context, wb_error *err)
{
    const case_list *list = context;
    bool prints = devices_index() == 0;
    int n = devices_count();
    if (prints) wb_say_kernels(stderr, s->o->gen.kernels, s->o->gen.quiet);
    ceilings top = {.copy = n * ceiling_copy()};
    for (int i = 0; i < list->count; i++) {
        figures f = {0};
        rg_info info;
        const bench_case *c = &list->cases[i];
        if (run_case(s, c, &f, &info, err)) return -1;
        f.flops *= n, f.bytes *= n;
        if (!prints) continue;
        if (i == 0) print_head(s, &info, &top);
        print_case(c, &f, &top);
        if (s->o->json && write_json(s->o->json, &info, c, &f, &top, err)) return -1;
    }
    return ferror(stdout) ? error_set(err, "stdout: cannot write: %s", strerror(errno))
                          : 0;
}

int bench(session *s, wb_error *err)
{
    case_list list;
    int n = (int)s->o->devices;
    list.count = read_cases(s->o->bench, list.cases, err);
    if (list.count < 0) return -1;
    for (int i = 0; i < list.count; i++)
        if (list.cases[i].B % n)
            return error_set(
                err, "--bench: %d sequences: give a multiple of --devices %d",
                list.cases[i].B, n);
    return devices_run(s, n, run_cases, &list, err);
}
