/* conv1d_backward.cu - lab 06, part 06.2, backward: the gradients of the filter along
 * time. The contract is rglru.h. */
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

enum { THREADS = 128 };  // per block

/* dx, a thread per element: which outputs does x[b,t] reach? */
template <typename E>
static __global__ void conv1d_dx(
    E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
    int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
    if (i >= (size_t)B * T * C) return;
    // TODO(06.2): sum of w[width-1-s] dout[t+s] over the tokens t+s of this row with
    // pos[t+s] >= s. About 6 lines.
}

/* dw and dbias, a thread per channel and tap. */
template <typename E>
static __global__ void conv1d_dw(
    float *dw, float *dbias, const E *dout, const E *x, const int *pos, int B, int T,
    int C, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, C*width)
    if (i >= (size_t)C * width) return;
    // TODO(06.2): sum of dout[t] x[t-s] over all tokens with t >= s and pos[t] >= s;
    // the thread with s = 0 sums dbias as well. Both are added to, not written. 9 lines.
}

/* Bytes of workspace */
template <typename E> static size_t conv1d_back_workspace(int B, int T, int C, int width)
{
    // TODO(06.2): 0 is correct while one thread sums each tap.
    return 0;
}

template <typename E>
static wb_status conv1d_back(
    E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, float *partial, cudaStream_t stream)
{
    // TODO(06.2): launch conv1d_dx and conv1d_dw, then return wb_launched().
    (void)partial;
    return WB_TODO;
}

DEFINE_CONV1D_BACKWARD(float, f32)
DEFINE_CONV1D_BACKWARD(wb_f16, f16)
DEFINE_CONV1D_BACKWARD(wb_bf16, bf16)
