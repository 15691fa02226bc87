/* rope.cu - lab 02: rotary position embedding. rope.h is the specification.
 *
 * Forward and backward are one kernel: the gradient of a rotation is the rotation back. All
 * heads of a token turn by the same angles, so a thread takes the same pairs of several
 * heads: it reads cosines and sines once and has all its loads in flight together.
 */
#include "rope.h"

/* TODO(02.1): one thread for each pair i of each position p:
 *     a = p base^(-2i/N)      cis[p,i] = (cos a, sin a)
 * Angle, cosine and sine in double; only the result is float. About 8 lines. */

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    if (P < 0 || N < 0 || N % 2 || !(base > 0.0f)) return WB_BAD_SHAPE;
    if (P == 0 || N == 0) return WB_OK;
    if (!cis) return WB_BAD_SHAPE;
    // TODO(02.1): launch it, then return wb_launched(). About 3 lines.
    (void)stream;
    return WB_TODO;
}

/* TODO(02.2): one thread for each pair i of each head h of each token (b,t):
 *     out_i = x_i c - x_j s      out_j = x_j c + x_i s      j = i + N/2, (c,s) = cis[p,i]
 * out may be x: read both before you write either. Head h of the token starts at
 * x + (b*T+t)*ld + h*D. About 12 lines. Then, each of a line or two:
 * TODO(02.3): N < D. Channels N..D-1 are copied when out is not x.
 * TODO(02.4): p is pos[b*T+t], or t where pos is NULL.
 * TODO(02.5): sign = -1 turns back. sign = 1 turns forward. */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld)
{
}

template <typename E>
static wb_status rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    if (B < 0 || T < 0 || H < 0 || D < 0 || N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ld < (long long)H * D) return WB_BAD_SHAPE;
    if (B == 0 || T == 0 || H == 0 || D == 0) return WB_OK;
    if (!out || !x || (!cis && N > 0)) return WB_BAD_SHAPE;
    // TODO(02.2): launch rotate_kernel<<<grid, block, 0, stream>>>(...), then
    // return wb_launched(). About 4 lines.
    (void)pos, (void)sign, (void)stream;
    return WB_TODO;
}

/* the functions of rope.h */
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
