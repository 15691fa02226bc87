/* linear_scan_backward.cu - lab 06, part 06.4, backward: dz[t] = dh[t] + a[t+1] dz[t+1].
 * The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

enum { THREADS = 128 };  // per block

/* A thread for each row and channel walks from the last step to the first. */
template <typename E> static __global__ void backward_rows(scan_back_call<E> call)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)call.B * call.C) return;
    // TODO(06.4): what comes back to step T-1: dh_last, or 0. 1 line.
    // TODO(06.4): from the last step to the first: dz = dh + what comes back, da = dz
    // h[t-1] (h0 at t = 0), and a dz is what comes back to step t-1. About 6 lines.
    // TODO(06.4): dh0, unless it is NULL. 1 line.
}

/* Bytes of workspace */
template <typename E> static size_t linear_scan_back_workspace(int B, int T, int C)
{
    // TODO(06.4): 0 is correct while nothing is stored there.
    (void)B, (void)T, (void)C;
    return 0;
}

template <typename E>
static wb_status
linear_scan_back(scan_back_call<E> call, void *workspace, cudaStream_t stream)
{
    // TODO(06.4): launch backward_rows, then return wb_launched().
    (void)call, (void)workspace, (void)stream;
    return WB_TODO;
}

DEFINE_LINEAR_SCAN_BACKWARD(float, f32)
DEFINE_LINEAR_SCAN_BACKWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_BACKWARD(wb_bf16, bf16)
