/* writes.h - did a call change memory that it must not change? */
#ifndef WRITES_H
#define WRITES_H
#include "data.h"
#include "findings.h"

#include <stdbool.h>

/* Checks red zones, inputs, and what lies between outputs. must_fail: the call has to
 * return an error, so its outputs must keep their contents too. true: nothing changed. */
bool memory_kept(
    struct findings *f, const struct case_data *d, const struct data_set *set,
    const unsigned char *result, bool must_fail);

#endif
