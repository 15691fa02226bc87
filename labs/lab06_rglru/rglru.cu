/* rglru.cu - lab 06, part 06.5, forward: gates, scan and side branch in one pass. The
 * contract is rglru.h; the backward pass is in rglru_backward.cu. */
#include "cuda/vec.cuh"
#include "rglru_contract.cuh"
#include "rglru_tile.cuh"

enum { THREADS = 128 };  // per block

/* A thread for each row b and channel c walks through time, as in 06.4, and computes
 * the a and z of 06.3 on the way: they never reach memory. gate_math.cuh has the
 * functions. `-k fused`, `-k fused_y` and `-k fused_state` grade the three steps. */
template <typename E> static __global__ void forward_rows(rglru_call<E> call)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)call.B * call.C) return;
    // TODO(06.5, step 1): b and c; what depends on the channel alone, once. 2 lines.
    // TODO(06.5, step 3): the state before the row: state[b,c] if the row continues an
    // earlier call, else 0. If state is NULL or the first token is at pos 0, do not read
    // state[b,c]: it may hold anything. 2 lines.
    // TODO(06.5, step 1): for every token: a and z, with a = 0 and m = 1 at pos 0; the
    // state, which is 0 before the first token; h unless it is NULL; out = state. About
    // 12 lines.
    // TODO(06.5, step 2): if y is not NULL, out = state gelu(y). 2 lines.
    // TODO(06.5, step 3): store the state after token len[b]-1 (T-1 if len is NULL),
    // unless state is NULL. About 3 lines.
}

/* Bytes of workspace */
template <typename E> static size_t rglru_workspace(int B, int T, int C)
{
    // TODO(06.5): 0 is correct while nothing is stored there.
    (void)B, (void)T, (void)C;
    return 0;
}

template <typename E>
static wb_status rglru(rglru_call<E> call, void *workspace, cudaStream_t stream)
{
    // TODO(06.5, step 1): launch forward_rows on the stream with a thread for each of
    // B C, then return wb_launched().
    (void)call, (void)workspace, (void)stream;
    return WB_TODO;
}

DEFINE_RGLRU_FORWARD(float, f32)
DEFINE_RGLRU_FORWARD(wb_f16, f16)
DEFINE_RGLRU_FORWARD(wb_bf16, bf16)
