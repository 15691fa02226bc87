/* conv1d.cu - lab 06, part 06.2: a short filter along time for each channel. The contract
 * is rglru.h; the backward pass is in conv1d_backward.cu. */
#include "rglru_contract.cuh"

enum { THREADS = 128 };  // per block

/* A thread per output. The bound on s keeps documents apart. */
template <typename E>
static __global__ void conv1d_each(
    E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    int B, int T, int C, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*T*C)
    if (i >= (size_t)B * T * C) return;
    size_t c = i % C, row = i / C, b = row / T;
    int t = (int)(row % T), p = pos ? pos[row] : t;
    // TODO(06.2): bias, then the taps s = 0 .. min(p, width - 1): x of s tokens ago;
    // if that is before the row (s > t), slot (p - s) % width of the ring. conv_state
    // may be NULL. About 8 lines.
    (void)b, (void)c, (void)p;
}

/* The ring, a thread per channel of a row. It is a kernel of its own, launched second: by
 * then all threads of the first have read the ring. */
template <typename E>
static __global__ void keep_last(
    E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
    int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)B * C) return;
    // TODO(06.2): the inputs of the last real token and of those before it, as many as
    // fit and belong to this row and document. len 0: nothing. About 6 lines.
}

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    // TODO(06.2): launch conv1d_each, then keep_last if conv_state is not NULL; then
    // return wb_launched().
    return WB_TODO;
}

DEFINE_CONV1D_FORWARD(float, f32)
DEFINE_CONV1D_FORWARD(wb_f16, f16)
DEFINE_CONV1D_FORWARD(wb_bf16, bf16)
