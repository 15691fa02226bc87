/* cross_entropy.cu - lab 04: the loss of a prediction and its gradient. The contract is
 * softmax.h.
 *
 * 04.5  the loss
 * 04.6  its gradient, in the same call
 * 04.7  every row read once
 */
#include "softmax.h"

#include "long_row.cuh"
#include "rows.cuh"

/* --- kernel ------------------------------------------------------------------------- */

/* 04.5 in three steps. The cases `loss_sum`; `loss` and `loss_ignore`; `loss_softcap` grade
 * them one by one. */

/* Step 3: z of a logit */
static __device__ float capped(float logit, float softcap)
{
    // TODO(04.5, step 3): softcap tanh(logit / softcap), if softcap > 0. 1 line.
    return logit;
}

/* A block per row. */
template <typename E>
static __global__ void cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore)
{
    int row = blockIdx.x;                                // [0, R)
    const E *x = logits + (size_t)row * ld;              // (V)
    E *d = dlogits ? dlogits + (size_t)row * ld : NULL;  // (ld)
    int t = target[row];                                 // [0, V) or ignore
    float m = -FLT_MAX, sum = 0.0f, z_t = 0.0f;
    // TODO(04.5, step 1): m, the maximum of z[j] = capped((float)x[j], softcap) over the V
    // columns, and the sum of exp(z[j] - m), as in 04.1. Every thread needs both. About 8
    // lines.
    // TODO(04.5, step 2): z_t = z[t]. If t is `ignore`, there is no column t. 1 line.
    // TODO(04.5, step 2): where t is `ignore`, the loss is 0. 1 line.
    if (threadIdx.x == 0) loss[row] = logf(sum) + m - z_t;
    // TODO(04.6): the gradient, from the same maximum and sum. dlogits may be logits: z[t]
    // is gone once a thread has written there, so a barrier comes first. About 15 lines.
    (void)d, (void)t;
}

/* --- launchers ---------------------------------------------------------------------- */

template <typename E>
static wb_status cross_entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t s)
{
    if (R < 0 || V < 1 || ld < V || !(softcap >= 0)) return WB_BAD_SHAPE;
    if (ignore >= 0 && ignore < V) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!loss || !logits || !target) return WB_BAD_SHAPE;
    if (dlogits) return WB_TODO;  // TODO(04.6): delete this line
    // TODO(04.5, step 1): launch cross_entropy_kernel, a block per row, then return
    // wb_launched(). About 3 lines.
    (void)gscale, (void)s;
    return WB_TODO;
}

/* The functions of softmax.h */
#define DEFINE(E, e)                                                                     \
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
#undef DEFINE
