/* talk.c - one question to the child, and its answer.
 *
 * The child runs the learner's code. So the grader accepts only the answer to its question,
 * and nothing that the code does may cost more than the case at hand: it may crash, hang,
 * exit, print without end or use up memory, threads and time.
 */
#define _GNU_SOURCE
#include "talk.h"

#include "crash.h"
#include "record.h"
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUTPUT_ALLOWED = 4 << 20, /* bytes printed in one case */
    START_SECONDS = 20,       /* CUDA takes a while to initialise */
    MOST_REPORT = 1 << 20,    /* bytes of check mode's report; usual ones have 50 KB */
    POLL_MS = 20,             /* how often the limits are checked */
};

/* --- why it ended ------------------------------------------------------------------- */

static void
stop(struct child *c, struct run *run, enum ending ending, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void
stop(struct child *c, struct run *run, enum ending ending, const char *format, ...)
{
    char text[sizeof run->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(run->text, text, sizeof text);
    run->ending = ending;
    c->process.hangs = ending == TIMED_OUT || ending == FLOODED;
    process_end(&c->process);
}

/* The program cannot go on, before the learner's code could run. In a process that has
 * served other cases, that code may be the reason: child_open tries again in a new one. A
 * constructor that no scan has found may also be, so not every program is believed. */
static void cannot_begin(struct child *c, struct run *run, const char *why)
{
    if (c->used || c->limits.believed)
        stop(c, run, BROKE, "%s", why);
    else
        stop(
            c, run, ENDED, "%s (if the solution says so too, the exercise is broken)",
            why);
}

/* The child has exited or closed its socket. crash: what its signal handler reported;
 * started: it had said HELLO. */
static void ended(struct child *c, struct run *run, const char *crash, bool started)
{
    char text[sizeof run->text];
    int code, status;
    bool exited = process_exited(&c->process, &code, &status);
    if (*crash)
        stop(c, run, CRASHED, "%s", crash);
    else if (!exited)
        stop(c, run, ENDED, "the code closed the connection to the grader");
    else if (!started && code == CLD_EXITED && status == 127) {
        snprintf(
            text, sizeof text, "cannot start %s (see %s)", c->process.program,
            c->process.under ? "above" : "what it printed");
        cannot_begin(c, run, text);
    } else if (code == CLD_EXITED)
        stop(
            c, run, ENDED,
            "the code ended the program (exit code %d) instead of returning", status);
    else if (status == SIGKILL)
        stop(c, run, TOO_MUCH_MEMORY, "killed by the system: out of memory?");
    else if (status == SIGSEGV) /* without a stack, the handler could report nothing */
        stop(
            c, run, CRASHED,
            "segmentation fault: a stack overflow (a large local array), or a crash in a "
            "thread that the code started?");
    else
        stop(c, run, CRASHED, "%s", signal_words(status));
}

/* --- messages ----------------------------------------------------------------------- */

void talk_add(struct talk *t, const void *bytes, size_t n)
{
    if (n) t->part[t->parts++] = (struct iovec){(void *)bytes, n};
}

void talk_begin(struct talk *t, enum message_kind kind, size_t bytes)
{
    struct child *c = t->child;
    if (getrandom(c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
        fatal(EXIT_BROKEN, "cannot get random numbers: %s", strerror(errno));
    t->question = (struct wire_header){.kind = kind, .bytes = bytes};
    memcpy(t->question.nonce, c->nonce, sizeof c->nonce);
    talk_add(t, &t->question, sizeof t->question);
}

static size_t least_result_bytes(const struct case_data *d)
{
    size_t n = sizeof(struct wire_result);
    for (int b = 0; b < d->buffers; b++)
        n += d->buffer[b].bytes;
    return n;
}
static size_t full_result_bytes(const struct case_data *d)
{
    return least_result_bytes(d) + 2 * RED_ZONE * ((size_t)d->buffers + 1);
}

/* Is this a message that the harness may send at this point? */
static bool valid(const struct talk *t)
{
    const struct wire_header *h = &t->header;
    if (memcmp(h->nonce, t->child->nonce, sizeof h->nonce)) return false;
    if (*t->crash) return false; /* it should have ended */
    switch (h->kind) {
    case MSG_HELLO:
    case MSG_DONE:
        return h->kind == t->want && h->bytes == 0;
    case MSG_BEGIN:
        return t->want == MSG_READY && !t->begun && h->bytes == 0;
    case MSG_READY:
        return t->want == MSG_READY && t->begun && h->bytes == sizeof(struct wire_ready);
    case MSG_REPORT:
        return h->kind == t->want && h->bytes <= MOST_REPORT;
    case MSG_RESULT:
        return t->want == MSG_RESULT && (h->bytes == sizeof(struct wire_result) ||
                                         (h->bytes <= full_result_bytes(t->d) &&
                                          h->bytes >= least_result_bytes(t->d)));
    case MSG_CRASH:
        return h->bytes == sizeof(struct wire_crash);
    case MSG_BROKEN:
        return h->bytes < 256;
    }
    return false;
}

static void refuse(struct talk *t)
{
    bool large = t->want == MSG_REPORT && t->header.kind == MSG_REPORT;
    stop(
        t->child, t->run, ENDED,
        large ? "the report of check mode is larger than 1 MB: fix what it finds first"
              : "something other than the harness wrote to the grader's socket");
}

/* Text from the child goes into the report. */
static void make_printable(char *text, size_t bytes)
{
    text[bytes - 1] = 0;
    clean_text(text);
}

static void read_output(struct talk *t);

/* Does a result have the size that its head implies? Bit b of `kept`: the red zones of
 * buffer b are unchanged and were not sent. Of the workspace, the last, only they are. */
static bool right_size(const struct talk *t, uint32_t kept)
{
    size_t left_out = 2 * RED_ZONE * (size_t)__builtin_popcount(kept);
    return !(kept >> (t->d->buffers + 1)) &&
           t->header.bytes + left_out == full_result_bytes(t->d);
}

static size_t part_bytes(const struct case_data *d, int b)
{
    return b < d->buffers ? d->buffer[b].bytes : 0;
}

/* Is what came equal to an earlier result, as most are? */
static bool equal(const struct talk *t, uint32_t kept, const struct result *earlier)
{
    const unsigned char *from = t->payload + sizeof(struct wire_result);
    const unsigned char *all = earlier->bytes;
    if (!all || earlier->head.kept != kept) return false;
    for (int b = 0; b <= t->d->buffers; b++) {
        size_t zone = kept >> b & 1 ? RED_ZONE : 0;
        size_t whole = part_bytes(t->d, b) + 2 * RED_ZONE, came = whole - 2 * zone;
        if (memcmp(from, all + zone, came) != 0) return false;
        from += came, all += whole;
    }
    return true;
}

/* The buffers of a result, each between its red zones */
static unsigned char *all_bytes(const struct talk *t, uint32_t kept)
{
    static uint16_t zone[RED_ZONE / 2];
    for (size_t i = 0; !zone[RED_ZONE / 2 - 1]; i++) /* once */
        zone[i] = FILL_RED_ZONE;
    const unsigned char *from = t->payload + sizeof(struct wire_result);
    unsigned char *all = xmalloc(full_result_bytes(t->d) - sizeof(struct wire_result));
    unsigned char *to = all;
    for (int b = 0; b <= t->d->buffers; b++) {
        size_t bytes = part_bytes(t->d, b), around = 2 * RED_ZONE;
        if (kept >> b & 1) {
            memcpy(to, zone, RED_ZONE);
            memcpy(to + RED_ZONE + bytes, zone, RED_ZONE);
            memcpy(to + RED_ZONE, from, bytes);
            from += bytes;
        } else {
            memcpy(to, from, bytes + around);
            from += bytes + around;
        }
        to += bytes + around;
    }
    return all;
}

static void keep_result(struct talk *t)
{
    struct result r = {.present = true};
    const struct result *same = &t->run->result[same_data(t->which)];
    memcpy(&r.head, t->payload, sizeof r.head);
    make_printable(r.head.cuda_message, sizeof r.head.cuda_message);
    bool head_alone = r.head.cuda_error || t->d->dry;
    if (r.head.which != t->which || (head_alone ? t->header.bytes != sizeof r.head
                                                : !right_size(t, r.head.kept))) {
        refuse(t);
        return;
    }
    r.shared = !head_alone && equal(t, r.head.kept, same);
    if (!head_alone) r.bytes = r.shared ? same->bytes : all_bytes(t, r.head.kept);
    t->run->result[t->which] = r;
    t->done = true;
    if (t->which == CALL_A) { /* it has flushed what its kernels printed */
        if (!t->output_closed) read_output(t);
        t->run->first_output = t->run->output_bytes;
    }
}

static void handle(struct talk *t)
{
    struct wire_crash crash;
    struct wire_ready ready;
    switch (t->header.kind) {
    case MSG_HELLO:
    case MSG_DONE:
        t->done = true;
        break;
    case MSG_BEGIN:
        t->begun = t->child->used = true;
        break;
    case MSG_READY:
        memcpy(&ready, t->payload, sizeof ready);
        make_printable(ready.falls, sizeof ready.falls);
        if (ready.workspace > t->run->workspace) t->run->workspace = ready.workspace;
        if (*ready.falls) memcpy(t->run->falls, ready.falls, sizeof ready.falls);
        t->done = true;
        break;
    case MSG_RESULT:
        keep_result(t);
        break;
    case MSG_REPORT:
        t->payload[t->header.bytes] = 0;
        free(t->run->report);
        t->run->report = (char *)t->payload;
        t->payload = NULL;
        t->done = true;
        break;
    case MSG_CRASH: /* the process ends after this message */
        memcpy(&crash, t->payload, sizeof crash);
        make_printable(crash.kernel, sizeof crash.kernel);
        make_printable(crash.text, sizeof crash.text);
        crash_words(&crash, t->d, t->crash, sizeof t->crash);
        break;
    case MSG_BROKEN:
        make_printable((char *)t->payload, t->header.bytes + 1);
        if (t->begun || t->want == MSG_RESULT || t->want == MSG_DONE)
            stop(t->child, t->run, CRASHED, "%s", (char *)t->payload);
        else
            cannot_begin(t->child, t->run, (char *)t->payload);
        break;
    }
    free(t->payload);
    t->payload = NULL;
    t->have = 0;
}

/* Receives as much of one message as has arrived. true: there may be more. */
static bool receive_part(struct talk *t)
{
    size_t head = sizeof t->header;
    char *to = t->have < head ? (char *)&t->header + t->have
                              : (char *)t->payload + (t->have - head);
    size_t want = t->have < head ? head - t->have : head + t->header.bytes - t->have;
    ssize_t n = recv(t->child->process.socket, to, want, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        ended(t->child, t->run, t->crash, t->d != NULL);
        return false;
    }
    t->have += (size_t)n;
    if (t->have < head) return true;
    if (!t->payload) {
        if (!valid(t)) {
            refuse(t);
            return false;
        }
        t->payload = xmalloc(t->header.bytes + 1); /* text ends with a 0 */
        t->payload[t->header.bytes] = 0;
    }
    if (t->have < head + t->header.bytes) return true;
    handle(t);
    return t->child->process.pid && !t->done;
}

static void send_more(struct talk *t)
{
    struct msghdr m = {
        .msg_iov = t->part + t->sent, .msg_iovlen = (size_t)(t->parts - t->sent)};
    ssize_t n = sendmsg(t->child->process.socket, &m, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        t->sent = t->parts; /* the error will show when receiving */
    for (; n > 0 && t->sent < t->parts; t->sent++) {
        struct iovec *v = &t->part[t->sent];
        size_t part = (size_t)n < v->iov_len ? (size_t)n : v->iov_len;
        v->iov_base = (char *)v->iov_base + part;
        v->iov_len -= part, n -= (ssize_t)part;
        if (v->iov_len) break;
    }
}

/* Reads what was printed: keeps the beginning, counts the rest. */
static void read_output(struct talk *t)
{
    char part[1 << 14];
    struct run *run = t->run;
    struct process *p = &t->child->process;
    ssize_t n;
    while ((n = read(p->output, part, sizeof part)) > 0) {
        size_t at = run->output_bytes < OUTPUT_KEPT ? run->output_bytes : OUTPUT_KEPT;
        size_t room = OUTPUT_KEPT - at;
        if (!run->output) run->output = xalloc(OUTPUT_KEPT + 1);
        memcpy(run->output + at, part, (size_t)n < room ? (size_t)n : room);
        run->output_bytes += (size_t)n;
        if (p->under) under_heard(p->under, part, (size_t)n);
        if (run->output_bytes <= OUTPUT_ALLOWED) continue;
        stop(
            t->child, t->run, FLOODED, "printed more than %d MB: stopped",
            OUTPUT_ALLOWED >> 20);
        return;
    }
    if (n == 0) t->output_closed = true;
}

static void check_time(struct talk *t, const struct usage *u)
{
    struct child *c = t->child;
    const struct child_limits *l = &c->limits;
    double cpu = t->run->cpu_seconds + u->cpu_seconds - c->cpu_before;
    double wall = now() - t->run->started, most = l->seconds;
    if (!t->d) most += START_SECONDS;
    if (l->deadline > 0 && now() > l->deadline)
        stop(
            c, t->run, TIMED_OUT, "the whole grade took longer than %.3g s: stopped",
            l->whole_seconds);
    else if (t->d && cpu > l->cpu_seconds)
        stop(
            c, t->run, TIMED_OUT,
            "no answer within %.3g s of CPU time: stopped (an endless loop?)",
            l->cpu_seconds);
    else if (wall > most)
        stop(
            c, t->run, TIMED_OUT,
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

static void check_limits(struct talk *t)
{
    struct child *c = t->child;
    const struct child_limits *l = &c->limits;
    struct usage u = {.cpu_seconds = c->cpu_before};
    process_usage(&c->process, &u); /* if it has ended, receiving will tell */
    if (l->memory && u.memory > l->memory)
        stop(
            c, t->run, TOO_MUCH_MEMORY, "used more than %zu MB of memory: stopped",
            l->memory >> 20);
    else if (l->threads && u.threads > l->threads)
        stop(
            c, t->run, CRASHED, "runs %d threads, more than %d: stopped", u.threads,
            l->threads);
    else if (t->done && t->d && l->idle_threads && threads_stay(c, &u))
        stop(
            c, t->run, CRASHED,
            "%d threads still run after the call, but the back end has only %d: do the "
            "work in kernels",
            u.threads, l->idle_threads);
    else
        check_time(t, &u);
}

bool converse(struct talk *t)
{
    struct process *p = &t->child->process;
    double checked = now();
    record(t);
    send_more(t); /* most questions fit into the socket */
    while (!t->done && p->pid) {
        struct pollfd fd[2] = {
            {p->socket, POLLIN, 0}, {t->output_closed ? -1 : p->output, POLLIN, 0}};
        if (t->sent < t->parts) fd[0].events |= POLLOUT;
        poll(fd, 2, POLL_MS);
        if (fd[1].revents) read_output(t);
        if (p->pid && fd[0].revents & POLLOUT) send_more(t);
        if (p->pid && fd[0].revents & (POLLIN | POLLHUP | POLLERR))
            while (receive_part(t))
                continue;
        if (!p->pid || (!t->done && now() - checked < 1e-3 * POLL_MS)) continue;
        check_limits(t);
        checked = now();
    }
    if (p->pid && !t->output_closed) read_output(t);
    free(t->payload);
    return p->pid && t->run->ending == RAN;
}
