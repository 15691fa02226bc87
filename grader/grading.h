/* grading.h - runs, judges and reports the selected cases of a lab. */
#ifndef GRADING_H
#define GRADING_H
#include "options.h"
#include "report.h"

/* Fills in the judgements and the score of `r`, and reports each case as it ends. */
void grade_all(struct report *r, const struct options *o);

#endif
