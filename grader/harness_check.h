/* harness_check.h - what the harness tells check mode. The functions do nothing unless the
 * lab is built in check mode. */
#ifndef HARNESS_CHECK_H
#define HARNESS_CHECK_H
#include "harness.h"
#include "protocol.h"

#include <stddef.h>

/* base: a buffer from cudaMalloc, with its red zones. */
void check_name(void *base, size_t bytes, const char *name, unsigned element);
void check_unwritten(const void *p, size_t bytes);

/* In a program, the previous kernel may write the arguments of this call, and programmatic
 * dependent launch may let the two overlap. Weights and tables are never written. */
void check_written_earlier(const struct call *c, const struct wire_case *wire);

char *check_report(void); /* JSON, or NULL; the caller frees it */
void check_leave_freed(void);

#endif
