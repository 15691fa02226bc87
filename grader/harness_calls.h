/* harness_calls.h - one call of the launcher. */
#ifndef HARNESS_CALLS_H
#define HARNESS_CALLS_H
#include "harness_call.h"

/* Fills the buffers, calls the launcher as w says, and sends the result. */
void make_call(struct call *c, const struct adapter *a, const struct wire_call *w);

#endif
