/* harness_wire.h - the harness's end of the channel to the grader (protocol.h). A grader
 * that has gone, or a message that is cut off, ends the program. */
#ifndef HARNESS_WIRE_H
#define HARNESS_WIRE_H
#include "protocol.h"

#include <stddef.h>

/* The grader's next message, whose nonce the answers repeat. 0: there is none. */
int next_message(struct wire_header *h);
/* Reads what follows the header: exactly this many bytes. */
void take(void *payload, size_t bytes, const struct wire_header *h);

struct wire_header make_header(enum message_kind kind, size_t bytes);
void send_header(enum message_kind kind, size_t bytes);
void write_all(const void *data, size_t bytes);

/* A bad case, no device, too little memory. Whether the exercise is at fault depends on
 * whether the learner's code had begun to run: the grader decides. */
_Noreturn void broken(const char *what, const char *which);

#endif
