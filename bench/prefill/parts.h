/* parts.h - the time of each kernel of a prefill, from an event before each of them.
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

/* The least that the next kernel must do: FLOPs or bytes, whichever bounds it; 0 for the
 * other. Kernels of one name share a row. Acts only from parts_begin to parts_print. */
void part(const char *name, double flops, double bytes);

/* Measures and prints the speeds of copy and GEMM (common/ceiling.c). */
void parts_ceilings(void);
void parts_begin(void);
/* Call it after the last kernel of a run is enqueued. Waits for that kernel. */
void parts_add(void);
/* Prints a row per name: its time per run, and its speed as a fraction of the ceiling. */
void parts_print(int runs);

#endif
