/* repeats.h - several calls of one case: again, on other data, captured in a graph, in other
 * thread orders, with an unaligned buffer. Each function returns true if all is well;
 * otherwise the findings say what is wrong. Every requested call has returned. */
#ifndef REPEATS_H
#define REPEATS_H
#include "judge.h"

/* Is this call part of a case whose calls all return WB_OK? */
bool asked(const struct run *run, uint32_t which);
/* " (in ...)": which call it was; "" for the first. Returns `words`. */
const char *
words_of_call(char *words, size_t room, const struct case_data *d, uint32_t which);

/* Was a kernel launched, and on the stream that was passed? */
bool launched(struct findings *f, const struct case_data *d, const struct run *run);
/* right: is the result of the first call? */
bool orders_agree(
    struct findings *f, const struct case_data *d, const struct run *run, bool right);
/* The call on data B, then again on A, at the same pointers */
bool repeats_right(struct judgement *j, const struct case_data *d, const struct run *run);
/* The calls that each have one unaligned buffer */
bool shifted_right(struct judgement *j, const struct case_data *d, const struct run *run);

#endif
