/* stop.h - Ctrl-C, SIGTERM and closed pipes: the program ends between two steps and keeps
 * its output so far. A second Ctrl-C, or the first before there is any output, removes
 * the temporary files of half-written results and ends the process immediately. */
#ifndef STOP_H
#define STOP_H
#include <stdbool.h>

void stop_catch(void);
/* SIGINT, SIGTERM, SIGHUP, or SIGPIPE after a write to a closed pipe; 0: none. The
 * program's exit status is 128 plus the signal. */
int stop_signal(void);
void stop_forget(void); /* a chat continues after Ctrl-C */
/* true: there is nothing to keep, so the next signal ends the process (the state after
 * stop_catch) */
void stop_at_once(bool yes);

#endif
