/* pattern.h - what a wrong output looks like, and its likely cause. */
#ifndef PATTERN_H
#define PATTERN_H
#include "compare.h"
#include "findings.h"

/* Adds a line with the likely cause, if it is a known mistake; else returns false. */
bool find_cause(struct findings *f, const struct comparison *c);
/* Adds one or two lines: where the wrong elements are, what they hold. */
void find_pattern(struct findings *f, const struct comparison *c);

#endif
