/* child.c - the conversation with the lab executable, its child process.
 *
 * The child runs the learner's code. So the grader believes no message without the nonce
 * of the case, and nothing that the code does may cost more than the case at hand: it may
 * crash, hang, exit, print without end or use up the memory.
 */
#define _GNU_SOURCE
#include "child.h"

#include "crash.h"
#include "process.h"
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUTPUT_ALLOWED = 4 << 20, /* bytes printed in one case */
    START_SECONDS = 20,       /* CUDA takes a while to initialise */
    MAX_RESULTS = 64,         /* of one case; the harness sends about a dozen */
    POLL_MS = 20,             /* how often the memory is checked */
};

struct child {
    struct process process;
    struct child_limits limits;
    uint64_t nonce[2];
};

/* --- one case as bytes -------------------------------------------------------------- */

static unsigned char *make_message(
    const struct child *c, const struct graded_case *g, const struct case_data *d,
    uint32_t orders, size_t *bytes)
{
    size_t n = sizeof(struct wire_header) + sizeof(struct wire_case);
    const char *key;
    json_t *value;
    for (int b = 0; b < d->buffers; b++)
        if (d->buffer[b].filled) n += 2 * d->buffer[b].bytes;
    unsigned char *message = xalloc(n), *data;
    struct wire_header *h = (struct wire_header *)message;
    struct wire_case *w = (struct wire_case *)(h + 1);
    h->kind = MSG_CASE;
    h->bytes = n - sizeof *h;
    memcpy(h->nonce, c->nonce, sizeof h->nonce);
    snprintf(w->name, sizeof w->name, "%s", g->name);
    snprintf(w->function, sizeof w->function, "%s", d->function);
    w->dtype = (int32_t)d->dtype;
    w->seed = d->seed;
    w->orders = orders;
    w->workspace_less = g->workspace_less;
    for (int b = 0; b < d->buffers; b++) {
        struct wire_buffer *to = &w->buffer[w->buffers++];
        memcpy(to->name, d->buffer[b].name, sizeof to->name);
        to->bytes = d->buffer[b].bytes;
        to->filled = d->buffer[b].filled;
    }
    for (int i = 0; i < d->views; i++) {
        struct wire_arg *to = &w->arg[w->args++];
        memcpy(to->name, d->view[i].name, sizeof to->name);
        to->buffer = d->view[i].buffer;
        to->offset = d->view[i].offset * element_bytes(d->view[i].element);
    }
    json_object_foreach (d->scalars, key, value) {
        struct wire_scalar *to = &w->scalar[w->scalars++];
        snprintf(to->name, sizeof to->name, "%s", key);
        to->value = json_number_value(value);
    }
    data = (unsigned char *)(w + 1);
    for (int s = 0; s < 2; s++) {
        for (int b = 0; b < d->buffers; b++) {
            if (!d->buffer[b].filled) continue;
            memcpy(data, d->set[s].bytes[b], d->buffer[b].bytes);
            data += d->buffer[b].bytes;
        }
    }
    *bytes = n;
    return message;
}

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

/* The child has exited or closed its socket. crash: what its signal handler reported;
 * started: the learner's code had begun to run. */
static void ended(struct child *c, struct run *run, const char *crash, bool started)
{
    int code, status;
    bool exited = process_exited(&c->process, &code, &status);
    if (*crash)
        stop(c, run, CRASHED, "%s", crash);
    else if (!exited)
        stop(c, run, ENDED, "the code closed the connection to the grader");
    else if (!started && code == CLD_EXITED && status == 127)
        stop(
            c, run, BROKE, "cannot start %s (see %s)", c->process.program,
            c->process.under ? "above" : "what it printed");
    else if (code == CLD_EXITED)
        stop(
            c, run, ENDED,
            "the code ended the program (exit code %d) instead of returning", status);
    else if (status == SIGKILL)
        stop(c, run, TOO_MUCH_MEMORY, "killed by the system: out of memory?");
    else if (status == SIGSEGV) /* without a stack, the handler could report nothing */
        stop(
            c, run, CRASHED,
            "segmentation fault: a stack overflow (a large local array)?");
    else
        stop(c, run, CRASHED, "%s", signal_words(status));
}

