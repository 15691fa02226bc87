/* calls.h - the calls of one case: on which data, in which order, in which process. */
#ifndef CALLS_H
#define CALLS_H
#include "child.h"

struct calls;
/* orders: also call in other thread orders (CPU back end) */
struct calls *calls_new(
    const char *program, bool device, bool orders, struct child_limits limits,
    struct under *under);
/* Makes all calls of the case, unless one of them fails. */
void calls_of_case(
    struct calls *s, const struct graded_case *g, const struct case_data *d,
    struct run *run);
void calls_free(struct calls *s);

#endif
