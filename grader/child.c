/* child.c - the lab executable as a child process: started, fed, limited, listened to.
 *
 * The child runs the learner's code, so nothing that it says is believed without the nonce
 * of the case, and nothing that it does may cost more than the case at hand: it may crash,
 * hang, exit, print without end or eat the memory. It has three descriptors (output twice,
 * the socket), no environment to speak of, and what sandbox.h takes away. Under a command
 * (under.c) it runs without all that: a sanitizer needs what the sandbox forbids.
 */
#define _GNU_SOURCE
#include "grader.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    OUTPUT_ALLOWED = 4 << 20, /* more in one case is a flood */
    START_SECONDS = 20,       /* CUDA takes its time */
    MAX_RESULTS = 64,         /* of one case; the harness sends a dozen */
    LOOK_MS = 20,             /* how often memory is looked at */
    LAST_WORDS_SECONDS = 60,  /* for the report of a command at its end */
};

struct child {
    char *program;
    struct child_limits limits;
    pid_t pid;  /* 0: does not run */
    bool hangs; /* it would not end by itself */
    int socket, output;
    uint64_t nonce[2];
    bool device;         /* talks to a card */
    struct under *under; /* the command that it runs under, or NULL */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- start and end ------------------------------------------------------------------ */

static char *kept_environment[16];

/* Paths, tokens and the like of the person at the keyboard are none of its business. */
static void make_environment(void)
{
    static const char *const keep[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                                       "WB_THREADS",      "WB_STACK_KB",
                                       "WBCPU_ARCH",      "ASAN_OPTIONS",
                                       "UBSAN_OPTIONS"};
    size_t n = 0;
    kept_environment[n++] = "PATH=/usr/bin:/bin";
    kept_environment[n++] = "LC_ALL=C";
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
        if (getenv(keep[i]))
            kept_environment[n++] = text_of("%s=%s", keep[i], getenv(keep[i]));
}

/* In the forked child, up to the exec. */
static _Noreturn void become(const struct child *c, int socket, int output, pid_t parent)
{
    struct sandbox box = {
        .program = c->program,
        .device = c->device,
        .last_fd = WIRE_FD,
        .memory = 4 * c->limits.memory}; /* mapped; the watch below looks at resident */
    char *argv[] = {c->program, NULL};
    const char *step = "";
    /* above what they are moved onto */
    int null = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
    socket = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    output = fcntl(output, F_DUPFD_CLOEXEC, 10);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    dup2(null, 0);
    dup2(output, 1);
    dup2(output, 2);
    dup2(socket, WIRE_FD);
    if (getppid() != parent) _exit(127);
    if (c->under)
        under_exec(c->under, &step);
    else
        sandbox_exec(&box, argv, kept_environment, &step);
    dprintf(2, "cannot %s: %s\n", step, strerror(errno));
    _exit(127);
}

static void start(struct child *c)
{
    int pair[2], output[2];
    struct wire_header hello = {.kind = MSG_HELLO};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
        pipe2(output, O_CLOEXEC) != 0)
        fatal(EXIT_BROKEN, "no descriptors: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid();
    c->hangs = false;
    c->pid = fork();
    if (c->pid < 0) fatal(EXIT_BROKEN, "fork: %s", strerror(errno));
    if (c->pid == 0) become(c, pair[1], output[1], parent);
    close(pair[1]);
    close(output[1]);
    c->socket = pair[0], c->output = output[0];
    fcntl(c->socket, F_SETFL, O_NONBLOCK);
    fcntl(c->output, F_SETFL, O_NONBLOCK);
    if (getrandom(c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
        fatal(EXIT_BROKEN, "no random numbers: %s", strerror(errno));
    memcpy(hello.nonce, c->nonce, sizeof c->nonce);
    /* an error shows when the answer is read */
    (void)!send(c->socket, &hello, sizeof hello, MSG_NOSIGNAL);
}

/* Processes that the learner's code left behind are ours (PR_SET_CHILD_SUBREAPER). */
static void kill_orphans(void)
{
    char text[4096], *next = text, *end;
    for (int round = 0; round < 20; round++) {
        char *path = text_of("/proc/self/task/%d/children", (int)getpid());
        size_t n = 0;
        FILE *f = fopen(path, "re");
        free(path);
        if (f) n = fread(text, 1, sizeof text - 1, f), fclose(f);
        text[n] = 0;
        if (!strtol(text, NULL, 10)) return;
        for (next = text; *next; next = end) {
            long pid = strtol(next, &end, 10);
            if (end == next) break;
            if (pid <= 0) continue;
            kill((pid_t)pid, SIGKILL);
            waitpid((pid_t)pid, NULL, 0);
        }
    }
}

/* Hears the command out: until it has ended, or the time is over. */
static bool hear_out(struct child *c)
{
    siginfo_t info = {0};
    char part[1 << 14];
    double give_up = now() + LAST_WORDS_SECONDS;
    while (info.si_pid == 0 && now() < give_up) {
        struct pollfd p = {c->output, POLLIN, 0};
        ssize_t n = 0;
        waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == 0) poll(&p, 1, LOOK_MS);
        while ((n = read(c->output, part, sizeof part)) > 0 && now() < give_up)
            under_heard(c->under, part, (size_t)n);
        if (n == 0) usleep(1000 * LOOK_MS); /* closed: poll does not wait for the end */
    }
    return info.si_pid != 0;
}

static void end(struct child *c)
{
    int status = 0;
    bool ended = true;
    if (!c->pid) return;
    if (c->under) {
        shutdown(c->socket, SHUT_RDWR); /* lets the harness return from main */
        ended = !c->hangs && hear_out(c);
    }
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill_orphans();
    close(c->socket);
    close(c->output);
    c->pid = 0;
    if (c->under) under_ended(c->under, status, !ended);
}

/* ---- one case as bytes ---------------------------------------------------------------- */

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
    json_object_foreach(d->scalars, key, value)
    {
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

/* ---- what ended it ------------------------------------------------------------------- */

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
    c->hangs = ending == TIMED_OUT || ending == FLOODED;
    end(c);
}

static const char *signal_words(int s)
{
    switch (s) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGFPE:
        return "arithmetic error (an integer division by 0?)";
    case SIGILL:
        return "illegal instruction";
    case SIGABRT:
        return "abort (a failed assert?)";
    case SIGSYS:
        return "a system call that the sandbox forbids";
    }
    return strsignal(s);
}

/* Where the code was, for the report: " in kernel rows, block ..., thread ...". */
static const char *crash_place(const struct wire_crash *k, char *text, size_t room)
{
    snprintf(
        text, room, "%s%.*s",
        k->kernel[0]          ? " in "
        : k->in_launcher == 1 ? " in the launcher"
        : k->in_launcher == 2 ? " in what it launched"
                              : "",
        (int)sizeof k->kernel - 1, k->kernel);
    return text;
}

static void
say_crash(const struct wire_crash *k, const struct case_data *d, char *text, size_t room)
{
    char place[256];
    const char *what = signal_words(k->signal),
               *where = crash_place(k, place, sizeof place);
    const struct buffer *b =
        d && k->buffer >= 0 && k->buffer < d->buffers ? &d->buffer[k->buffer] : NULL;
    unsigned long long address = k->address;
    if (k->signal != SIGSEGV && k->signal != SIGBUS)
        snprintf(text, room, "%s%s", what, where);
    else if (k->in_device && !k->kernel[0])
        snprintf(
            text, room, "host code touched device memory%s%s: do the work in a kernel",
            b ? ", buffer " : "", b ? b->name : "");
    else if (b)
        snprintf(
            text, room, "%s%s: byte %lld of buffer %s", what, where, (long long)k->offset,
            b->name);
    else if (k->signal == SIGBUS && !address)
        snprintf(
            text, room, "misaligned access%s: 16 bytes at no multiple of 16?", where);
    else if (address < 65536)
        snprintf(
            text, room, "%s%s at address %#llx: a NULL pointer (an optional argument?)",
            what, where, address);
    else
        snprintf(
            text, room,
            "%s%s at address %#llx, outside of every buffer (a wild index, or a local "
            "array "
            "too large for the stack)",
            what, where, address);
}

/* The child is gone, or has closed its socket. `said`: what the signal handler wrote;
 * `started`: it was the learner's code that ran. */
static void ended(struct child *c, struct run *run, const char *said, bool started)
{
    siginfo_t info = {0};
    double give_up = now() + 1;
    if (c->under) hear_out(c);
    while (info.si_pid == 0 && now() < give_up) {
        waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == 0) usleep(1000);
    }
    if (*said)
        stop(c, run, CRASHED, "%s", said);
    else if (info.si_pid == 0)
        stop(c, run, ENDED, "the code closed the grader's socket");
    else if (!started && info.si_code == CLD_EXITED && info.si_status == 127)
        stop(
            c, run, BROKE, "%s cannot be started (see %s)", c->program,
            c->under ? "above" : "what it printed");
    else if (info.si_code == CLD_EXITED)
        stop(
            c, run, ENDED,
            "the code ended the program (exit code %d) instead of returning",
            info.si_status);
    else if (info.si_status == SIGKILL)
        stop(c, run, TOO_MUCH_MEMORY, "killed by the system: out of memory?");
    else if (info.si_status == SIGSEGV) /* the handler had no stack to say more from */
        stop(
            c, run, CRASHED, "segmentation fault: a stack overflow (large local array)?");
    else
        stop(c, run, CRASHED, "%s", signal_words(info.si_status));
}

