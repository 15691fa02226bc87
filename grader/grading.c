/* grading.c - the cases of a lab, one after the other. */
#define _GNU_SOURCE
#include "grading.h"

#include "build.h"
#include "calls.h"
#include "cases.h"
#include "checking.h"
#include "data.h"
#include "generate.h"
#include "judge.h"
#include "load.h"
#include "process.h"
#include "save.h"
#include "util.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limits: CPU seconds of a case, wall clock of a case and of the whole grade. */
static const double CASE_SECONDS = 10, WALL_SECONDS = 30, GRADE_SECONDS = 300;
static const double UNDER_SCALE = 20; /* sanitizers are slow */
/* Threads allowed in addition to the back end's own. A GPU driver starts some. On the CPU
 * nothing needs more, and many busy threads would take CPU time from other grades. */
static const int MAX_THREADS = 8, MAX_DRIVER_THREADS = 256;

/* Is it pointless to grade what builds on this case? Not if a few elements are wrong, or
 * if its first variant is right. */
static bool hopeless(const struct judgement *j)
{
    return j->verdict != PASSED && !j->variant && (!j->returned || j->mostly_wrong);
}

/* The dtype of a case, or one of its dtypes, that the learner's file lacks; or "". */
static const char *lacks(const struct report *r, const struct graded_case *c)
{
    for (int i = 0; i < FLOAT_DTYPES; i++)
        if (case_has_dtype(c, float_dtypes[i]) &&
            build_lacks(r->build, c->function, float_dtypes[i]))
            return float_dtypes[i];
    return "";
}

/* Why a case cannot be graded; NULL if it can. */
static char *reason_to_skip(const struct report *r, size_t i)
{
    const struct graded_case *c = &r->lab->cases[i];
    const char *lacking = lacks(r, c);
    if (*lacking) return text_of("%s_%s is not in this file", c->function, lacking);
    for (char **need = c->needs; *need; need++) {
        const struct graded_case *n = case_find(r->lab, *need);
        size_t at = (size_t)(n - r->lab->cases);
        if (*lacks(r, n)) continue; /* a file with 16-bit functions only */
        const struct judgement *j = &r->judgement[at];
        /* a dry case shows no values: only after a right result is it of any use */
        if (r->selected[at] && (c->dry ? j->verdict != PASSED : hopeless(j)))
            return text_of("needs part %s: fix \"%s\" first", n->part, n->name);
    }
    return NULL;
}

static void grade_variant(
    struct report *r, struct calls *calls, const char *data, size_t i, int k,
    struct run *run, struct title *t)
{
    struct judgement *j = &r->judgement[i];
    struct graded_case v;
    struct case_data d;
    double before = j->seconds;
    run_free(run);
    *run = (struct run){0};
    if (load_variant(r, data, 2, i, k, &v, &d, t)) {
        calls_of_case(calls, &v, &d, run);
        judge(j, &v, &d, run);
        if (r->save) save_outputs(r->save, r->lab, r->build->backend, &v, &d, run);
    }
    j->seconds += before;
    findings_with(&j->findings, t->words);
    data_free(&d);
}

/* The variants of a case, up to the first that fails. */
static void grade_case(struct report *r, struct calls *calls, const char *data, size_t i)
{
    struct judgement *j = &r->judgement[i];
    struct run run = {0};
    struct title t = {0};
    char *reason = reason_to_skip(r, i);
    if (reason) {
        j->verdict = SKIPPED;
        say(&j->findings, "%s", reason);
        free(reason);
        report_case(r, i, "");
        return;
    }
    int variants = variants_of(r, i);
    for (int k = 0; k < variants && j->verdict == PASSED; k++)
        grade_variant(r, calls, data, i, k, &run, &t);
    if (variants > 1 && j->verdict == PASSED)
        snprintf(t.shape, sizeof t.shape, "%d variants", variants);
    report_case(r, i, t.shape);
    bool expected = r->lab->cases[i].status == WB_BAD_CUDA && j->verdict == PASSED;
    if (!expected) /* the back end says that a launch has failed */
        report_printed(&run);
    fflush(stdout);
    run_free(&run);
}

/* Returns WB_THREADS, which it sets unless it is set: the CPU back end runs kernels on this
 * many threads, the main one included. At most 4: the cases are too small to use more, and
 * threads that wait for each other's blocks use up the CPU time of a case. */
