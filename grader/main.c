/* main.c - the program that ./grade starts: the order of the work.
 *
 *     options.c                     the command line
 *     cases.c, labs.c               what is graded: labs, cases, hints
 *     generate.c, private.c         makes the data; where it is kept from the learner's code
 *     data.c                        reads inputs and expected values
 *     build.c                       what the executable was built from
 *     grading.c, load.c             every case: loaded, run, judged, reported
 *     calls.c, variant.c            the calls of one case, and on which data
 *     child.c, talk.c, talk_*.c, crash.c   asks the executable for one call at a time
 *     process.c, usage.c, cgroup.c, orphans.c   starts it, ends it, measures what it uses
 *     sandbox.c, landlock.c, seccomp.c   what it may not do (sandboxed.c: any command)
 *     under.c                       a sanitizer that it runs under
 *     record.c                      one call, kept for a debugger
 *     checking.c, check.c           another process: the same cases in check mode
 *     judge.c, values.c, repeats.c  the verdict: statuses, values, later calls
 *     compare.c, writes.c           one output against its tolerance; other memory
 *     pattern.c, pattern_*.c        what a wrong output looks like, and why
 *     findings.c                    the lines that explain a result
 *     report.c, keep.c, save.c      text, JSON; results and receipts; outputs
 *     harness.c, harness_*.c, adapters/labNN.c   linked with the learner's object
 */
#define _GNU_SOURCE
#include "build.h"
#include "cases.h"
#include "check.h"
#include "grading.h"
#include "keep.h"
#include "options.h"
#include "private.h"
#include "record.h"
#include "report.h"
#include "sandbox.h"
#include "save.h"
#include "under.h"
#include "usage.h"
#include "util.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void list_cases(const struct lab *lab, const char *pattern)
{
    for (size_t i = 0; i < lab->count; i++) {
        const struct graded_case *c = &lab->cases[i];
        if (case_matches(lab, c, pattern))
            printf(
                "%-16s %-6s %3d  %s_%s: %s\n", c->name, c->part, c->points, c->function,
                c->dtype, c->catches);
    }
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
    build_open(&build, o->folder, lab);
    struct report r = {
        .lab = lab,
        .build = &build,
        .judgement = xalloc(lab->count * sizeof(struct judgement)),
        .selected = xalloc(lab->count * sizeof(bool)),
        .seed = o->seed,
        .random_seed = !build.trusted && !o->seed_given,
        .all = !o->pattern && !o->first,
        .first = o->first,
        .stop = o->stop,
        .sandbox = choose_sandbox(&build, o),
        .save = o->save,
        .under = o->under ? under_new(o->under, build.program) : NULL,
        .colour = (isatty(1) || getenv("CLICOLOR_FORCE")) && !getenv("NO_COLOR")};
    size_t chosen = 0;
    for (size_t i = 0; i < lab->count; i++)
        chosen += r.selected[i] = case_matches(lab, &lab->cases[i], o->pattern) &&
                                  !(o->under && lab->cases[i].dry); /* memory runs out */
    if (!chosen)
        fatal(
            EXIT_NOT_BUILT, "no case matches '%s'; see ./grade %s --list", o->pattern,
            lab->name);
    if (o->save) save_begin(o->save, lab);
    record_to(o->record);
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
    /* Results are large and do not live long: the next one gets the same pages. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
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
        hint(&lab, o.folder, o.hint_part, o.hint_level);
        report_flush();
        return 0;
    }
    return grade(&lab, &o);
}
