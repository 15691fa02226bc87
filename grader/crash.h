/* crash.h - words for a crash of the learner's code. */
#ifndef CRASH_H
#define CRASH_H
#include "data.h"
#include "protocol.h"

#include <stddef.h>

/* How the words for an access a little past the end of a buffer end */
#define PAST_END ", a little past its end: compare the index with the size first"

const char *signal_words(int signal);
/* What the signal handler of the harness reported. d: the case that ran, or NULL. */
void crash_words(
    const struct wire_crash *k, const struct case_data *d, char *text, size_t bytes);

#endif
