/* harness.h - for the adapters. Each lab has one, adapters/labNN.c, with a typed function
 * for each function of the contract: it unpacks the arguments and makes the call, nothing
 * else. The adapter, the harness and the learner's object are linked into
 * build/<backend>/labs/labNN.
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
 * The names are those of the contract's parameters. A name that the case does not have
 * ends the child with an error of the exercise; it is never a silent 0. A function that
 * exists only for float is called by its full name, without BY_DTYPE.
 */
#ifndef HARNESS_H
#define HARNESS_H
#include "wb.h"

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };

struct call; /* one call of one contract function: sizes, scalars, device pointers */

enum dtype dtype(const struct call *c);
void *arg(const struct call *c, const char *name);    /* device pointer, may be NULL */
int size(const struct call *c, const char *name);     /* int scalars */
float number(const struct call *c, const char *name); /* float scalars */
cudaStream_t stream(const struct call *c);

/* Exactly as large as the adapter's workspace function returns, full of NaN. NULL if that
 * is 0 bytes. */
void *workspace(const struct call *c);
size_t workspace_bytes(const struct call *c);

/* Calls f_f32(...), f_f16(...) or f_bf16(...), as the case says. */
#define BY_DTYPE(c, f, ...)                                                              \
    (dtype(c) == DTYPE_F32   ? f##_f32(__VA_ARGS__)                                      \
     : dtype(c) == DTYPE_F16 ? f##_f16(__VA_ARGS__)                                      \
                             : f##_bf16(__VA_ARGS__))

struct adapter {
    const char *function;                      /* as in `cases`, without the suffix */
    wb_status (*run)(const struct call *c);    /* one call of the launcher */
    size_t (*workspace)(const struct call *c); /* bytes; NULL: it takes no workspace */
};
extern const struct adapter adapters[]; /* ends with a NULL function */

#endif
