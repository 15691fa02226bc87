/* rglru_backward.cu - lab 06.5, backward: the scan backwards in time and the slopes of side
 * branch and gates, in one pass. The contract is rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "lookback.cuh"
#include "rglru.h"

/* The tensors and sizes of a call. partial: sums for da_param, in the workspace */
template <typename E> struct backward_call {
    E *dc, *dpx, *dpa, *dy;
    float *da_param;
    const E *dout, *c, *px, *pa, *y;
    const float *h;
    const E *a_param;
    const int *pos;
    int T, C, ldy;
    float *partial;
};

enum { THREADS = 128 };  // of a block

/* A thread for each channel takes one row after another, each from its last step to its
 * first: so da_param is one thread's sum, and its order is always the same. */
template <typename E> static __global__ void backward_rows(backward_call<E> call, int B)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= call.C) return;
    // TODO(06.5): for every row, back = 0; for every step, from the last to the first:
    // TODO(06.5): gx, ga, log_a, a, q and m again, as in the forward pass. 6 lines.
    // TODO(06.5): dh = dout gelu(y), dy = dout h gelu'(y); without y dh = dout. 4 lines.
    // TODO(06.5): dz = dh + back; da = dz h[t-1], which is 0 at t = 0. 2 lines.
    // TODO(06.5): dc, dpx, dlog_a, dpa as in 06.3. About 6 lines.
    // TODO(06.5): back = a dz. 1 line.
    // TODO(06.5): da_param, once, behind all rows. 1 line.
}

/* Bytes of workspace */
static size_t workspace_for(int B, int T, int C)
{
    // TODO(06.5): 0 is right as long as nothing is kept there.
    (void)B, (void)T, (void)C;
    return 0;
}

template <typename E>
static wb_status
backward(backward_call<E> call, int B, void *workspace, size_t bytes, cudaStream_t stream)
{
    int T = call.T, C = call.C;
    if (B < 0 || T < 0 || C < 0 || (call.y && call.ldy < C) || !call.y != !call.dy)
        return WB_BAD_SHAPE;
    if (B == 0 || T == 0 || C == 0) return WB_OK;
    if (!call.dc || !call.dpx || !call.dpa || !call.da_param || !call.dout || !call.c ||
        !call.px || !call.pa || !call.h || !call.a_param)
        return WB_BAD_SHAPE;
    if (bytes < workspace_for(B, T, C)) return WB_NO_SPACE;
    // TODO(06.5): launch backward_rows on the stream with a thread for each channel, then
    // return wb_launched().
    (void)workspace, (void)stream;
    return WB_TODO;
}

#define DEFINE(E, e)                                                                     \
    wb_status rglru_backward_##e(                                                        \
        E *dc, E *dpx, E *dpa, E *dy, float *da_param, const E *dout, const E *c,        \
        const E *px, const E *pa, const E *y, const float *h, const E *a_param,          \
        const int *pos, int B, int T, int C, int ldy, void *workspace,                   \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        backward_call<E> call = {dc, dpx, dpa,     dy,  da_param, dout, c,   px,  pa,    \
                                 y,  h,   a_param, pos, T,        C,    ldy, NULL};      \
        return backward<E>(call, B, workspace, workspace_bytes, stream);                 \
    }                                                                                    \
    size_t rglru_backward_workspace_##e(int B, int T, int C)                             \
    {                                                                                    \
        return workspace_for(B, T, C);                                                   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
