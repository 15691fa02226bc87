/* rglru_backward.cu - lab 06, part 06.5, backward: the scan backwards in time and the
 * gradients of side branch and gates, in one pass. The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"
#include "rglru_tile.cuh"

enum { THREADS = 128 };  // per block

/* A thread for each channel takes one row after another, each from its last step to its
 * first, so da_param is the sum of one thread, always in the same order. `-k slope` and
 * `-k slope_y` grade steps 1 and 2, `-k slope_docs` all three. */
template <typename E> static __global__ void backward_rows(rglru_back_call<E> call)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= call.C) return;
    // TODO(06.5, step 1): for every row, back = 0; for every token, from the last to the
    // first: gx, ga, log_a, a, q and m again, as in 06.3. About 8 lines.
    // TODO(06.5, step 2): in step 1, dh = dout. Now, if y is not NULL, dh = dout gelu(y)
    // and dy = dout h gelu'(y). 4 lines.
    // TODO(06.5, step 1): dz = dh + back; da = dz h[t-1], with h[-1] = 0. Then dc, dpx,
    // dlog_a and dpa as in 06.3, and back = a dz. About 9 lines.
    // TODO(06.5, step 3): add s(a_param) times the sum of -8 ga dlog_a to da_param, once,
    // after all rows. 2 lines.
}

/* Bytes of workspace */
template <typename E> static size_t rglru_back_workspace(int B, int T, int C)
{
    // TODO(06.5): 0 is correct while nothing is stored there.
    (void)B, (void)T, (void)C;
    return 0;
}

template <typename E>
static wb_status rglru_back(rglru_back_call<E> call, void *workspace, cudaStream_t stream)
{
    // TODO(06.5, step 1): launch backward_rows on the stream with a thread for each
    // channel, then return wb_launched().
    (void)call, (void)workspace, (void)stream;
    return WB_TODO;
}

DEFINE_RGLRU_BACKWARD(float, f32)
DEFINE_RGLRU_BACKWARD(wb_f16, f16)
DEFINE_RGLRU_BACKWARD(wb_bf16, bf16)
