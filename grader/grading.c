/* grading.c - the cases of a lab, one after the other; then once more in check mode. */
#define _GNU_SOURCE
#include "grading.h"

#include "build.h"
#include "calls.h"
#include "cases.h"
#include "check.h"
#include "data.h"
#include "generate.h"
#include "judge.h"
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

/* "16x1000 f32": the shape of the first output */
static void
make_title(char *title, size_t room, const struct case_data *d, const char *dtype)
{
    size_t n = 0;
    *title = 0;
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        if (d->dry ? v->role != ROLE_OUT : !d->set[0].want[i]) continue;
        for (int k = 0; k < v->dims && n < room; k++)
            n +=
                (size_t)snprintf(title + n, room - n, "%s%zu", k ? "x" : "", v->shape[k]);
        break;
    }
    if (n < room) snprintf(title + n, room - n, "%s%s", n ? " " : "", dtype);
}

/* Is it pointless to grade what builds on this case? Not if a few elements are wrong. */
static bool hopeless(const struct judgement *j)
{
    return j->verdict != PASSED && (!j->returned || j->mostly_wrong);
}

/* Why a case cannot be graded; NULL if it can. */
static char *reason_to_skip(const struct report *r, size_t i)
{
    const struct graded_case *c = &r->lab->cases[i];
    if (build_lacks(r->build, c->function, c->dtype))
        return text_of("%s_%s is not in this file", c->function, c->dtype);
    for (char **need = c->needs; *need; need++) {
        const struct graded_case *n = case_find(r->lab, *need);
        size_t at = (size_t)(n - r->lab->cases);
        if (build_lacks(r->build, n->function, n->dtype))
            continue; /* a file with 16-bit functions only */
        const struct judgement *j = &r->judgement[at];
        /* a dry case shows no values: only after a right result is it of any use */
        if (r->selected[at] && (c->dry ? j->verdict != PASSED : hopeless(j)))
            return text_of("needs part %s: fix \"%s\" first", n->part, n->name);
    }
    return NULL;
}

static void grade_case(struct report *r, struct calls *calls, const char *data, size_t i)
{
    const struct graded_case *c = &r->lab->cases[i];
    struct judgement *j = &r->judgement[i];
    struct case_data d;
    struct run run = {0};
    char error[512], title[96] = "";
    char *reason = reason_to_skip(r, i);
    if (reason) {
        j->verdict = SKIPPED;
        say(&j->findings, "%s", reason);
        free(reason);
        report_case(r, i, title);
        return;
    }
    if (data_load(&d, data, c->name, error, sizeof error) != 0) {
        j->verdict = BROKEN;
        say(&j->findings, "%s", error);
    } else {
        json_t *record = r->build->record;
        d.threads_apart = json_is_false(json_object_get(record, "threads_meet"));
        d.no_halves = json_is_false(json_object_get(record, "halves"));
        make_title(title, sizeof title, &d, c->dtype);
        calls_of_case(calls, c, &d, &run);
        judge(j, c, &d, &run);
        if (r->save) save_outputs(r->save, r->lab, r->build->backend, c, &d, &run);
    }
    report_case(r, i, title);
    report_printed(
        run.output, run.output_bytes < OUTPUT_KEPT ? run.output_bytes : OUTPUT_KEPT);
    fflush(stdout);
    run_free(&run);
    data_free(&d);
}

/* Returns WB_THREADS, which it sets unless it is set: the CPU back end runs kernels on this
 * many threads, the main one included. At most 16: the cases are too small to use more,
 * and from 64 threads on the stacks exceed the memory limit. */
static int choose_threads(void)
{
    enum { ENOUGH = 16 };
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

/* A program in check mode is another one, and only one may run at a time: kill_orphans. */
static void check_case(struct report *r, struct checker *c, const char *data, size_t i)
{
    const struct graded_case *g = &r->lab->cases[i];
    struct judgement *j = &r->judgement[i], before = *j;
    struct case_data d;
    char error[512], title[96];
    if (data_load(&d, data, g->name, error, sizeof error) != 0)
        fatal(EXIT_BROKEN, "%s", error);
    make_title(title, sizeof title, &d, g->dtype);
    j->findings.count = 0;
    checker_case(c, g, &d, j);
    if (j->findings.count) report_check(r, i, title, before.verdict);
    findings_add(&before.findings, &j->findings);
    j->findings = before.findings;
    fflush(stdout);
    data_free(&d);
}

/* Without check mode nothing is counted. Under a command that costs no points. */
static void skip_bounds(struct report *r)
{
    for (size_t i = 0; i < r->lab->count; i++) {
        struct judgement *j = &r->judgement[i];
        if (!r->selected[i] || !r->lab->cases[i].bound.what || j->verdict != PASSED)
            continue;
        j->verdict = SKIPPED;
        j->only_bound = true;
        findings_free(&j->findings);
        say(&j->findings, "%s",
            r->under ? "not counted under a command" : "built with CHECK=off");
        report_case(r, i, "");
        r->selected[i] = !r->under;
    }
}

static void check_all(struct report *r, struct child_limits limits, const char *data)
{
    struct checker *c = r->under || !data ? NULL : checker_new(r->build, limits);
    if (!c) skip_bounds(r);
    for (size_t i = 0; c && i < r->lab->count; i++) {
        enum verdict v = r->judgement[i].verdict;
        if (!r->selected[i] || v == SKIPPED || v == BROKEN) continue;
        if (r->lab->cases[i].dry) continue; /* no values, and too little memory */
        /* After the deadline no report comes, and a bound does not hold. */
        check_case(r, c, data, i);
    }
    if (c) r->checks = checker_reports(c);
    checker_free(c);
}

static void not_run(struct report *r, size_t i, enum verdict verdict, const char *why)
{
    r->judgement[i].verdict = verdict;
    say(&r->judgement[i].findings, "not run%s", why);
    report_case(r, i, r->lab->cases[i].dtype);
}

void grade_all(struct report *r, const struct options *o)
{
    bool gpu = !strcmp(r->build->backend, "cuda"), breach = report_breaches(r);
    struct wanted_data wanted = {
        .seed = r->seed,
        .random = r->random_seed,
        .private = !r->build->trusted,
        .pattern = o->pattern};
    char *data = breach ? NULL : data_folder(r->lab, &wanted);
    if (breach) r->random_seed = false; /* no data was made */
    struct child_limits limits = make_limits(r, o->timeout_scale);
    struct calls *calls = calls_new(r->build->program, gpu, !gpu, limits, r->under);
    char late[64];
    snprintf(
        late, sizeof late, ": the whole grade took longer than %.3g s",
        limits.whole_seconds);
    r->seed = wanted.seed;
    for (size_t i = 0; i < r->lab->count; i++) {
        if (!r->selected[i]) continue;
        if (breach)
            not_run(r, i, FAILED, " because of the contract breach above");
        else if (now() > limits.deadline)
            not_run(r, i, TIMEOUT, late);
        else
            grade_case(r, calls, data, i);
    }
    calls_free(calls);
    check_all(r, limits, data);
    for (size_t i = 0; i < r->lab->count; i++) {
        if (!r->selected[i]) continue;
        r->of += r->lab->cases[i].points;
        if (r->judgement[i].verdict == PASSED) r->score += r->lab->cases[i].points;
    }
    free(data);
}
