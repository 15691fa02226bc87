/* 03_vector.cu - 16-byte accesses.
 *
 * Lesson: a thread takes V neighbouring pairs: one vector of x_i, one of x_j, and V
 * cosines and sines as vectors of four floats. Where D, N/2, ld or an address does not
 * allow it, V is 1. Several tokens share a block, so that short tokens fill it too. Now
 * the table is most of what a thread reads: in bf16 64 bytes for 32 of x, though from the
 * caches.
 */
// fails: angles,back_angles
#include "rope.h"

#include "cuda/vec.cuh"
#include "table.cuh"

typedef struct shape {
    long long tokens;  // B*T
    int T, H, D, N, ld;
    int vecs;  // per head: (N/2)/V of pairs, then, out of place, (D-N)/V to copy
    float sign;
} shape;

/* block: (vectors of a token, tokens) */
template <int V, typename E>
static __global__ void
rotate_kernel(E *out, const E *x, const float *cis, const int *pos, shape s)
{
    constexpr int W = V == 1 ? 1 : 4;
    long long token = (long long)blockIdx.x * blockDim.y + threadIdx.y;
    if (token >= s.tokens) return;
    int half = s.N / 2, p = pos ? pos[token] : (int)(token % s.T);
    for (int i = threadIdx.x; i < s.vecs * s.H; i += blockDim.x) {
        int at = i % s.vecs * V, h = i / s.vecs;
        const E *in = x + token * s.ld + h * s.D + at;
        E *to = out + token * s.ld + h * s.D + at;
        if (at >= half) {
            store_vec(to + half, load_vec<V>(in + half));
            continue;
        }
        vec<E, V> a = load_vec<V>(in);
        vec<E, V> b = load_vec<V>(in + half);
        const float *row = cis + ((size_t)p * half + at) * 2;
        vec<float, W> angle[2 * V / W];
#pragma unroll
        for (int k = 0; k < 2 * V / W; k++)
            angle[k] = load_vec<W>(row, k);
#pragma unroll
        for (int v = 0; v < V; v++) {
            float co = angle[2 * v / W][2 * v % W];
            float si = angle[(2 * v + 1) / W][(2 * v + 1) % W] * s.sign;
            float xi = (float)a[v], xj = (float)b[v];
            a[v] = E(xi * co - xj * si);
            b[v] = E(xj * co + xi * si);
        }
        store_vec(to, a);
        store_vec(to + half, b);
    }
}

template <int V, typename E>
static void
launch(E *out, const E *x, const float *cis, const int *pos, shape s, cudaStream_t stream)
{
    s.vecs = s.N / 2 / V + (out == x ? 0 : (s.D - s.N) / V);
    if (s.vecs == 0) return;
    unsigned across = s.vecs * s.H < 256 ? s.vecs * s.H : 256, down = 256 / across;
    unsigned blocks = (unsigned)((s.tokens + down - 1) / down);
    rotate_kernel<V><<<blocks, dim3(across, down), 0, stream>>>(out, x, cis, pos, s);
}

template <typename E>
static void rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    constexpr int V = VEC16<E>;
    shape s = {(long long)B * T, T, H, D, N, ld, 0, sign};
    bool aligned = is_aligned(16, out, x, cis);
    if (aligned && ld % V == 0 && D % V == 0 && N / 2 % V == 0)
        launch<V>(out, x, cis, pos, s, stream);
    else
        launch<1>(out, x, cis, pos, s, stream);
}

#include "contract.h"
