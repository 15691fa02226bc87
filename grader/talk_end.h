/* talk_end.h - how a conversation ends without an answer: the program has ended, it cannot
 * begin, or it uses too much time, memory or threads. */
#ifndef TALK_END_H
#define TALK_END_H
#include "talk.h"

enum { POLL_MS = 20 }; /* how often the limits are checked */

/* Ends the program. The text says why. */
void talk_stop(struct talk *t, enum ending ending, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The program cannot go on, although it has not called the learner's code for this case.
 * In a process that has served other cases, that code may be the reason: child_open tries
 * again in a new one. A constructor that no scan has found may also be the reason, so not
 * every program is believed. */
void talk_cannot_begin(struct talk *t, const char *why);
/* The child has exited or closed its socket. t->crash: what its signal handler reported */
void talk_ended(struct talk *t);
void talk_check_limits(struct talk *t);

#endif
