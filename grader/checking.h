/* checking.h - check mode in a process of its own: while a case is graded, the previous one
 * is checked. */
#ifndef CHECKING_H
#define CHECKING_H
#include "child.h"
#include "report.h"

struct checking;
/* Returns in a new process, which grades; another one waits for the cases to check. The
 * caller's own process only waits for both, and ends as the one that grades does. data: the
 * folder with the tensors. NULL, and no new process, if the lab was built without check mode
 * or runs under a command. */
struct checking *
checking_begin(struct report *r, struct child_limits limits, const char *data);
/* Case i has been judged: check it. Does not wait for it. */
void checking_case(struct checking *c, const struct report *r, size_t i);
/* Waits for the rest. Prints what check mode found, adds it to the judgements, and sets
 * r->checks. */
void checking_end(struct checking *c, struct report *r);

#endif
