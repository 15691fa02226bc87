/* parts.h - where the time of a reading goes: an event before each of its kernels.
 *
 *     parts_ceilings();                  // once
 *     parts_begin();
 *     part("rope_forward", 0, bytes);    // in front of each kernel, in its stream (NULL)
 *     ...
 *     parts_add();                       // at the end of each run
 *     parts_print(runs);
 */
#ifndef PARTS_H
#define PARTS_H

/* What the next kernel does at least: FLOPs or bytes, whichever bounds it; the other is 0.
 * Kernels of one name are one row. Does nothing outside of parts_begin .. parts_print. */
void part(const char *name, double flops, double bytes);

/* Measures copy and product (common/ceiling.c), and prints them. */
void parts_ceilings(void);
void parts_begin(void);
/* The last kernel of a run has been enqueued: waits for it. */
void parts_add(void);
/* A row for each name, its time a run and its part of the ceiling. */
void parts_print(int runs);

#endif
