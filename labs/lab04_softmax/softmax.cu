/* softmax.cu - lab 04: softmax of each row, its gradient, and cross-entropy.
 * softmax.h is the specification. */
#include "softmax.h"
#include <float.h>

/* TODO(04.1): a kernel for rows that one block can share. Three steps: the maximum of
 * scale x, the sum of exp(scale x - max), the division. A first version may read x three
 * times; a sum over a block is what lab 03 was about. About 25 lines.
 *
 * Part 04.3 gives every row a visible part of its own: an argument T now saves a kernel.
 * Part 04.7 asks for E = wb_f16 and wb_bf16: (float)x widens, E(y) rounds, once. */
template <typename E>
static __global__ void softmax_kernel(E *out, const E *x, int R, int N, float scale)
{
    int row = blockIdx.x;  // [0, R)
    x += (size_t)row * N, out += (size_t)row * N;
}

/* TODO(04.2): 32 rows of 256,000 columns keep 32 blocks busy, and the card has room for
 * a thousand. Let many blocks share a row: each leaves the maximum and the sum of its
 * part in the workspace, a second kernel combines them and normalises. About 40 lines. */

/* ---- softmax, backward: dx = scale p (dout - sum_j p dout) -------------------------- */
/* TODO(04.4): one sum per row, then dx. dx may be dout: every thread must have read what
 * it needs before anyone writes it. About 20 lines. */
template <typename E>
static __global__ void
backward_kernel(E *dx, const E *dout, const E *prob, int R, int N, float scale)
{
    size_t at = (size_t)blockIdx.x * N;  // of the row's first element
    dx += at, dout += at, prob += at;
}

/* ---- cross-entropy, loss and gradient ------------------------------------------------ */
/* TODO(04.5): loss[r] = log sum_j exp(z[r,j]) - z[r,t]. One pass gives both numbers if
 * you keep a running maximum. About 25 lines.
 * TODO(04.6): the gradient, from the same maximum and sum, in the same call. dlogits may
 * be logits: z[r,t] is gone once somebody has written it. About 15 lines. */
template <typename E>
static __global__ void cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore)
{
    int row = blockIdx.x;                         // [0, R)
    const E *x = logits + (size_t)row * ld;       // (V)
    E *d = dlogits ? dlogits + (size_t)row * ld : NULL;  // (ld)
    int t = target[row];                          // [0, V) or ignore
}

/* ---- launchers ----------------------------------------------------------------------- */

/* Bytes that few long rows need for the stats of their parts. */
static size_t forward_workspace(int R, int N)
{
    // TODO(04.2): the bytes of your partial results. Never fewer when R or N grows.
    (void)R, (void)N;
    return 0;
}

template <typename E>
static wb_status softmax_forward(
    E *out, const E *x, int R, int N, float scale, void *workspace,
    size_t workspace_bytes, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (out == NULL || x == NULL) return WB_BAD_SHAPE;
    if (workspace_bytes < forward_workspace(R, N)) return WB_NO_SPACE;
    if (forward_workspace(R, N) > 0 && workspace == NULL) return WB_BAD_SHAPE;
    // TODO(04.1): launch softmax_kernel<<<grid, block, 0, s>>>(...), then
    // return wb_launched(). About 3 lines.
    (void)scale, (void)s;
    return WB_TODO;
}

template <typename E>
static wb_status softmax_causal_forward(
    E *out, const E *x, int R, int T, int S, float scale, cudaStream_t s)
{
    if (R < 0 || T < 1 || S < T || R % T != 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (out == NULL || x == NULL) return WB_BAD_SHAPE;
    // TODO(04.3): row r sees the columns j <= S-T + r%T. Do not even read the others:
    // NaN times 0 is NaN. Write exact zeros there. About 15 lines.
    (void)scale, (void)s;
    return WB_TODO;
}

template <typename E>
static wb_status softmax_backward(
    E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (dx == NULL || dout == NULL || p == NULL) return WB_BAD_SHAPE;
    // TODO(04.4): launch backward_kernel. About 3 lines.
    (void)scale, (void)s;
    return WB_TODO;
}

template <typename E>
static wb_status cross_entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t s)
{
    if (R < 0 || V < 1 || ld < V || !(softcap >= 0)) return WB_BAD_SHAPE;
    if (ignore >= 0 && ignore < V) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (loss == NULL || logits == NULL || target == NULL) return WB_BAD_SHAPE;
    if (dlogits != NULL) return WB_TODO;  // TODO(04.6): take this line out
    // TODO(04.5): launch cross_entropy_kernel. About 3 lines.
    (void)gscale, (void)s;
    return WB_TODO;
}

/* TODO(04.7): nothing to write if every kernel widens with (float)x as it reads, computes
 * in float, and rounds with E(y) as it writes. */
#define DEFINE(E, e)                                                                     \
    wb_status softmax_forward_##e(                                                       \
        E *out, const E *x, int R, int N, float scale, void *workspace,                  \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        return softmax_forward(out, x, R, N, scale, workspace, workspace_bytes, stream); \
    }                                                                                    \
    size_t softmax_forward_workspace_##e(int R, int N)                                   \
    {                                                                                    \
        return forward_workspace(R, N);                                                  \
    }                                                                                    \
    wb_status softmax_causal_forward_##e(                                                \
        E *out, const E *x, int R, int T, int S, float scale, cudaStream_t stream)       \
    {                                                                                    \
        return softmax_causal_forward(out, x, R, T, S, scale, stream);                   \
    }                                                                                    \
    wb_status softmax_backward_##e(                                                      \
        E *dx, const E *dout, const E *p, int R, int N, float scale,                     \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return softmax_backward(dx, dout, p, R, N, scale, stream);                       \
    }                                                                                    \
    wb_status cross_entropy_##e(                                                         \
        float *loss, E *dlogits, const E *logits, const int *target,                     \
        const float *gscale, int R, int V, int ld, float softcap, int ignore,            \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return cross_entropy(                                                            \
            loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore, stream);   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
