/* talk_end.c - see talk_end.h. */
#define _GNU_SOURCE
#include "talk_end.h"

#include "crash.h"
#include "util.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { START_SECONDS = 20 }; /* CUDA takes a while to initialise */

void talk_stop(struct talk *t, enum ending ending, const char *format, ...)
{
    struct child *c = t->child;
    char text[sizeof t->run->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(t->run->text, text, sizeof text);
    t->run->ending = ending;
    c->process.hangs = ending == TIMED_OUT || ending == FLOODED;
    process_end(&c->process);
}

void talk_cannot_begin(struct talk *t, const char *why)
{
    if (t->child->used || t->child->limits.believed)
        talk_stop(t, BROKE, "%s", why);
    else
        talk_stop(
            t, ENDED, "%s (if the solution says so too, the exercise is broken)", why);
}

void talk_ended(struct talk *t)
{
    struct child *c = t->child;
    char text[sizeof t->run->text];
    int code, status;
    bool started = t->d != NULL; /* it had said HELLO */
    bool exited = process_exited(&c->process, &code, &status);
    if (*t->crash)
        talk_stop(t, CRASHED, "%s", t->crash);
    else if (!exited)
        talk_stop(t, ENDED, "the code closed the connection to the grader");
    else if (!started && code == CLD_EXITED && status == 127) {
        snprintf(
            text, sizeof text, "cannot start %s (see %s)", c->process.program,
            c->process.under ? "above" : "what it printed");
        talk_cannot_begin(t, text);
    } else if (code == CLD_EXITED)
        talk_stop(
            t, ENDED, "the code ended the program (exit code %d) instead of returning",
            status);
    else if (status == SIGKILL)
        talk_stop(t, TOO_MUCH_MEMORY, "killed by the system: out of memory?");
    else if (status == SIGSEGV) /* without a stack, the handler could report nothing */
        talk_stop(
            t, CRASHED,
            "segmentation fault: a stack overflow (a large local array), or a crash in a "
            "thread that the code started?");
    else
        talk_stop(t, CRASHED, "%s", signal_words(status));
}

static void check_time(struct talk *t, const struct usage *u)
{
    struct child *c = t->child;
    const struct child_limits *l = &c->limits;
    double cpu = t->run->cpu_seconds + u->cpu_seconds - c->cpu_before;
    double wall = now() - t->run->started, most = l->seconds;
    if (!t->d) most += START_SECONDS;
    if (l->deadline > 0 && now() > l->deadline)
        talk_stop(
            t, TIMED_OUT, "the whole grade took longer than %.3g s: stopped",
            l->whole_seconds);
    else if (t->d && cpu > l->cpu_seconds)
        talk_stop(
            t, TIMED_OUT,
            "no answer within %.3g s of CPU time: stopped (an endless loop?)",
            l->cpu_seconds);
    else if (wall > most)
        talk_stop(
            t, TIMED_OUT,
            "no answer within %.3g s: stopped (a barrier that some threads never reach? "
            "waiting for something?)",
            most);
}

/* The system lists a thread for a moment after it was joined, so look again. */
static bool threads_stay(struct child *c, struct usage *u)
{
    for (int i = 0; i < 10 && u->threads > c->limits.idle_threads; i++) {
        poll(NULL, 0, POLL_MS);
        process_usage(&c->process, u);
    }
    return u->threads > c->limits.idle_threads;
}

void talk_check_limits(struct talk *t)
{
    struct child *c = t->child;
    const struct child_limits *l = &c->limits;
    struct usage u = {.cpu_seconds = c->cpu_before};
    process_usage(&c->process, &u); /* if it has ended, receiving will tell */
    if (l->memory && u.memory > l->memory)
        talk_stop(
            t, TOO_MUCH_MEMORY, "used more than %zu MB of memory: stopped",
            l->memory >> 20);
    else if (l->threads && u.threads > l->threads)
        talk_stop(
            t, CRASHED, "runs %d threads, more than %d: stopped", u.threads, l->threads);
    else if (t->done && t->d && l->idle_threads && threads_stay(c, &u))
        talk_stop(
            t, CRASHED,
            "%d threads still run after the call, but the back end has only %d: do the "
            "work in kernels",
            u.threads, l->idle_threads);
    else
        check_time(t, &u);
}
