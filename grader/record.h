/* record.h - --record FILE: what the program was sent for the first call of a case, so that
 * a debugger can run that call alone (tools/debug.py). */
#ifndef RECORD_H
#define RECORD_H
#include "talk.h"

void record_to(const char *path);
/* A question that is about to be sent. The first call of a case completes the file: it has
 * the start, the case and the call, of the last variant that was graded. */
void record(const struct talk *t);

#endif
