/* progress.h - how far a long run is: a bar that redraws itself on a terminal, elsewhere
 * (a log, a pipe) a plain line now and then. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdbool.h>
#include <stdio.h>

typedef struct progress {
    FILE *out;
    bool terminal;
    long first, steps;     /* this run goes from first to steps */
    double started, drawn; /* seconds of a clock that only goes forward */
    int width;             /* of what stands on the line */
} progress;

double seconds_now(void); /* monotonic clock */

void progress_begin(progress *p, FILE *out, long first, long steps);
/* Call it as often as you like: it draws ten times a second on a terminal, a line every
 * half minute elsewhere, and always when `now` is set. NaN for a figure not known yet. */
void progress_update(
    progress *p, long step, double loss, double val, double tokens_per_second, bool now);
/* Leaves the last line standing. */
void progress_end(progress *p);
/* Takes the bar away so that another line can be printed. */
void progress_clear(progress *p);

#endif
