/* 03_vector.cu - 16 bytes an access.
 *
 * Lesson: a thread takes V neighbouring pairs: one pack of x_i, one of x_j, and V cosines and
 * sines as packs of four floats. Where D, N/2, ld or an address does not allow it, V is 1.
 * Several tokens share a block, so that short ones fill it too. Now the table is the larger
 * part of what a thread reads: in bf16 64 bytes for 32 of x, though from the caches.
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

template <typename E, int V> struct alignas(V * sizeof(E)) pack {
    E e[V];
};

typedef struct shape {
    long long tokens;  // B*T
    int T, H, D, N, ld;
    int packs;  // of a head: (N/2)/V of pairs, then, out of place, (D-N)/V that pass
    float sign;
} shape;

/* block: (packs of a token, tokens) */
template <int V, typename E>
static __global__ void
rotate_kernel(E *out, const E *x, const float *cis, const int *pos, shape s)
{
    constexpr int W = V == 1 ? 1 : 4;
    long long token = (long long)blockIdx.x * blockDim.y + threadIdx.y;
    if (token >= s.tokens) return;
    int half = s.N / 2, p = pos ? pos[token] : (int)(token % s.T);
    for (int i = threadIdx.x; i < s.packs * s.H; i += blockDim.x) {
        int at = i % s.packs * V, h = i / s.packs;
        const E *in = x + token * s.ld + h * s.D + at;
        E *to = out + token * s.ld + h * s.D + at;
        if (at >= half) {
            *reinterpret_cast<pack<E, V> *>(to + half) =
                *reinterpret_cast<const pack<E, V> *>(in + half);
            continue;
        }
        pack<E, V> a = *reinterpret_cast<const pack<E, V> *>(in);
        pack<E, V> b = *reinterpret_cast<const pack<E, V> *>(in + half);
        const float *row = cis + ((size_t)p * half + at) * 2;
        pack<float, W> turn[2 * V / W];
#pragma unroll
        for (int k = 0; k < 2 * V / W; k++)
            turn[k] = reinterpret_cast<const pack<float, W> *>(row)[k];
#pragma unroll
        for (int v = 0; v < V; v++) {
            float co = turn[2 * v / W].e[2 * v % W];
            float si = turn[(2 * v + 1) / W].e[(2 * v + 1) % W] * s.sign;
            float xi = (float)a.e[v], xj = (float)b.e[v];
            a.e[v] = E(xi * co - xj * si);
            b.e[v] = E(xj * co + xi * si);
        }
        *reinterpret_cast<pack<E, V> *>(to) = a;
        *reinterpret_cast<pack<E, V> *>(to + half) = b;
    }
}

template <int V, typename E>
static void
launch(E *out, const E *x, const float *cis, const int *pos, shape s, cudaStream_t stream)
{
    s.packs = s.N / 2 / V + (out == x ? 0 : (s.D - s.N) / V);
    if (s.packs == 0) return;
    unsigned across = s.packs * s.H < 256 ? s.packs * s.H : 256, down = 256 / across;
    unsigned blocks = (unsigned)((s.tokens + down - 1) / down);
    rotate_kernel<V><<<blocks, dim3(across, down), 0, stream>>>(out, x, cis, pos, s);
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
    constexpr int V = 16 / sizeof(E);
    shape s = {(long long)B * T, T, H, D, N, ld, 0, sign};
    size_t addresses = (size_t)out | (size_t)x | (size_t)cis | ld * sizeof(E);
    if (addresses % 16 == 0 && D % V == 0 && N / 2 % V == 0)
        launch<V>(out, x, cis, pos, s, stream);
    else
        launch<1>(out, x, cis, pos, s, stream);
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
