/* harness_dry.h - dry cases: buffers of real sizes, full of zeros, for one call.
 *
 * The CPU back end needs no memory for them and runs only some blocks of each kernel
 * (wbcpu.h). With a GPU the call is real, if the device has the memory. */
#ifndef HARNESS_DRY_H
#define HARNESS_DRY_H
#include "protocol.h"

#include <stddef.h>

void dry_begin(void);
/* NULL: no memory; then dry_possible() is 0 until dry_end. */
unsigned char *dry_alloc(size_t bytes);
int dry_possible(void);
void dry_end(void);

/* Writes the data of the buffers that have some; the others hold zeros. start[i]: where
 * buffer i starts. */
void dry_fill(
    const struct wire_case *w, unsigned char *const start[], const unsigned char *data);
/* Marks the last element of each output. */
void dry_mark(const struct wire_case *w, unsigned char *const start[]);
/* 1 + index of an argument that still has the mark, or 0. */
uint32_t dry_unwritten(void);
/* The next launches run all blocks, until every mark is gone. 0: they always do. */
int dry_search(void);
/* 1 if all blocks have run to the end, 0 if not, -1 if one was given up. */
int dry_complete(void);
/* 1 if the blocks that ran show that a part of so many bytes of output is not written. */
int dry_short(size_t bytes);

#endif
