/* blocks_write.h - writes a kernel whose threads run as loops (blocks.h). */
#ifndef BLOCKS_WRITE_H
#define BLOCKS_WRITE_H

#include "blocks.h"

/* --- blocks_tokens.c ---------------------------------------------------------------- */

int differs(const struct variable *v); /* between the threads of a row, and is known */
int is_in_phase(const struct kernel *k, int i, int phase); /* token i */
int slot_of(const struct call *c);
/* What follows is line i's. mark: " 3": a system header, so the compiler does not warn */
void append_line(struct buffer *b, struct kernel *k, int i, const char *mark);
void append_number(struct buffer *b, const char *pattern, int n);
void append_name(struct buffer *b, struct kernel *k, const char *space, int name);
void append_tokens(struct buffer *b, struct kernel *k, int first, int end);
/* In lines of its own */
void append_copy(struct buffer *b, struct kernel *k, int first, int end);
/* pattern: %T the type of a variable, %N its name, %I its number, %S its stars,
 * %D the sizes of an array */
void append_pattern(
    struct buffer *b, struct kernel *k, const struct variable *v, const char *pattern);

/* --- blocks_phases.c ---------------------------------------------------------------- */

/* Appends `rows`, the head of a loop, and what the phase needs once for each row. */
void append_row(struct buffer *b, struct kernel *k, int phase, const char *rows);
void append_thread(struct buffer *b, struct kernel *k, int phase);
void append_lanes(struct buffer *b, struct kernel *k, int phase);
/* Appends the declarations that the phase repeats, and the values that come from earlier
 * phases. `first` is its first item. */
void append_begin(struct buffer *b, struct kernel *k, int phase, int first);
/* Appends what keeps the values for later phases. */
void append_end(struct buffer *b, struct kernel *k, int phase);
/* Appends what begins or ends a branch of an `if`, unless that is a phase. */
void append_branch(struct buffer *b, struct kernel *k, int n);
/* Appends the phase whose first item is `first`; returns its last item. */
int append_phase(struct buffer *b, struct kernel *k, int first);

/* 1 if threads may have exited before the phase, or are left out by an `if`. */
int may_be_gone(const struct kernel *k, int phase);
/* 1 if the variable is one of each thread that only this phase uses. */
int is_lane_variable(const struct kernel *k, const struct variable *v, int phase);

/* --- blocks_rows.c ------------------------------------------------------------------- */

/* Finds the phases in which rows run statement by statement. */
void plan_rows(struct kernel *k);
/* Appends such a phase, for one row. Returns 0 if it is no such phase, 1 if the code that is
 * appended next must handle rows with threads that take no part, 2 if there are none. */
int append_rows(struct buffer *b, struct kernel *k, int first);

/* --- blocks_report.c ---------------------------------------------------------------- */

/* Show how the kernel runs whose `__global__` is token i, if the user asks. */
void show_loops(const struct source *s, struct kernel *k, int i);
void show_fibers(const struct source *s, struct kernel *k, int i);

/* --- blocks_strides.c --------------------------------------------------------------- */

/* Appends the phase that is item n, a loop with a stride. */
void append_stride(struct buffer *b, struct kernel *k, int n);

#endif
