/* checking.c - three processes instead of one:
 *
 *     the first    waits; they end with it, and it removes the data when it ends
 *     grading      does all the rest: runs and judges the cases, writes the report
 *     checking     runs each case once more, with the program in check mode
 *
 * When a program ends, so does every other child of its parent (orphans.c), so the two
 * programs need a parent each. Orders and the answer are JSON on a socket.
 */
#define _GNU_SOURCE
#include "checking.h"

#include "check.h"
#include "load.h"
#include "orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct checking {
    int socket;
};

/* --- the first process -------------------------------------------------------------- */

static _Noreturn void wait_for_both(pid_t grading)
{
    int status;
    while (waitpid(grading, &status, 0) < 0 && errno == EINTR)
        ;
    kill_orphans(); /* the process that checks, and what that has started */
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* --- the process that checks -------------------------------------------------------- */

enum { DRAWN_CHECKED = 8 }; /* one in eight variants with values drawn at random */

/* true: the variant is right in check mode too, and was checked to the end. */
static bool
check_variant(struct report *r, struct checker *c, const char *data, size_t i, int k)
{
    struct judgement *j = &r->judgement[i], before = *j;
    struct graded_case v;
    struct case_data d;
    struct title t;
    j->findings.count = 0;
    if (!load_variant(r, data, 1, i, k, &v, &d, &t))
        fatal(EXIT_BROKEN, "%s", j->findings.line[0]);
    if (!*d.drawn || k % DRAWN_CHECKED == 0) checker_case(c, &v, &d, t.words, j);
    bool right = !j->findings.count;
    findings_with(&j->findings, t.words);
    if (!right) report_check(r, i, t.shape, before.verdict);
    findings_add(&before.findings, &j->findings);
    j->findings = before.findings;
    data_free(&d);
    return right;
}

/* Of a case that has failed, the variant that failed is checked. */
static void check_case(struct report *r, struct checker *c, const char *data, size_t i)
{
    struct judgement *j = &r->judgement[i];
    int k = j->variant, last = k;
    if (j->verdict == PASSED) k = 0, last = variants_of(r, i) - 1;
    while (check_variant(r, c, data, i, k) && k < last)
        k++;
}

static json_t *judgement_json(const struct judgement *j, size_t i)
{
    return json_pack(
        "{s:i, s:i, s:b, s:o}", "case", (int)i, "verdict", (int)j->verdict, "only_bound",
        j->only_bound, "findings", findings_json(&j->findings));
}

/* Checks what is ordered until the orders end, then answers with all of it. */
static _Noreturn void
check_cases(struct report *r, struct child_limits limits, const char *data, int socket)
{
    FILE *orders = fdopen(socket, "r"), *answer = fdopen(dup(socket), "w");
    char *printed;
    size_t bytes;
    json_t *order, *cases = json_array();
    stdout = open_memstream(&printed, &bytes); /* the report is printed at the end */
    struct checker *c = checker_new(r->build, limits);
    while ((order = json_loadf(orders, JSON_DISABLE_EOF_CHECK, NULL))) {
        int i, verdict, variant;
        if (json_unpack(
                order, "{s:i, s:i, s:i}", "case", &i, "verdict", &verdict, "variant",
                &variant) != 0)
            break;
        struct judgement *j = &r->judgement[i];
        j->verdict = (enum verdict)verdict, j->variant = variant;
        check_case(r, c, data, (size_t)i);
        json_array_append_new(cases, judgement_json(j, (size_t)i));
        json_decref(order);
    }
    json_t *reports = checker_reports(c);
    checker_free(c);
    fflush(stdout);
    json_t *all = json_pack(
        "{s:s, s:o, s:o}", "printed", printed, "cases", cases, "reports", reports);
    bool sent = all && json_dumpf(all, answer, 0) == 0 && fclose(answer) == 0;
    _exit(sent ? 0 : 1);
}

/* --- the process that grades -------------------------------------------------------- */

static pid_t fork_or_end(void)
{
    pid_t pid = fork();
    if (pid < 0) fatal(EXIT_BROKEN, "cannot fork: %s", strerror(errno));
    return pid;
}

/* In a forked process: it ends when the first one ends. */
static void end_with(pid_t first)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first) _exit(EXIT_BROKEN);
}

struct checking *
checking_begin(struct report *r, struct child_limits limits, const char *data)
{
    int pair[2];
    if (r->under || !r->build->checked) return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        fatal(EXIT_BROKEN, "cannot open a socket: %s", strerror(errno));
    fflush(NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t first = getpid();
    if (fork_or_end() == 0) {
        end_with(first);
        close(pair[0]);
        check_cases(r, limits, data, pair[1]);
    }
    close(pair[1]);
    pid_t grading = fork_or_end();
    if (grading) {
        close(pair[0]);
        wait_for_both(grading);
    }
    end_with(first);
    struct checking *c = xalloc(sizeof *c);
    c->socket = pair[0];
    return c;
}

void checking_case(struct checking *c, const struct report *r, size_t i)
{
    const struct judgement *j = &r->judgement[i];
    bool graded = j->verdict != SKIPPED && j->verdict != BROKEN;
    char order[80];
    if (!graded || r->lab->cases[i].dry) return; /* dry: no values */
    int n = snprintf(
        order, sizeof order, "{\"case\": %zu, \"verdict\": %d, \"variant\": %d}", i,
        (int)j->verdict, j->variant);
    send(c->socket, order, (size_t)n, MSG_NOSIGNAL); /* if it fails, no answer comes */
}

static void take(struct report *r, json_t *one)
{
    size_t n;
    json_t *line;
    struct findings found = {0};
    struct judgement *j = &r->judgement[json_integer_value(json_object_get(one, "case"))];
    j->verdict = (enum verdict)json_integer_value(json_object_get(one, "verdict"));
    j->only_bound = json_is_true(json_object_get(one, "only_bound"));
    json_array_foreach(json_object_get(one, "findings"), n, line)
        say(&found, "%s", json_string_value(line));
    findings_add(&j->findings, &found);
}

void checking_end(struct checking *c, struct report *r)
{
    size_t n;
    json_t *one;
    FILE *answer = fdopen(c->socket, "r");
    shutdown(c->socket, SHUT_WR);
    json_t *all = json_loadf(answer, 0, NULL);
    if (!all) fatal(EXIT_BROKEN, "the process that runs check mode has ended early");
    json_array_foreach(json_object_get(all, "cases"), n, one)
        take(r, one);
    fputs(json_string_value(json_object_get(all, "printed")), stdout);
    r->checks = json_incref(json_object_get(all, "reports"));
    json_decref(all);
    fclose(answer);
    free(c);
}
