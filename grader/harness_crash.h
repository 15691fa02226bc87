/* harness_crash.h - signals, and errors in a kernel that the CPU back end finds. */
#ifndef HARNESS_CRASH_H
#define HARNESS_CRASH_H
#include "protocol.h"

/* From now on, a crash calls `send` with what is known of it. The process then dies of the
 * signal. If several workers crash at the same time, only the first one is sent. */
void catch_crashes(void (*send)(struct wire_crash *crash));

#endif
