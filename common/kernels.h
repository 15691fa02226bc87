/* kernels.h - which of the labs' kernels a program is linked with, and where each comes
 * from.
 *
 * A function comes from labs/ if all its cases have passed and its file has not changed
 * since; otherwise from the solution, or, in a handout, from fallback.a.
 * `make MINE="rmsnorm rope"`, MINE=all and MINE=none override this. The link step
 * generates these functions (tools/kernels.py). */
#ifndef WB_KERNELS_H
#define WB_KERNELS_H
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
/* Prints the table of kernels, or one line: how many of them are the learner's. */
void wb_print_kernels(FILE *out);
void wb_count_kernels(FILE *out);
/* What a program says at its start. */
static inline void wb_say_kernels(FILE *out, int table, int quiet)
{
    if (table)
        wb_print_kernels(out);
    else if (!quiet)
        wb_count_kernels(out);
}
/* op: a function name without its dtype suffix, "rmsnorm_forward". Returns 1 if it comes
 * from labs/ for any dtype. */
int wb_kernel_is_yours(const char *op);
#ifdef __cplusplus
}
#endif
#endif
