/* pattern.h - what a wrong output looks like, and its likely cause. */
#ifndef PATTERN_H
#define PATTERN_H
#include "compare.h"
#include "findings.h"

/* Adds one or two lines: where the wrong elements are, what they hold, the likely
 * cause. */
void find_pattern(struct findings *f, const struct comparison *c);
/* Only a known mistake: for results that vary, where a pattern means little. */
void find_cause(struct findings *f, const struct comparison *c);

#endif