static int choose_threads(void)
{
    enum { ENOUGH = 4 };
    cpu_set_t cores;
    char text[16];
    const char *given = getenv("WB_THREADS");
    if (given && *given) return (int)strtol(given, NULL, 0);
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    if (count > ENOUGH) count = ENOUGH;
    snprintf(text, sizeof text, "%d", count);
    setenv("WB_THREADS", text, 1);
    return count;
}

static struct child_limits make_limits(const struct report *r, double scale)
{
    bool gpu = !strcmp(r->build->backend, "cuda");
    int workers = choose_threads();
    size_t memory =
        (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3;
    struct child_limits l = {
        .memory = (size_t)(gpu ? 8 : 2) << 30,
        .threads = (gpu ? MAX_DRIVER_THREADS : MAX_THREADS) + workers,
        .believed = r->build->trusted || gpu};
    if (l.memory > memory) l.memory = memory;
    if (!gpu) l.idle_threads = workers;
    if (r->under) scale *= UNDER_SCALE, l.memory = 0, l.threads = l.idle_threads = 0;
    l.cpu_seconds = CASE_SECONDS * scale;
    l.seconds = WALL_SECONDS * scale;
    l.whole_seconds = GRADE_SECONDS * scale;
    l.deadline = now() + l.whole_seconds;
    return l;
}

/* Without check mode nothing is counted. Under a command that costs no points. */
static void skip_bounds(struct report *r)
{
    for (size_t i = 0; i < r->lab->count; i++) {
        struct judgement *j = &r->judgement[i];
        if (!r->selected[i] || !r->lab->cases[i].bounds[0].what || j->verdict != PASSED)
            continue;
        j->verdict = SKIPPED;
        j->only_bound = true;
        findings_free(&j->findings);
        say(&j->findings, "%s",
            r->under ? "not counted under a command" : "built with CHECK=off");
        report_case(r, i, "");
        r->selected[i] = !r->under;
    }
    report_waiting(r);
}

static void not_run(struct report *r, size_t i, enum verdict verdict, const char *why)
{
    r->judgement[i].verdict = verdict;
    say(&r->judgement[i].findings, "not run%s", why);
    report_case(r, i, r->lab->cases[i].dtype);
}

/* --stop: the cases after this one were not selected. */
static void stop_after(struct report *r, size_t i)
{
    r->stopped = true, r->all = false;
    while (++i < r->lab->count)
        r->selected[i] = false;
}

static void grade_cases(struct report *r, const char *data, struct child_limits limits)
{
    bool gpu = !strcmp(r->build->backend, "cuda");
    struct checking *checking = checking_begin(r, limits, data);
    struct calls *calls = calls_new(r->build->program, gpu, !gpu, limits, r->under);
    char late[64];
    snprintf(
        late, sizeof late, ": the whole grade took longer than %.3g s",
        limits.whole_seconds);
    for (size_t i = 0; i < r->lab->count; i++) {
        if (!r->selected[i]) continue;
        if (now() > limits.deadline) {
            not_run(r, i, TIMEOUT, late);
            continue;
        }
        grade_case(r, calls, data, i);
        if (checking) checking_case(checking, r, i);
        if (r->stop && r->judgement[i].verdict != PASSED) stop_after(r, i);
    }
    report_waiting(r);
    calls_free(calls);
    if (checking)
        checking_end(checking, r);
    else
        skip_bounds(r);
}

static void refuse_all(struct report *r)
{
    for (size_t i = 0; i < r->lab->count; i++)
        if (r->selected[i])
            not_run(r, i, FAILED, " because of the contract breach above");
}

void grade_all(struct report *r, const struct options *o)
{
    struct wanted_data wanted = {
        .seed = r->seed,
        .random = r->random_seed,
        .private = !r->build->trusted,
        .pattern = o->pattern,
        .folder = o->data,
        .first = o->first};
    if (report_breaches(r)) {
        r->random_seed = false; /* no data was made */
        refuse_all(r);
    } else {
        char *data = data_folder(r->lab, &wanted);
        r->seed = wanted.seed;
        grade_cases(r, data, make_limits(r, o->timeout_scale));
        free(data);
    }
    for (size_t i = 0; i < r->lab->count; i++) {
        if (!r->selected[i]) continue;
        r->of += r->lab->cases[i].points;
        if (r->judgement[i].verdict == PASSED) r->score += r->lab->cases[i].points;
    }
}
