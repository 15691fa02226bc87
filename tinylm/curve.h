/* curve.h - train.csv and train.tfevents of a run: its measurements, step by step. */
#ifndef CURVE_H
#define CURVE_H
#include "file.h"
#include "ops.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct curve {
    char folder[PATH_MAX]; /* for messages */
    FILE *csv, *events;
} curve;

/* Both files, to append to: new, or the old ones up to `step`. */
int curve_open(curve *c, const char *folder, bool resume, uint32_t step, wb_error *err);
/* One line and one event, flushed; val NaN: not evaluated. */
int curve_add(
    curve *c, const wb_train *s, double loss, double val, double rate, wb_error *err);
void curve_close(curve *c);

#endif
