/* structure.h - is the structure of a kernel what a case demands: how often it reads its
 * tensors, how well its accesses coalesce? */
#ifndef STRUCTURE_H
#define STRUCTURE_H
#include "cases.h"
#include "findings.h"

#include <jansson.h>

/* report: of check mode, for one call. false: the bound does not hold; the findings then
 * say what was counted, on which line, and what to do about it. */
bool structure_holds(const struct graded_case *g, json_t *report, struct findings *f);

#endif
