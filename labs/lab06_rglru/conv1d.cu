/* conv1d.cu - lab 06, part 06.2: each channel's own short filter along time. The contract is
 * rglru.h. */
#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

enum { BLOCK = 128 };  // threads

/* Forward, a thread per number. The bound on s is what keeps documents apart. */
template <typename E>
static __global__ void conv1d_each(
    E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    int B, int T, int C, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*T*C)
    if (i >= (size_t)B * T * C) return;
    size_t c = i % C, row = i / C, b = row / T;
    int t = (int)(row % T), p = pos ? pos[row] : t;
    // TODO(06.2): bias, then the taps s = 0 .. min(p, width - 1): x of the token s before
    // this one, or, if that lies before the row (s > t), slot (p - s) % width of the ring;
    // conv_state may be NULL. About 8 lines.
    (void)b, (void)c, (void)p;
}

/* The ring, a thread per channel of a row. A kernel of its own, launched afterwards: all
 * have read before it writes. */
template <typename E>
static __global__ void keep_last(
    E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
    int width, int ld)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)B * C) return;
    // TODO(06.2): the inputs of the last real token and those before it, as many as fit
    // and as lie in this row and document. len 0: nothing. About 6 lines.
}

/* dx, a thread per number: which outputs has x[b,t] reached? */
template <typename E>
static __global__ void conv1d_dx(
    E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
    int ld)
{
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, B*T*C)
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
    size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, C*width)
    if (i >= (size_t)C * width) return;
    // TODO(06.2): sum of dout[t] x[t-s] over all tokens with t >= s and pos[t] >= s;
    // the thread with s = 0 sums dbias as well. Added to what is there. About 9 lines.
}

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    // TODO(06.2): launch conv1d_each, and keep_last if there is a conv_state; then
    // return wb_launched().
    return WB_TODO;
}

/* Bytes of scratch of the backward pass. */
template <typename E> static size_t conv1d_space(int B, int T, int C, int width)
{
    // TODO(06.2): 0 is right as long as one thread sums a tap alone.
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

DEFINE_CONV1D(float, f32)
DEFINE_CONV1D(wb_f16, f16)
DEFINE_CONV1D(wb_bf16, bf16)
