/* talk.h - one question to the child, and its answer; for child.c only. */
#ifndef TALK_H
#define TALK_H
#include "child.h"
#include "process.h"

#include <sys/uio.h>

struct child {
    struct process process;
    struct child_limits limits;
    uint64_t nonce[2];
    bool used;         /* the learner's code has run in this process */
    double cpu_before; /* seconds, when this case began */
};

struct talk {
    struct child *child;
    struct run *run;
    const struct case_data *d; /* NULL: the start of the child */
    enum message_kind want;    /* the answer */
    uint32_t which;            /* of a RESULT */
    struct wire_header question;
    struct iovec part[MAX_BUFFERS + 2]; /* to be sent: the question, its payload */
    int parts, sent;
    struct wire_header header; /* being received: header, then payload */
    unsigned char *payload;
    size_t have;
    char crash[512];
    bool output_closed, begun, done;
};

/* The header of the question, with a new nonce; bytes: of the payload. */
void talk_begin(struct talk *t, enum message_kind kind, size_t bytes);
void talk_add(struct talk *t, const void *bytes, size_t n); /* a part of the payload */
/* Sends the question, waits for the answer. true: it came, and the child still runs. */
bool converse(struct talk *t);

#endif
