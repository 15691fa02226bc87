/* talk.c - one question to the child, and its answer.
 *
 * The child runs the learner's code. So the grader accepts only the answer to its question,
 * and nothing that the code does may cost more than the case at hand: it may crash, hang,
 * exit, print without end or use up memory, threads and time (talk_end.c).
 */
#define _GNU_SOURCE
#include "talk.h"

#include "crash.h"
#include "record.h"
#include "talk_end.h"
#include "talk_result.h"
#include "util.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    OUTPUT_ALLOWED = 4 << 20, /* bytes printed in one case */
    MOST_REPORT = 1 << 20,    /* bytes of check mode's report; usual ones have 50 KB */
};

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
        return t->want == MSG_RESULT && talk_may_be_result(t);
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
    talk_stop(
        t, ENDED,
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

static void result_came(struct talk *t)
{
    struct wire_result *head = &t->run->result[t->which].head;
    t->done = talk_keep_result(t);
    if (!t->done) {
        refuse(t);
        return;
    }
    make_printable(head->cuda_message, sizeof head->cuda_message);
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
        result_came(t);
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
            talk_stop(t, CRASHED, "%s", (char *)t->payload);
        else
            talk_cannot_begin(t, (char *)t->payload);
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
        talk_ended(t);
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
        talk_stop(t, FLOODED, "printed more than %d MB: stopped", OUTPUT_ALLOWED >> 20);
        return;
    }
    if (n == 0) t->output_closed = true;
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
        talk_check_limits(t);
        checked = now();
    }
    if (p->pid && !t->output_closed) read_output(t);
    free(t->payload);
    return p->pid && t->run->ending == RAN;
}
