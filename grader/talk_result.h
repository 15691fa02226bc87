/* talk_result.h - the result of a call, as the harness sends it: without the red zones that
 * are unchanged. */
#ifndef TALK_RESULT_H
#define TALK_RESULT_H
#include "talk.h"

/* Of a message whose header has come: can a result of the case have this size? */
bool talk_may_be_result(const struct talk *t);
/* Stores what has come in run->result[t->which], with all red zones; bytes that equal those
 * of an earlier call are stored once. false: the harness does not send such a result. */
bool talk_keep_result(struct talk *t);

#endif