/* --- messages ----------------------------------------------------------------------- */

/* One conversation: the start of the child (d is NULL), or one case. */
struct talk {
    struct child *child;
    struct run *run;
    const struct case_data *d;
    const unsigned char *message; /* to be sent */
    size_t bytes, sent;
    struct wire_header header; /* being received: header, then payload */
    unsigned char *payload;
    size_t have;
    char crash[512];
    bool output_closed, done;
};

static size_t full_result_bytes(const struct case_data *d)
{
    size_t n = sizeof(struct wire_result) + 2 * RED_ZONE;
    for (int b = 0; b < d->buffers; b++)
        n += d->buffer[b].bytes + 2 * RED_ZONE;
    return n;
}

/* Is this a message that the harness may send at this point? */
static bool valid(const struct talk *t)
{
    const struct wire_header *h = &t->header;
    if (memcmp(h->nonce, t->child->nonce, sizeof h->nonce)) return false;
    switch (h->kind) {
    case MSG_HELLO:
        return !t->d && h->bytes == 0;
    case MSG_DONE:
        return t->d && h->bytes == 0;
    case MSG_RESULT:
        return t->d && t->run->results < MAX_RESULTS &&
               (h->bytes == sizeof(struct wire_result) ||
                h->bytes == full_result_bytes(t->d));
    case MSG_CRASH:
        return h->bytes == sizeof(struct wire_crash);
    case MSG_BROKEN:
        return h->bytes < 4096;
    }
    return false;
}

/* Text from the child goes into the report: no new lines, no escape sequences. */
static void make_printable(char *text, size_t bytes)
{
    text[bytes - 1] = 0;
    for (; *text; text++)
        if (*text < ' ' || *text == 127) *text = '.'; /* UTF-8 (negative) too */
}

static void keep_result(struct run *run, const unsigned char *payload, size_t bytes)
{
    struct result r = {.size = bytes - sizeof r.head};
    const struct result *first = run->results ? &run->result[0] : NULL;
    memcpy(&r.head, payload, sizeof r.head);
    make_printable(r.head.cuda_message, sizeof r.head.cuda_message);
    payload += sizeof r.head;
    if (r.size && first && first->size == r.size &&
        !memcmp(payload, first->bytes, r.size)) {
        r.as_first = true; /* as most are: no need for a dozen copies */
    } else if (r.size) {
        r.bytes = xalloc(r.size);
        memcpy(r.bytes, payload, r.size);
    }
    run->result = realloc(run->result, (run->results + 1) * sizeof r);
    if (!run->result) fatal(EXIT_BROKEN, "out of memory");
    run->result[run->results++] = r;
}

static void handle(struct talk *t)
{
    struct wire_crash crash;
    switch (t->header.kind) {
    case MSG_HELLO:
    case MSG_DONE:
        t->done = true;
        break;
    case MSG_RESULT:
        keep_result(t->run, t->payload, t->header.bytes);
        break;
    case MSG_CRASH: /* the process ends after this message */
        memcpy(&crash, t->payload, sizeof crash);
        make_printable(crash.kernel, sizeof crash.kernel);
        crash_words(&crash, t->d, t->crash, sizeof t->crash);
        break;
    case MSG_BROKEN:
        make_printable((char *)t->payload, t->header.bytes + 1);
        stop(t->child, t->run, BROKE, "%s", (char *)t->payload);
        break;
    }
    free(t->payload);
    t->payload = NULL;
    t->have = 0;
}

/* Receives as much of one message as has arrived. */
static void receive(struct talk *t)
{
    size_t head = sizeof t->header;
    char *to = t->have < head ? (char *)&t->header + t->have
                              : (char *)t->payload + (t->have - head);
    size_t want = t->have < head ? head - t->have : head + t->header.bytes - t->have;
    ssize_t n = recv(t->child->process.socket, to, want, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        ended(t->child, t->run, t->crash, t->d != NULL);
        return;
    }
    t->have += (size_t)n;
    if (t->have < head) return;
    if (!t->payload) {
        if (!valid(t)) {
            stop(
                t->child, t->run, ENDED,
                "something other than the harness wrote to the grader's socket");
            return;
        }
        t->payload = xalloc(t->header.bytes + 1); /* text ends with a 0 */
    }
    if (t->have == head + t->header.bytes) handle(t);
}

