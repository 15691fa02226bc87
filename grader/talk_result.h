/* talk_result.h - the result of a call, as the harness sends it: without the red zones that
 * are unchanged. */
#ifndef TALK_RESULT_H
#define TALK_RESULT_H
#include "talk.h"

/* The header of a message has arrived: can a result of the case have this size? */
bool talk_may_be_result(const struct talk *t);
/* Stores the message in run->result[t->which], with all red zones; bytes that equal those
 * of an earlier call are stored once. false: the harness cannot have sent it. */
bool talk_keep_result(struct talk *t);

#endif
