/* pattern_value.c - the test of one value, for all pattern searches. */
#include "pattern_parts.h"

#include <math.h>

double unit(const struct comparison *c)
{
    return c->view->element == ELEMENT_F16    ? 0x1p-11
           : c->view->element == ELEMENT_BF16 ? 0x1p-8
                                              : 0x1p-24;
}

/* The tolerance is that of the expected value, scaled to the other one. An expected 0 (a
 * masked element) has nothing to scale. */
bool is(const struct comparison *c, size_t i, double other)
{
    bool zero = c->want[i] == 0;
    double scale = zero ? 1 : fmax(1, fabs(other / c->want[i]));
    double units = zero ? 64 : 2;
    double tol = 2 * (double)c->tol[i] * fmin(scale, 1e6) + units * unit(c) * fabs(other);
    return fabs(c->got[i] - other) <= tol; /* NaN: false */
}

bool several(const struct comparison *c)
{
    return c->wrong >= 3;
}
