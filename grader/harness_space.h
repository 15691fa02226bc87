/* harness_space.h - does a workspace function keep the promise of wb.h? */
#ifndef HARNESS_SPACE_H
#define HARNESS_SPACE_H
#include "harness.h"
#include "protocol.h"

#include <stddef.h>

/* Asks for larger sizes than the case has. words: how the function returns less for one
 * of them, or "". */
void space_falls(
    char *words, size_t room, const struct call *c, const struct adapter *a,
    struct wire_case *wire);

#endif
