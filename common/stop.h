/* stop.h - Ctrl-C, SIGTERM and closed pipes: the program ends between two steps, with what
 * it has written so far. A second Ctrl-C, or the first while nothing is written yet, ends
 * it at once. */
#ifndef STOP_H
#define STOP_H
#include <stdbool.h>

void stop_catch(void);
/* SIGINT, SIGTERM, SIGHUP, or SIGPIPE of a write to a pipe that nobody reads; 0: none.
 * The program's exit status is 128 and it. */
int stop_signal(void);
void stop_forget(void); /* a chat goes on after it */
/* true: nothing is worth keeping, the next signal ends the process (stop_catch starts so) */
void stop_at_once(bool yes);
/* A half-written file that goes away when the process ends at once; NULL: none. The text
 * stays the caller's until then. */
void stop_removes(const char *path);

#endif
