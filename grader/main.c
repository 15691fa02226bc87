/* main.c - the program that ./grade starts: its command line, and the order of the work.
 *
 *     cases.c                       what is graded: labs, cases, hints
 *     generate.c, private.c         makes the data; where it is kept from the learner's code
 *     data.c                        reads inputs and expected values
 *     build.c                       what the executable was built from
 *     calls.c, variant.c            the calls of one case, and on which data
 *     child.c, talk.c, crash.c      asks the executable for one call at a time
 *     process.c, usage.c, cgroup.c, orphans.c   starts it, ends it, measures what it uses
 *     sandbox.c, landlock.c, seccomp.c   what it may not do (sandboxed.c: any command)
 *     under.c                       a sanitizer that it runs under
 *     check.c                       the same cases once more, in check mode
 *     judge.c, compare.c, writes.c  the verdict: calls, values, other memory
 *     pattern.c, pattern_*.c        what a wrong output looks like, and why
 *     findings.c                    the lines that explain a result
 *     report.c, keep.c, save.c      text, JSON, JUnit; results and receipts; outputs
 *     harness.c, harness_*.c, adapters/labNN.c   linked with the learner's object
 */
#define _GNU_SOURCE
#include "build.h"
#include "calls.h"
#include "cases.h"
#include "check.h"
#include "data.h"
#include "generate.h"
#include "judge.h"
#include "keep.h"
#include "private.h"
#include "process.h"
#include "report.h"
#include "sandbox.h"
#include "save.h"
#include "under.h"
#include "usage.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits: CPU seconds of a case, wall clock of a case and of the whole grade. */
static const double CASE_SECONDS = 10, WALL_SECONDS = 30, GRADE_SECONDS = 300;
static const double UNDER_SCALE = 20; /* sanitizers are slow */
/* Threads allowed in addition to the back end's own. A GPU driver starts some. On the CPU
 * nothing needs more, and many busy threads would take CPU time from other grades. */
static const int MAX_THREADS = 8, MAX_DRIVER_THREADS = 256;

static const char usage[] =
    "./grade                      shows the progress board\n"
    "./grade LAB                  grades a built lab: make lab03 && ./grade lab03\n"
    "  -k PATTERN                 only cases whose name contains or matches PATTERN, or\n"
    "                             whose part is PATTERN; several with commas\n"
    "  --seed S                   uses other random data (default 0x5eed; a new one for\n"
    "                             each run if the source is from elsewhere: FILE=)\n"
    "  --list                     lists the cases, with points and what each catches\n"
    "  --hint [N]                 prints the next hint, or hint N, for the first part\n"
    "                             that is not passed\n"
    "  --json FILE, --junit FILE  also writes the results in these formats\n"
    "  --timeout-scale X          multiplies the time limits: 10 s of CPU time and 30 s\n"
    "                             per case, 300 s in all\n"
    "  --check                    also prints the whole report of check mode: counts per\n"
    "                             line, docs/check.md\n"
    "  --html FILE                writes that report as a page\n"
    "  --save DIR                 writes the outputs to DIR/LAB.CASE.safetensors, for\n"
    "                             tools/compare_backends.py\n"
    "  --under \"COMMAND...\"       runs the lab under a sanitizer, for example\n"
    "                             \"compute-sanitizer --tool racecheck\": without the\n"
    "                             sandbox and with 20 times the time. Its errors make\n"
    "                             the grade fail; a pass is not recorded\n"
    "  --no-sandbox               grades a source that is not part of the workbook\n"
    "                             even if the sandbox is incomplete, or with --under\n"
    "BACKEND=cpu|cuda or BUILD=folder in front of it selects the build to grade.\n"
    "Exit code: 0 full score, 1 less, 2 not built, 3 crashed, 4 timed out, 5 the\n"
    "exercise itself is broken\n";

struct options {
    const char *folder, *lab, *pattern, *json, *junit, *html, *under, *save;
    uint64_t seed;
    double timeout_scale;
    bool seed_given, no_sandbox, check, list, hint;
    int hint_level;
};

/* --- the command line --------------------------------------------------------------- */

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc)
        fatal(EXIT_NOT_BUILT, "%s needs a value; see ./grade --help", argv[*i]);
    return argv[++*i];
}

