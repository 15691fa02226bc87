/* curve.h - train.csv of a run: its measurements, step by step. */
#ifndef CURVE_H
#define CURVE_H
#include "file.h"
#include "ops.h"

#include <stdbool.h>
#include <stdio.h>

/* FOLDER/train.csv, to append to: new, or the old one up to `step`. NULL: see err. */
FILE *curve_open(const char *folder, bool resume, uint32_t step, wb_error *err);
/* One line, flushed; val NaN: not evaluated. Non-zero: see errno. */
int curve_add(FILE *f, const wb_train *s, double loss, double val, double rate);

#endif