/* ---- listening ----------------------------------------------------------------------- */

/* One conversation: the start of the child (d is NULL), or one case. */
struct talk {
    struct child *child;
    struct run *run;
    const struct case_data *d;
    const unsigned char *message; /* what is to be sent */
    size_t bytes, sent;
    struct wire_header header; /* what is being received: header, then payload */
    unsigned char *payload;
    size_t have;
    char crash[512];
    bool output_closed, done;
};

static size_t result_bytes(const struct case_data *d)
{
    size_t n = sizeof(struct wire_result) + 2 * FENCE;
    for (int b = 0; b < d->buffers; b++)
        n += d->buffer[b].bytes + 2 * FENCE;
    return n;
}

/* Is this a message that the harness sends at this point? */
static bool lawful(const struct talk *t)
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
               (h->bytes == sizeof(struct wire_result) || h->bytes == result_bytes(t->d));
    case MSG_CRASH:
        return h->bytes == sizeof(struct wire_crash);
    case MSG_BROKEN:
        return h->bytes < 4096;
    }
    return false;
}

/* Text from the child goes into the report: no line of its own, no escape sequences. */
static void make_printable(char *text, size_t bytes)
{
    text[bytes - 1] = 0;
    for (; *text; text++)
        if (*text < ' ' || *text == 127) *text = '.'; /* UTF-8 (negative) as well */
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
        r.as_first = true; /* most repeats are: do not keep eight copies */
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
    case MSG_CRASH: /* its end follows */
        memcpy(&crash, t->payload, sizeof crash);
        make_printable(crash.kernel, sizeof crash.kernel);
        say_crash(&crash, t->d, t->crash, sizeof t->crash);
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

/* Takes what is there of one message. */
static void receive(struct talk *t)
{
    size_t head = sizeof t->header;
    char *to = t->have < head ? (char *)&t->header + t->have
                              : (char *)t->payload + (t->have - head);
    size_t want = t->have < head ? head - t->have : head + t->header.bytes - t->have;
    ssize_t n = recv(t->child->socket, to, want, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        ended(t->child, t->run, t->crash, t->d != NULL);
        return;
    }
    t->have += (size_t)n;
    if (t->have < head) return;
    if (!t->payload) {
        if (!lawful(t)) {
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
    ssize_t n =
        send(t->child->socket, t->message + t->sent, t->bytes - t->sent, MSG_NOSIGNAL);
    if (n > 0) t->sent += (size_t)n; /* an error shows when receiving */
    if (n < 0 && errno != EAGAIN && errno != EINTR) t->sent = t->bytes;
}

/* Keeps the beginning of what was printed, counts the rest. */
static void drain(struct talk *t)
{
    char part[1 << 14];
    struct run *run = t->run;
    ssize_t n;
    while ((n = read(t->child->output, part, sizeof part)) > 0) {
        size_t at = run->output_bytes < OUTPUT_KEPT ? run->output_bytes : OUTPUT_KEPT;
        size_t room = OUTPUT_KEPT - at;
        if (!run->output) run->output = xalloc(OUTPUT_KEPT + 1);
        memcpy(run->output + at, part, (size_t)n < room ? (size_t)n : room);
        run->output_bytes += (size_t)n;
        if (t->child->under) under_heard(t->child->under, part, (size_t)n);
        if (run->output_bytes <= OUTPUT_ALLOWED) continue;
        stop(
            t->child, t->run, FLOODED, "printed more than %d MB: stopped",
            OUTPUT_ALLOWED >> 20);
        return;
    }
    if (n == 0) t->output_closed = true;
}

static size_t resident(pid_t pid)
{
    char path[64];
    unsigned long size = 0, pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &size, &pages) != 2) pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void check_limits(struct talk *t, double started, double seconds)
{
    size_t most = t->child->limits.memory, memory = most ? resident(t->child->pid) : 0;
    if (now() - started > seconds)
        stop(t->child, t->run, TIMED_OUT, "no answer within %.3g s: stopped", seconds);
    else if (memory > most)
        stop(
            t->child, t->run, TOO_MUCH_MEMORY, "used more than %zu MB of memory: stopped",
            most >> 20);
}

static void converse(struct talk *t, double seconds)
{
    double started = now();
    while (!t->done && t->child->pid) {
        struct pollfd p[2] = {
            {t->child->socket, POLLIN, 0},
            {t->output_closed ? -1 : t->child->output, POLLIN, 0}};
        if (t->sent < t->bytes) p[0].events |= POLLOUT;
        poll(p, 2, LOOK_MS);
        if (p[1].revents) drain(t);
        if (t->child->pid && p[0].revents & POLLOUT) send_more(t);
        if (t->child->pid && p[0].revents & (POLLIN | POLLHUP | POLLERR)) receive(t);
        if (t->child->pid && !t->done) check_limits(t, started, seconds);
    }
    if (t->child->pid && !t->output_closed) drain(t);
    free(t->payload);
}

/* ---- what the rest of the grader calls ------------------------------------------------ */

struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under)
{
    struct child *c = xalloc(sizeof *c);
    c->program = text_of("%s", program);
    c->limits = limits;
    c->device = device;
    c->under = under;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!kept_environment[0]) make_environment();
    return c;
}

