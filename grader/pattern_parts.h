/* pattern_parts.h - for the pattern_*.c files: their searches, and the test of one value.
 * A search that recognises its pattern adds a line and returns true. */
#ifndef PATTERN_PARTS_H
#define PATTERN_PARTS_H
#include "compare.h"
#include "findings.h"

#include <stdbool.h>
#include <stddef.h>

/* In a function that returns bool: returns false unless `holds` for every wrong
 * element i. With few wrong elements most conditions hold by chance: call several() as
 * well. */
#define EVERY_WRONG(c, i, holds)                                                         \
    for (size_t i = 0; i < (c)->view->elements; i++)                                     \
        if ((c)->mark[i] && !(holds)) return false

/* pattern_value.c */
bool several(const struct comparison *c); /* enough wrong elements for a pattern */
double unit(const struct comparison *c);  /* relative rounding of the output's type */
/* Is got[i] this other value, within a tolerance scaled to it? */
bool is(const struct comparison *c, size_t i, double other);

/* pattern_where.c: a tail, a block, every k-th, a triangle */
bool find_where(struct findings *f, const struct comparison *c);

/* pattern_scale.c: a factor or a summand, for all elements or for each row or column */
bool constant_factor(struct findings *f, const struct comparison *c);
bool constant_summand(struct findings *f, const struct comparison *c);
bool factors_of_lines(struct findings *f, const struct comparison *c);
bool each_row_scaled(const struct comparison *c);

/* pattern_moved.c: the values of another row, column or head */
bool moved(struct findings *f, const struct comparison *c);

#endif
