/* progress.h - the progress of a long run: a bar on a terminal, an occasional plain line
 * in a log or a pipe. The bar is as wide as the terminal allows; on a narrow one figures
 * are left out, so that it never wraps. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include <stdbool.h>
#include <stdio.h>

typedef struct progress {
    FILE *out;
    bool terminal;
    long first, steps;     /* this run goes from step `first` to step `steps` */
    double started, drawn; /* seconds, monotonic clock */
    int width;             /* characters on the current line */
} progress;

double seconds_now(void); /* seconds, monotonic clock */

void progress_begin(progress *p, FILE *out, long first, long steps);
/* Cheap to call at every step: it draws at most ten times a second on a terminal and once
 * every 30 seconds elsewhere, and always if `now` is set. loss and val are in nats; NaN
 * leaves one out. */
void progress_update(
    progress *p, long step, double loss, double val, double tokens_per_second, bool now);
/* Ends the line and leaves it visible. */
void progress_end(progress *p);
/* Erases the bar so that another line can be printed. */
void progress_clear(progress *p);

#endif
