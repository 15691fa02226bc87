/* 02_tokens.cu - a block for each token.
 *
 * Lesson: what the threads of a token share is worked out once for the block: the position,
 * and with it the row of the table, which stays in the L1 cache for all heads. The block is
 * two-dimensional, (pairs, heads), so nobody divides.
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

/* block: a token; threadIdx.x: pairs, then passing channels; threadIdx.y: heads */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, int T, int H, int D,
    int N, int ld)
{
    size_t token = blockIdx.x;  // [0, B*T)
    int half = N / 2;
    int p = pos ? pos[token] : (int)(token % T);
    cis += (size_t)p * N;
    for (int h = threadIdx.y; h < H; h += blockDim.y) {
        const E *in = x + token * ld + (size_t)h * D;
        E *to = out + token * ld + (size_t)h * D;
        for (int i = threadIdx.x; i < half; i += blockDim.x) {
            float c = cis[2 * i], s = cis[2 * i + 1] * sign;
            float a = (float)in[i], b = (float)in[i + half];
            to[i] = E(a * c - b * s);
            to[i + half] = E(b * c + a * s);
        }
        for (int i = N + threadIdx.x; i < D && in != to; i += blockDim.x)
            to[i] = in[i];
    }
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
    if ((long long)B * T > INT_MAX) return WB_BAD_SHAPE;
    int across = N == 0 ? 32 : N / 2 < 128 ? N / 2 : 128;
    int heads = 256 / across < H ? 256 / across : H;
    rotate_kernel<<<(unsigned)B * T, dim3(across, heads), 0, stream>>>(
        out, x, cis, pos, sign, T, H, D, N, ld);
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
