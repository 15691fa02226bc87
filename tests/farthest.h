/* farthest.h - for tests: the largest difference from the expected values. */
#ifndef FARTHEST_H
#define FARTHEST_H
#include "wb.h"

#include <math.h>
#include <stddef.h>

/* Returns the largest |got - want| of n numbers on the host. NaN counts as infinite. */
WB_INLINE double farthest(const float *got, const float *want, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);
        if (!(d <= most)) most = d == d ? d : INFINITY;
    }
    return most;
}

#endif
