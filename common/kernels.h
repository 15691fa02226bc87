/* kernels.h - the labs' kernels that a program was linked with, and where each is from.
 *
 * A function comes from labs/ once all its cases have passed there and nothing was edited
 * since; else from solutions/; else, in a handout without solutions, from fallback.a.
 * MINE="rmsnorm rope" | all | none on make's command line overrides that. The link step
 * writes these functions (tools/kernels.py). */
#ifndef WB_KERNELS_H
#define WB_KERNELS_H
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
void wb_print_kernels(FILE *out);
/* op: a function without its type, "rmsnorm_forward". 1 if it is from labs/ in any type. */
int wb_kernel_is_yours(const char *op);
#ifdef __cplusplus
}
#endif
#endif
