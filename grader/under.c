/* under.c - a command that the lab's program runs under: what it printed, how it ended,
 * and whether that is clean.
 *
 * A sanitizer finds errors that outputs do not show, but reports them only as text, at
 * its end. These are the summary lines of compute-sanitizer and valgrind:
 *
 *     ========= ERROR SUMMARY: 0 errors
 *     ========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
 *     ==123== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)
 */
#define _GNU_SOURCE
#include "under.h"

#include "util.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_KEPT = 256 << 10 }; /* bytes of what it printed, from the end */

struct under {
    const char *command; /* as given; `words` is a copy, split for argv */
    char *words;
    char **argv; /* the command, then the program, then NULL */
    bool needs_summary;
    char *text;          /* the last of what it printed: 2 * TEXT_KEPT bytes and a 0 */
    size_t bytes, begin; /* begin: where the text of the current run starts */
    int runs, summaries; /* of the command; summary lines in all of them */
    char *fault;         /* the first reason why the runs are not clean */
};

struct under *under_new(const char *command, const char *program)
{
    struct under *u = xalloc(sizeof *u);
    size_t n = 0;
    u->command = command;
    u->words = text_of("%s", command);
    u->argv = xalloc((strlen(command) + 3) * sizeof u->command);
    for (char *word = strtok(u->words, " "); word; word = strtok(NULL, " ")) {
        const char *slash = strrchr(word, '/');
        /* a sanitizer that never ran finds nothing; only its summary shows that it did */
        if (!strcmp(slash ? slash + 1 : word, "compute-sanitizer"))
            u->needs_summary = true;
        u->argv[n++] = word;
    }
    if (!n) fatal(EXIT_NOT_BUILT, "--under needs a command; see ./grade --help");
    u->argv[n] = (char *)program;
    u->text = xalloc(2 * TEXT_KEPT + 1);
    return u;
}

int under_exec(const struct under *u, const char **step)
{
    setsid(); /* no terminal; one process group, so that all of it can be killed */
    *step = "make it end with the grader";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
    *step = text_of("start %s", u->argv[0]);
    return execvp(u->argv[0], u->argv);
}

void under_heard(struct under *u, const char *part, size_t bytes)
{
    while (bytes) {
        size_t n = bytes < TEXT_KEPT ? bytes : TEXT_KEPT;
        if (u->bytes + n > 2 * TEXT_KEPT) { /* drop the older half */
            size_t gone = u->bytes - TEXT_KEPT;
            memmove(u->text, u->text + gone, TEXT_KEPT);
            u->bytes = TEXT_KEPT;
            u->begin = u->begin > gone ? u->begin - gone : 0;
        }
        memcpy(u->text + u->bytes, part, n);
        u->bytes += n, part += n, bytes -= n;
        u->text[u->bytes] = 0;
    }
}

static void find_fault(struct under *u, char *reason)
{
    if (u->fault)
        free(reason);
    else
        u->fault = reason;
}

/* The number of errors in a summary line; -1: this is not a summary line. */
static long summary_errors(const char *line)
{
    const char *at = strstr(line, "RACECHECK SUMMARY:");
    if (at)
        at = strchr(at, '('); /* of the hazards, only those that are errors count */
    else if ((at = strstr(line, "ERROR SUMMARY:")))
        at += strlen("ERROR SUMMARY:") - 1;
    if (!at) return -1;
    at += 1 + strspn(at + 1, " ");
    return isdigit((unsigned char)*at) ? strtol(at, NULL, 10) : -1;
}

/* Calls `each` with every line of the text, starting at `begin`. */
static void
each_line(struct under *u, size_t begin, void (*each)(struct under *, const char *))
{
    for (char *line = u->text + begin, *end; *line; line = end) {
        end = strchrnul(line, '\n');
        char was = *end;
        *end = 0;
        each(u, line);
        *end = was;
        if (was) end++;
    }
}

static void take_summary(struct under *u, const char *line)
{
    long errors = summary_errors(line);
    if (errors < 0) return;
    u->summaries++;
    if (errors > 0)
        find_fault(
            u, text_of("%s found %ld error%s", u->command, errors, &"s"[errors == 1]));
}

void under_ended(struct under *u, int status, bool stopped)
{
    int before = u->summaries;
    u->runs++;
    each_line(u, u->begin, take_summary);
    u->begin = u->bytes;
    if (stopped)
        find_fault(u, text_of("%s was stopped", u->command));
    else if (WIFSIGNALED(status))
        find_fault(u, text_of("%s was ended by signal %d", u->command, WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        find_fault(u, text_of("%s exited with code %d", u->command, WEXITSTATUS(status)));
    if (u->needs_summary && u->summaries == before)
        find_fault(
            u, text_of("%s printed no summary: did it check anything?", u->command));
}

static void print_line(struct under *u, const char *line)
{
    (void)u;
    printf("    ");
    print_clean(line, strlen(line), 1000);
    putchar('\n');
}

void under_failed(struct under *u, const char *why)
{
    each_line(u, 0, print_line);
    fatal(
        EXIT_NOT_BUILT, "the lab's program does not answer under %s: %s", u->command,
        why);
}

static void print_summary(struct under *u, const char *line)
{
    if (summary_errors(line) >= 0) print_line(u, line);
}

bool under_report(struct under *u)
{
    if (!u->runs) return true;
    printf("under %s:\n", u->command);
    each_line(u, 0, u->fault ? print_line : print_summary);
    if (u->fault)
        printf("FAIL: %s\n", u->fault);
    else
        printf(u->summaries ? "no errors\n" : "exited with code 0, without a summary\n");
    return !u->fault;
}

void under_free(struct under *u)
{
    if (!u) return;
    free(u->words);
    free(u->argv);
    free(u->text);
    free(u->fault);
    free(u);
}