static void read_number(const char *flag, const char *text, uint64_t *seed, double *scale)
{
    char *end = NULL;
    bool good;
    if (seed) {
        *seed = strtoull(text, &end, 0);
        good = isdigit((unsigned char)*text) && !*end && *seed <= INT64_MAX;
    } else {
        *scale = strtod(text, &end);
        good = end != text && !*end && *scale > 0 && *scale <= 1000;
    }
    if (!good)
        fatal(
            EXIT_NOT_BUILT, "%s %s: expected %s", flag, text,
            seed ? "a whole number from 0 to 2^63 - 1"
                 : "a number above 0, at most 1000");
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {.folder = "build/cpu", .seed = DEFAULT_SEED, .timeout_scale = 1};
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--build"))
            o.folder = value_of(argc, argv, &i);
        else if (!strcmp(a, "-k"))
            o.pattern = value_of(argc, argv, &i);
        else if (!strcmp(a, "--json"))
            o.json = value_of(argc, argv, &i);
        else if (!strcmp(a, "--junit"))
            o.junit = value_of(argc, argv, &i);
        else if (!strcmp(a, "--html"))
            o.html = value_of(argc, argv, &i);
        else if (!strcmp(a, "--check"))
            o.check = true;
        else if (!strcmp(a, "--save"))
            o.save = value_of(argc, argv, &i);
        else if (!strcmp(a, "--under"))
            o.under = value_of(argc, argv, &i);
        else if (!strcmp(a, "--list"))
            o.list = true;
        else if (!strcmp(a, "--no-sandbox"))
            o.no_sandbox = true;
        else if (!strcmp(a, "--seed")) {
            read_number(a, value_of(argc, argv, &i), &o.seed, NULL);
            o.seed_given = true;
        } else if (!strcmp(a, "--timeout-scale"))
            read_number(a, value_of(argc, argv, &i), NULL, &o.timeout_scale);
        else if (!strcmp(a, "--hint")) {
            o.hint = true;
            if (i + 1 < argc && isdigit((unsigned char)*argv[i + 1]))
                o.hint_level = atoi(argv[++i]);
        } else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
            fputs(usage, stdout);
            report_flush();
            exit(0);
        } else if (*a == '-')
            fatal(EXIT_NOT_BUILT, "unknown option %s; see ./grade --help", a);
        else if (o.lab)
            fatal(EXIT_NOT_BUILT, "%s and %s: grade one lab at a time", o.lab, a);
        else
            o.lab = a;
    }
    if (!o.lab && (o.pattern || o.list || o.hint || o.json || o.junit || o.seed_given ||
                   o.under || o.save || o.check || o.html))
        fatal(EXIT_NOT_BUILT, "name the lab: ./grade lab03 ...");
    return o;
}

/* --- grading ------------------------------------------------------------------------ */

static void list_cases(const struct lab *lab, const char *pattern)
{
    for (size_t i = 0; i < lab->count; i++) {
        const struct graded_case *c = &lab->cases[i];
        if (case_matches(c, pattern))
            printf(
                "%-16s %-6s %3d  %s_%s: %s\n", c->name, c->part, c->points, c->function,
                c->dtype, c->catches);
    }
}

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

static void grade_all(struct report *r, const struct options *o)
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

/* Describes the sandbox for the report. Code from elsewhere is not run if a part of the
 * sandbox is missing, unless the user adds --no-sandbox. */
static const char *choose_sandbox(const struct build *b, const struct options *o)
{
    const char *there = o->under ? "off (--under)" : sandbox_describe();
    const char *unwatched = usage_unreadable();
    if (!strcmp(there, "Landlock and seccomp") && !unwatched) return there;
    char *all =
        text_of("%s%s%s", there, unwatched ? "; " : "", unwatched ? unwatched : "");
    if (b->trusted) return all;
    if (!o->no_sandbox)
        fatal(
            EXIT_NOT_BUILT,
            "%s is not part of the workbook, and the sandbox is incomplete: %s. Add "
            "--no-sandbox to run it nevertheless",
            b->source, all);
    return text_of("%s; graded nevertheless (--no-sandbox)", all);
}

/* If the grade fails, no result of an earlier one may stay there. */
static void forget(const char *path)
{
    struct stat st;
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && truncate(path, 0) != 0)
        fatal(EXIT_NOT_BUILT, "cannot write %s: %s", path, strerror(errno));
}

static int grade(const struct lab *lab, const struct options *o)
{
    struct build build;
    forget(o->json);
    forget(o->junit);
    build_open(&build, o->folder, lab);
    struct report r = {
        .lab = lab,
        .build = &build,
        .judgement = xalloc(lab->count * sizeof(struct judgement)),
        .selected = xalloc(lab->count * sizeof(bool)),
        .seed = o->seed,
        .random_seed = !build.trusted && !o->seed_given,
        .all = !o->pattern,
        .sandbox = choose_sandbox(&build, o),
        .save = o->save,
        .under = o->under ? under_new(o->under, build.program) : NULL,
        .colour = isatty(1) && !getenv("NO_COLOR")};
    size_t chosen = 0;
    for (size_t i = 0; i < lab->count; i++)
        chosen += r.selected[i] = case_matches(&lab->cases[i], o->pattern) &&
                                  !(o->under && lab->cases[i].dry); /* memory runs out */
    if (!chosen)
        fatal(
            EXIT_NOT_BUILT, "no case matches '%s'; see ./grade %s --list", o->pattern,
            lab->name);
    if (o->save) save_begin(o->save, lab);
    private_remove_leftovers();
    grade_all(&r, o);
    build_check(&build, "changed while it was graded, so this grade does not count");
    if ((o->check || o->html) && !r.checks)
        fatal(
            EXIT_NOT_BUILT,
            "%s was not checked: it was built with CHECK=off, or runs with --under",
            lab->name);
    if (o->check) check_show(r.checks, NULL);
    report_end(&r);
    keep_results(&r);
    report_flush();
    if (o->json) report_json(&r, o->json);
    if (o->junit) report_junit(&r, o->junit);
    if (o->html) check_show(r.checks, o->html);
    enum exit_code code = report_code(&r);
    under_free(r.under);
    build_close(&build);
    return (int)code;
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    struct lab lab;
    char *path, error[512];
    prctl(PR_SET_DUMPABLE, 0); /* no process may read the expected values here */
    if (!o.lab) {
        board(o.folder);
        report_flush();
        return 0;
    }
    lab_find(&lab, o.lab);
    path = text_of("%s/cases", lab.folder);
    if (cases_read(&lab, path, error, sizeof error) != 0) fatal(EXIT_BROKEN, "%s", error);
    free(path);
    if (o.list) {
        list_cases(&lab, o.pattern);
        report_flush();
        return 0;
    }
    if (o.hint) {
        hint(&lab, o.folder, o.hint_level);
        report_flush();
        return 0;
    }
    return grade(&lab, &o);
}
