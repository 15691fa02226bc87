/* devices.h - --devices N: the sequences of a batch shared out over the GPUs of this host,
 * a process for each. On the CPU back end: over shares of the cores.
 *
 * The processes are copies of this one, so it must not have used CUDA before. Each has its
 * own model, writes its part of the output to a pipe, and the first process prints the
 * parts in order.
 */
#ifndef DEVICES_H
#define DEVICES_H
#include "session.h"

#include <stdbool.h>

/* Runs `work` in n processes and waits for them; what they count in their session is
 * added to *s. An error, or a process that is killed, ends all of them: -1, and err names
 * its GPU. */
int devices_run(
    session *s, int n, int (*work)(session *s, void *context, wb_error *err),
    void *context, wb_error *err);

/* Inside `work`; elsewhere 0 of 1. */
int devices_index(void);
int devices_count(void);
/* The part of `all` things that this process has: [*first, *first + result). */
int devices_share(int all, int *first);
/* The largest of all processes' numbers, which wait for each other. */
double devices_largest(double mine);

#endif
