/* curve.h - train.csv of a run: what was measured, step by step. */
#ifndef CURVE_H
#define CURVE_H
#include "file.h"
#include "ops.h"

#include <stdbool.h>
#include <stdio.h>

/* FOLDER/train.csv to add to: a new one, or the old one up to the step. NULL: see err. */
FILE *curve_open(const char *folder, bool resume, uint32_t step, wb_error *err);
/* One line, at once on its way to the disk; val NaN: not evaluated. Not 0: errno says. */
int curve_add(FILE *f, const wb_train *s, double loss, double val, double rate);

#endif
