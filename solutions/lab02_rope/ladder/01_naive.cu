/* 01_naive.cu - a thread for each pair, and for each channel that only passes.
 *
 * Lesson: the two channels of a pair are read by one thread before either is written, so in
 * place costs nothing. N/2 apart, neighbouring threads still touch neighbouring channels,
 * which pairs (2i, 2i+1) would not. What costs: the divisions by which a thread finds its
 * pair, and 8 bytes of cosine and sine for every two channels.
 */
#include "rope.h"

/* double: in float the angle of position p would be off by 2^-24 p */
static __global__ void table_kernel(float *cis, long long pairs, int half, float base)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;  // [0, P*N/2)
    if (at >= pairs) return;
    double a = (double)(at / half) * pow((double)base, -(double)(at % half) / half);
    cis[2 * at] = (float)cos(a);
    cis[2 * at + 1] = (float)sin(a);
}

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    if (P < 0 || N < 0 || N % 2 || !(base > 0.0f)) return WB_BAD_SHAPE;
    if (P == 0 || N == 0) return WB_OK;
    if (!cis) return WB_BAD_SHAPE;
    long long pairs = (long long)P * (N / 2);
    table_kernel<<<(unsigned)((pairs + 255) / 256), 256, 0, stream>>>(
        cis, pairs, N / 2, base);
    return wb_launched();
}

/* thread: pair or passing channel `at` of head h of token (b,t) */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, size_t n, int T,
    int H, int D, int N, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*T*H*(D-N/2))
    if (i >= n) return;
    int half = N / 2, work = D - half;
    int at = i % work, h = i / work % H;
    size_t token = i / work / H;
    out += token * ld + (size_t)h * D, x += token * ld + (size_t)h * D;
    if (at >= half) {  // one of the channels N..D-1
        out[at + half] = x[at + half];
        return;
    }
    int p = pos ? pos[token] : (int)(token % T);
    const float *turn = cis + ((size_t)p * half + at) * 2;
    float c = turn[0], s = turn[1] * sign;
    float a = (float)x[at], b = (float)x[at + half];
    out[at] = E(a * c - b * s);
    out[at + half] = E(b * c + a * s);
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
    size_t n = (size_t)B * T * H * (D - N / 2);
    rotate_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(
        out, x, cis, pos, sign, n, T, H, D, N, ld);
    return wb_launched();
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