static void send_more(struct talk *t)
{
    ssize_t n = send(
        t->child->process.socket, t->message + t->sent, t->bytes - t->sent, MSG_NOSIGNAL);
    if (n > 0) t->sent += (size_t)n; /* an error will show when receiving */
    if (n < 0 && errno != EAGAIN && errno != EINTR) t->sent = t->bytes;
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

static void check_limits(struct talk *t, double started, double seconds)
{
    size_t most = t->child->limits.memory;
    if (now() - started > seconds)
        stop(
            t->child, t->run, TIMED_OUT,
            "no answer within %.3g s: stopped (an endless loop? a barrier that some "
            "threads never reach?)",
            seconds);
    else if (most && process_memory(&t->child->process) > most)
        stop(
            t->child, t->run, TOO_MUCH_MEMORY, "used more than %zu MB of memory: stopped",
            most >> 20);
}

static void converse(struct talk *t, double seconds)
{
    struct process *p = &t->child->process;
    double started = now();
    while (!t->done && p->pid) {
        struct pollfd fd[2] = {
            {p->socket, POLLIN, 0}, {t->output_closed ? -1 : p->output, POLLIN, 0}};
        if (t->sent < t->bytes) fd[0].events |= POLLOUT;
        poll(fd, 2, POLL_MS);
        if (fd[1].revents) read_output(t);
        if (p->pid && fd[0].revents & POLLOUT) send_more(t);
        if (p->pid && fd[0].revents & (POLLIN | POLLHUP | POLLERR)) receive(t);
        if (p->pid && !t->done) check_limits(t, started, seconds);
    }
    if (p->pid && !t->output_closed) read_output(t);
    free(t->payload);
}

/* --- what the rest of the grader calls ---------------------------------------------- */

struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under)
{
    struct child *c = xalloc(sizeof *c);
    c->process.program = text_of("%s", program);
    c->process.device = device;
    c->process.memory = limits.memory;
    c->process.under = under;
    c->limits = limits;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return c;
}

static void new_nonce(struct child *c)
{
    if (getrandom(c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
        fatal(EXIT_BROKEN, "cannot get random numbers: %s", strerror(errno));
}

static void start(struct child *c, struct run *run)
{
    struct wire_header hello = {.kind = MSG_HELLO};
    struct talk t = {.child = c, .run = run};
    process_start(&c->process);
    new_nonce(c);
    memcpy(hello.nonce, c->nonce, sizeof c->nonce);
    /* an error will show when receiving */
    (void)!send(c->process.socket, &hello, sizeof hello, MSG_NOSIGNAL);
    converse(&t, START_SECONDS + c->limits.seconds);
    if (run->ending == TIMED_OUT)
        snprintf(
            run->text, sizeof run->text,
            "does not start: does code run before main (a static constructor)?");
    else if (run->ending != RAN && c->process.under)
        under_failed(c->process.under, run->text);
}

void child_case(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    uint32_t orders, struct run *run)
{
    double started = now();
    memset(run, 0, sizeof *run);
    if (!c->process.pid) start(c, run);
    if (run->ending == RAN) {
        struct talk t = {.child = c, .run = run, .d = d};
        new_nonce(c);
        unsigned char *message = make_message(c, g, d, orders, &t.bytes);
        t.message = message;
        converse(&t, c->limits.seconds);
        free(message);
    }
    if (run->ending == RAN && run->results &&
        run->result[run->results - 1].head.cuda_error)
        process_end(&c->process); /* after a CUDA error nothing works in that process */
    run->seconds = now() - started;
}

void child_free(struct child *c)
{
    process_end(&c->process);
    free(c->process.program);
    free(c);
}

void run_free(struct run *run)
{
    for (size_t i = 0; i < run->results; i++)
        free(run->result[i].bytes);
    free(run->result);
    free(run->output);
}