void child_case(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    uint32_t orders, struct run *run)
{
    double started = now();
    memset(run, 0, sizeof *run);
    if (!c->pid) {
        struct talk hello = {.child = c, .run = run};
        start(c);
        converse(&hello, START_SECONDS + c->limits.seconds);
        if (run->ending == TIMED_OUT)
            snprintf(
                run->text, sizeof run->text,
                "does not start: code that runs before main?");
        else if (run->ending != RAN && c->under)
            under_failed(c->under, run->text);
    }
    if (run->ending == RAN) {
        struct talk t = {.child = c, .run = run, .d = d};
        if (getrandom(c->nonce, sizeof c->nonce, 0) != sizeof c->nonce)
            fatal(EXIT_BROKEN, "no random numbers: %s", strerror(errno));
        unsigned char *message = make_message(c, g, d, orders, &t.bytes);
        t.message = message;
        converse(&t, c->limits.seconds);
        free(message);
    }
    if (run->ending == RAN && run->results &&
        run->result[run->results - 1].head.cuda_error)
        end(c); /* after a CUDA error nothing works in that process */
    run->seconds = now() - started;
}

void child_free(struct child *c)
{
    end(c);
    free(c->program);
    free(c);
}

void run_free(struct run *run)
{
    for (size_t i = 0; i < run->results; i++)
        free(run->result[i].bytes);
    free(run->result);
    free(run->output);
}
