/* check.c - asks the program in check mode for its report on a case. */
#define _GNU_SOURCE
#include "check.h"

#include "process.h"
#include "structure.h"

#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ERRORS = 3 }; /* told per case */

struct checker {
    struct child *child;
    char *program;
    json_t *reports;
};

static const char *string_at(json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

struct checker *checker_new(const struct build *b, struct child_limits limits)
{
    if (!b->checked) return NULL;
    struct checker *c = xalloc(sizeof *c);
    limits.checked = true;
    c->program = text_of("%s.check", b->program);
    c->child = child_new(c->program, false, limits, NULL);
    c->reports = json_object();
    return c;
}

void checker_free(struct checker *c)
{
    if (!c) return;
    child_free(c->child);
    json_decref(c->reports);
    free(c->program);
    free(c);
}

json_t *checker_reports(const struct checker *c)
{
    return json_incref(c->reports);
}

/* --- the whole report --------------------------------------------------------------- */

/* One report of all cases; a kernel's name begins with the name of its case. */
static json_t *merged(json_t *reports)
{
    size_t i;
    const char *name;
    json_t *report, *item, *findings = json_array(), *kernels = json_array();
    json_t *gpu = NULL, *program = NULL;
    json_object_foreach(reports, name, report) {
        json_array_extend(findings, json_object_get(report, "findings"));
        json_array_foreach(json_object_get(report, "kernels"), i, item) {
            char *full = text_of("%s: %s", name, string_at(item, "name"));
            json_t *named = json_copy(item);
            json_object_set_new(named, "name", json_string(full));
            json_array_append_new(kernels, named);
            free(full);
        }
        gpu = json_object_get(report, "gpu");
        program = json_object_get(report, "program");
    }
    return json_pack(
        "{s:O?, s:O?, s:o, s:o}", "program", program, "gpu", gpu, "findings", findings,
        "kernels", kernels);
}

static bool run_report(const char *json, const char *html)
{
    const char *python = getenv("PYTHON") ? getenv("PYTHON") : "build/host/python";
    char *argv[] = {
        (char *)python, "tools/check_report.py", (char *)json, html ? "--html" : NULL,
        (char *)html,   html ? "--quiet" : NULL, NULL};
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execvp(python, argv);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) <= 1;
}

void check_show(json_t *reports, const char *html)
{
    char path[] = "/tmp/warpbook-check-XXXXXX";
    json_t *all = merged(reports);
    int fd = mkstemp(path);
    if (fd < 0) fatal(EXIT_NOT_BUILT, "cannot create %s: %s", path, strerror(errno));
    bool written = all && json_dumpfd(all, fd, 0) == 0;
    close(fd);
    bool shown = written && run_report(path, html);
    unlink(path);
    if (!written) fatal(EXIT_NOT_BUILT, "%s: the disk is full", path);
    if (!shown) fatal(EXIT_NOT_BUILT, "the report of check mode could not be written");
    json_decref(all);
}

static void add_index(char *text, size_t room, json_t *finding, const char *key)
{
    json_t *i = json_object_get(finding, key);
    size_t n = strlen(text);
    if (json_array_size(i) != 3) return;
    snprintf(
        text + n, room - n, " %s (%d,%d,%d)", key,
        (int)json_integer_value(json_array_get(i, 0)),
        (int)json_integer_value(json_array_get(i, 1)),
        (int)json_integer_value(json_array_get(i, 2)));
}

/* Two lines: what is wrong and where, and the fix. */
static void tell(struct findings *to, json_t *finding)
{
    char who[96] = "";
    long long count = json_integer_value(json_object_get(finding, "count"));
    add_index(who, sizeof who, finding, "block");
    add_index(who, sizeof who, finding, "thread");
    char *line = text_of(
        "check: %s at %s:%d%s%s: %s", string_at(finding, "kind"),
        string_at(finding, "file"),
        (int)json_integer_value(json_object_get(finding, "line")), *who ? "," : "", who,
        string_at(finding, "message"));
    clean_text(line);
    say(to, count > 1 ? "%s (%lld times)" : "%s", line, count);
    char *fix = text_of("       fix: %s", string_at(finding, "fix"));
    clean_text(fix);
    say(to, "%s", fix);
    free(line);
    free(fix);
}

/* Of a case with alternatives, the report of the first variant is shown, and of another
 * if it has errors. */
static void keep_report(
    struct checker *c, const struct graded_case *g, const char *words, json_t *report,
    int errors)
{
    char *name = text_of(
        "%.*s%s%s", (int)strcspn(g->name, "@"), g->name, g->variant ? " " : "",
        g->variant ? words : "");
    if (!g->variant || errors) json_object_set(c->reports, name, report);
    free(name);
}

/* Not if the case is about a launch that fails */
static bool is_error(json_t *finding, const struct graded_case *g)
{
    bool meant =
        g->status == WB_BAD_CUDA && !strcmp(string_at(finding, "kind"), "launch-error");
    return !meant && !strcmp(string_at(finding, "severity"), "error");
}

/* Returns the number of errors. */
static int judge_report(json_t *report, const struct graded_case *g, struct judgement *j)
{
    size_t i;
    json_t *finding;
    int errors = 0;
    json_array_foreach(json_object_get(report, "findings"), i, finding) {
        if (!is_error(finding, g)) continue;
        if (errors++ < MOST_ERRORS) tell(&j->findings, finding);
    }
    if (errors > MOST_ERRORS)
        say(&j->findings, "check: and %d more error%s", errors - MOST_ERRORS,
            errors == MOST_ERRORS + 1 ? "" : "s");
    if (errors && j->verdict == PASSED) j->verdict = FAILED;
    return errors;
}

/* Right code ends in check mode too, with the same values. But it may take more time or
 * memory there than it has. */
static bool same_as_before(
    const struct graded_case *g, const struct case_data *d, const struct run *run,
    bool reported, struct findings *f)
{
    bool slow = run->ending == TIMED_OUT || run->ending == TOO_MUCH_MEMORY;
    if (reported) {
        if (first_call_right(f, g, d, run)) return true;
        say(f,
            "check: this is in check mode; otherwise the case was right. Does the code "
            "depend on how it is compiled, on memory that it has not written, or on "
            "earlier calls (a static variable)?");
        return false;
    }
    say(f, "%s: %s", slow || run->ending == BROKE ? "not checked" : "check: no report",
        run->ending == RAN ? "it is damaged" : run->text);
    return slow || run->ending == BROKE;
}

void checker_case(
    struct checker *c, const struct graded_case *g, const struct case_data *d,
    const char *words, struct judgement *j)
{
    struct run run = {.started = now()};
    struct wire_call call = {.which = CALL_A};
    const unsigned char *const *bytes = d->set[0].bytes;
    bool reported = child_open(c->child, g, d, &run) &&
                    child_call(c->child, d, call, bytes, &run) &&
                    child_report(c->child, d, &run);
    json_t *report = reported ? json_loads(run.report, 0, NULL) : NULL;
    bool bounded = g->bounds[0].what != NO_BOUND && j->verdict == PASSED;
    if (report) keep_report(c, g, words, report, judge_report(report, g, j));
    if (j->verdict == PASSED && !same_as_before(g, d, &run, report != NULL, &j->findings))
        j->verdict = FAILED;
    if (bounded && (!report || !structure_holds(g, report, &j->findings))) {
        j->only_bound = j->verdict == PASSED;
        j->verdict = FAILED;
    }
    if (!reported || run.result[CALL_A].head.cuda_error)
        child_stop(c->child);
    else
        child_close(c->child, d, &run);
    json_decref(report);
    run_free(&run);
}
