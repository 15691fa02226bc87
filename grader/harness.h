/* harness.h - what an adapter sees. One adapter, adapters/labNN.c, per lab: a typed
 * function for each contract function that unpacks the arguments, calls, and nothing else.
 * It is linked with the harness and the learner's object into build/<backend>/labs/labNN.
 *
 *     static wb_status forward(const struct call *c)
 *     {
 *         return BY_DTYPE(
 *             c, rmsnorm_forward, arg(c, "out"), arg(c, "rstd"), arg(c, "x"), arg(c, "w"),
 *             size(c, "R"), size(c, "C"), number(c, "eps"), number(c, "offset"),
 *             stream(c));
 *     }
 *     static size_t backward_workspace(const struct call *c)
 *     {
 *         return BY_DTYPE(c, rmsnorm_backward_workspace, size(c, "R"), size(c, "C"));
 *     }
 *     const struct adapter adapters[] = {
 *         {"rmsnorm_forward", forward, NULL},
 *         {"rmsnorm_backward", backward, backward_workspace},
 *         {NULL, NULL, NULL},
 *     };
 *
 * Names are those of the contract's parameters; a name that the case does not carry ends
 * the child with "the exercise is broken", never with a silent 0. A function that exists
 * in float only is called by its full name, without BY_DTYPE.
 */
#ifndef HARNESS_H
#define HARNESS_H
#include "wb.h"

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };

struct call; /* one call of one contract function: sizes, scalars, device pointers */

enum dtype dtype(const struct call *c);
void *arg(const struct call *c, const char *name);    /* device pointer; NULL if the case
                                                         passes NULL */
int size(const struct call *c, const char *name);     /* int scalars */
float number(const struct call *c, const char *name); /* float scalars */
cudaStream_t stream(const struct call *c);

/* Exactly as large as the adapter's workspace function says, fenced, full of NaN. */
void *workspace(const struct call *c);
size_t workspace_bytes(const struct call *c);

/* f_f32(...), f_f16(...) or f_bf16(...), as the case says. void * becomes any pointer. */
#define BY_DTYPE(c, f, ...)                                                              \
    (dtype(c) == DTYPE_F32   ? f##_f32(__VA_ARGS__)                                      \
     : dtype(c) == DTYPE_F16 ? f##_f16(__VA_ARGS__)                                      \
                             : f##_bf16(__VA_ARGS__))

struct adapter {
    const char *function;                      /* as in `cases`, without the suffix */
    wb_status (*run)(const struct call *c);    /* one call of the launcher */
    size_t (*workspace)(const struct call *c); /* bytes, or NULL: takes no workspace */
};
extern const struct adapter adapters[]; /* ends with a NULL function */

#endif
