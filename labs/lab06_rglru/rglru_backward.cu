/* rglru_backward.cu - lab 06.5, backward: the scan backwards in time and the slopes of side
 * branch and gates, in one pass. The contract is rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

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
template <typename E> static size_t rglru_space(int B, int T, int C)
{
    // TODO(06.5): 0 is right as long as nothing is kept there.
    (void)B, (void)T, (void)C;
    return 0;
}

template <typename E>
static wb_status
rglru_back(backward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    // TODO(06.5): launch backward_rows on the stream with a thread for each channel, then
    // return wb_launched().
    (void)workspace, (void)stream;
    return WB_TODO;
}

DEFINE_RGLRU_BACKWARD(float, f32)
DEFINE_RGLRU_BACKWARD(wb_f16, f16)
DEFINE_RGLRU_BACKWARD(wb_bf16, bf16)
