/* parts.h - the time of a prefill by kernel: an event before each.
 *
 *     parts_ceilings();                  // once
 *     parts_begin();
 *     part("rope_forward", 0, bytes);    // before each kernel, in its stream (NULL)
 *     ...
 *     parts_add();                       // at the end of each run
 *     parts_print(runs);
 */
#ifndef PARTS_H
#define PARTS_H

/* The least work of the next kernel: FLOPs or bytes, whichever bounds it; the other is 0.
 * Kernels of one name share a row. Does nothing outside parts_begin .. parts_print. */
void part(const char *name, double flops, double bytes);

/* Measures and prints copy and GEMM (common/ceiling.c). */
void parts_ceilings(void);
void parts_begin(void);
/* The last kernel of a run has been enqueued: waits for it. */
void parts_add(void);
/* A row for each name: its time per run, and its fraction of the ceiling. */
void parts_print(int runs);

#endif
