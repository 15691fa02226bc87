/* rope.cu - lab 02: rotary position embedding. The contract is rope.h.
 *
 * 02.1  the table of cosines and sines    02.4  positions
 * 02.2  the rotation                      02.5  backward
 * 02.3  N < D, packed rows, in place      02.6  vectors, fewer reads of the table
 */
#include "rope.h"

#include "cuda/vec.cuh"

/* --- the table ---------------------------------------------------------------------- */

/* One thread for each pair i of each position p. */
__global__ void table_kernel(float *cis, int P, int half, float base)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;  // [0, P*half)
    if (at >= (long long)P * half) return;
    // TODO(02.1): p and i of pair `at`. About 2 lines.
    // TODO(02.1): a = p base^(-2i/N), N = 2 half, and its cosine and sine: all in
    // double, rounded to float when they are stored. About 3 lines.
}

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    if (P < 0 || N < 0 || N % 2 || !(base > 0.0f)) return WB_BAD_SHAPE;
    if (P == 0 || N == 0) return WB_OK;
    if (!cis) return WB_BAD_SHAPE;
    // TODO(02.1): table_kernel<<<blocks, threads, 0, stream>>>(...) with enough blocks
    // for P N/2 threads, then return wb_launched(). About 4 lines.
    (void)stream;
    return WB_TODO;
}

/* --- the rotation: kernels ---------------------------------------------------------- */

/* One thread for each pair i of each head h of each token (b,t): B T H N/2 of them.
 * sign: 1 forward, -1 for the rotation back. out may be x. */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*T*H*N/2)
    if (at >= (size_t)B * T * H * (N / 2)) return;
    // TODO(02.2): i, h and token = b*T + t of pair `at`. About 3 lines.
    // TODO(02.2): the offset of the head: token*ld + h*D, a size_t. About 1 line.
    // TODO(02.2): (c,s) = cis[p,i]; read x_i and x_j, j = i + N/2, both before either is
    // written; out_i = x_i c - x_j s, out_j = x_j c + x_i s. (float)x converts any E
    // to float, E(y) rounds: round once, at the end. About 6 lines.
    // TODO(02.3): if N < D and out is not x, copy the channels N..D-1. About 3 lines.
    // TODO(02.4): p is pos[token], or t if pos is NULL. About 1 line.
    // TODO(02.5): use sign. About 1 line.
}

/* --- the rotation: launchers -------------------------------------------------------- */

template <typename E>
static wb_status rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    if (B < 0 || T < 0 || H < 0 || D < 0 || N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ld < (long long)H * D) return WB_BAD_SHAPE;
    if (B == 0 || T == 0 || H == 0 || D == 0) return WB_OK;
    if (!out || !x || (!cis && N > 0)) return WB_BAD_SHAPE;
    // TODO(02.2): rotate_kernel<<<blocks, threads, 0, stream>>>(...) with enough blocks
    // for B T H N/2 threads, then return wb_launched(). About 4 lines.
    // TODO(02.5): delete the next line when the kernel uses sign.
    if (sign < 0.0f) return WB_TODO;
    (void)pos, (void)stream;
    return WB_TODO;
}

/* The functions of rope.h */
#define DEFINE(E, e)                                                                     \
    wb_status rope_forward_##e(                                                          \
        E *out, const E *x, const float *cis, const int *pos, int B, int T, int H,       \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return rotate(out, x, cis, pos, 1.0f, B, T, H, D, N, ld, stream);                \
    }                                                                                    \
    wb_status rope_backward_##e(                                                         \
        E *dx, const E *dout, const float *cis, const int *pos, int B, int T, int H,     \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return rotate(dx, dout, cis, pos, -1.0f, B, T, H, D, N, ld, stream);             \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
