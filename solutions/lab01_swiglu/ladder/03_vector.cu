/* 03_vector.cu - 16 bytes an access.
 *
 * Lesson: a warp that asks for 512 bytes at once needs a quarter (f32) or an eighth (16-bit)
 * of the instructions to move the same data. The price is alignment: where a row of any
 * tensor does not start on 16 bytes (F odd, packed) the pack is one element, and what is left
 * over at the end of a row is done one by one.
 */
#include "swiglu.h"

typedef enum activation { SILU, GELU_TANH } activation;

constexpr int THREADS = 256;

/* no overflow: the exponent is never positive */
static __device__ __forceinline__ float sigmoid(float z)
{
    float e = expf(-fabsf(z));
    return __fdividef(z < 0.0f ? e : 1.0f, 1.0f + e);
}

/* Both activations are z s(g(z)). inner is g, inner_slope is z g'(z); beyond +-16 s(g) of
 * GELU is 0 or 1, and z^3 must not become inf. */
template <activation A> static __device__ __forceinline__ float inner(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -16.0f), 16.0f);
    return 1.5957691216057308f * z * (1.0f + 0.044715f * z * z);
}

template <activation A> static __device__ __forceinline__ float inner_slope(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -16.0f), 16.0f);
    return 1.5957691216057308f * z * (1.0f + 3.0f * 0.044715f * z * z);
}

template <typename E, int V> struct alignas(V * sizeof(E)) pack {
    E e[V];
};

/* v[0..V) = p[0..V), of which `left` exist. Every index is a constant after unrolling: an
 * index known only at run time would put v into memory. */
template <int V, typename E>
static __device__ __forceinline__ void load(pack<E, V> *v, const E *p, long long left)
{
    if (left >= V) {
        *v = *reinterpret_cast<const pack<E, V> *>(p);
        return;
    }
#pragma unroll
    for (int i = 0; i < V; i++)
        v->e[i] = i < left ? p[i] : E(0.0f);
}

template <int V, typename E>
static __device__ __forceinline__ void store(E *p, const pack<E, V> *v, long long left)
{
    if (left >= V) {
        *reinterpret_cast<pack<E, V> *>(p) = *v;
        return;
    }
#pragma unroll
    for (int i = 0; i < V; i++)
        if (i < left) p[i] = v->e[i];
}

/* a pack for each thread; gridDim.x = R tiles */
template <activation A, int V, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long f = ((long long)(blockIdx.x % tiles) * THREADS + threadIdx.x) * V;
    if (f >= F) return;
    pack<E, V> z, u;
    load<V>(&z, gate + row * ld + f, F - f);
    load<V>(&u, up + row * ld + f, F - f);
#pragma unroll
    for (int i = 0; i < V; i++) {
        float x = (float)z.e[i];
        u.e[i] = E(x * sigmoid(inner<A>(x)) * (float)u.e[i]);
    }
    store<V>(out + row * F + f, &u, F - f);
}

template <activation A, int V, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long f = ((long long)(blockIdx.x % tiles) * THREADS + threadIdx.x) * V;
    if (f >= F) return;
    pack<E, V> z, u, dy;
    load<V>(&z, gate + row * ld + f, F - f);
    load<V>(&u, up + row * ld + f, F - f);
    load<V>(&dy, dout + row * F + f, F - f);
#pragma unroll
    for (int i = 0; i < V; i++) {
        float x = (float)z.e[i], d = (float)dy.e[i], s = sigmoid(inner<A>(x));
        z.e[i] = E(d * s * (1.0f + inner_slope<A>(x) * (1.0f - s)) * (float)u.e[i]);
        u.e[i] = E(d * x * s);
    }
    store<V>(dgate + row * ld + f, &z, F - f);
    store<V>(dup + row * ld + f, &u, F - f);
}

/* 16 / sizeof(E) if every row of every tensor starts on 16 bytes, else 1 */
template <typename E> static int pack_width(size_t addresses, int R, int F, int ld)
{
    if (R > 1) addresses |= (F | ld) * sizeof(E);
    return addresses % 16 == 0 ? 16 / sizeof(E) : 1;
}

template <activation A, typename E>
static wb_status
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int V = pack_width<E>((size_t)out | (size_t)gate | (size_t)up, R, F, ld);
    int tiles = (int)(((long long)F + V * THREADS - 1) / (V * THREADS));
    auto kernel = V > 1 ? forward_kernel<A, 16 / sizeof(E), E> : forward_kernel<A, 1, E>;
    kernel<<<(unsigned)R * tiles, THREADS, 0, stream>>>(out, gate, up, F, ld, tiles);
    return wb_launched();
}

template <activation A, typename E>
static wb_status backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!dgate || !dup || !dout || !gate || !up) return WB_BAD_SHAPE;
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    size_t addresses = (size_t)dgate | (size_t)dup | (size_t)dout | (size_t)gate;
    int V = pack_width<E>(addresses | (size_t)up, R, F, ld);
    int tiles = (int)(((long long)F + V * THREADS - 1) / (V * THREADS));
    auto kernel =
        V > 1 ? backward_kernel<A, 16 / sizeof(E), E> : backward_kernel<A, 1, E>;
    kernel<<<(unsigned)R * tiles, THREADS, 0, stream>>>(
        dgate, dup, dout, gate, up, F, ld, tiles);
    return wb_launched();
}

/* the functions of swiglu.h */
#define DEFINE(name, ACTIVATION, E, e)                                                   \
    wb_status name##_forward_##e(                                                        \
        E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)   \
    {                                                                                    \
        return forward<ACTIVATION>(out, gate, up, R, F, ld, stream);                     \
    }                                                                                    \
    wb_status name##_backward_##e(                                                       \
        E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F,       \
        int ld, cudaStream_t stream)                                                     \
    {                                                                                    \
        return backward<ACTIVATION>(dgate, dup, dout, gate, up, R, F, ld, stream);       \
    }

DEFINE(swiglu, SILU, float, f32)
DEFINE(swiglu, SILU, wb_f16, f16)
DEFINE(swiglu, SILU, wb_bf16, bf16)
DEFINE(geglu, GELU_TANH, float, f32)
DEFINE(geglu, GELU_TANH, wb_f16, f16)
DEFINE(geglu, GELU_TANH, wb_bf16, bf16)
