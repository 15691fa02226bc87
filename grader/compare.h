/* compare.h - one output against its expected values, element by element. */
#ifndef COMPARE_H
#define COMPARE_H
#include "data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a wrong value's bits say: it may be one of the fill patterns of protocol.h. */
enum mark {
    MARK_RIGHT,
    MARK_WRONG,
    MARK_POISON,
    MARK_RED_ZONE,
    MARK_WORKSPACE,
    MARK_SHARED
};

struct comparison {
    const struct view *view;
    const struct case_data *data;
    const struct data_set *set;
    const double *want;
    const float *tol;
    double *got;
    double *first;             /* contents before the call (acc, inout), or NULL */
    uint8_t *mark;             /* enum mark, per element */
    size_t wrong, first_wrong; /* their number; index of the first */
};

/* Compares view i of a result with its expected values in `set`. */
void compare(
    struct comparison *c, const struct case_data *d, const struct data_set *set, int i,
    const unsigned char *result);
/* Of all outputs, without details, and quicker: is nothing wrong? */
bool all_right(
    const struct case_data *d, const struct data_set *set, const unsigned char *result);
void comparison_free(struct comparison *c);

bool is_finite(double x); /* decided by the exponent's bits */
bool is_nan(double x);
/* Does the result hold this fill pattern at p[i]? Patterns start at the first byte. */
bool filled_with(const unsigned char *p, size_t i, unsigned pattern);
enum mark mark_of(enum element e, const unsigned char *p); /* never MARK_RIGHT */
/* Writes "[row 0, col 992]" to text; with more dimensions "[1, 0, 5, 17]". */
char *place(char *text, size_t bytes, const struct view *v, size_t i);

#endif
