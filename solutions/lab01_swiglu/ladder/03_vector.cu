/* 03_vector.cu - 16 bytes an access.
 *
 * Lesson: a warp that asks for 512 bytes at once needs a quarter (f32) or an eighth (16-bit)
 * of the instructions to move the same data. The price is alignment: where a row of any
 * tensor does not start on 16 bytes (F odd, packed) the pack is one element. The columns behind
 * the last whole pack have a statement of their own: with a test inside of the pack the
 * compiler would merge both and store 2 bytes at a time.
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

template <activation A, typename E>
static __device__ __forceinline__ E gated(E gate, E up)
{
    float z = (float)gate;
    return E(z * sigmoid(inner<A>(z)) * (float)up);
}

/* (dgate, dup) in place of (gate, up) */
template <activation A, typename E>
static __device__ __forceinline__ void gradients(E &gate, E &up, E dout)
{
    float z = (float)gate, dy = (float)dout, s = sigmoid(inner<A>(z));
    gate = E(dy * s * (1.0f + inner_slope<A>(z) * (1.0f - s)) * (float)up);
    up = E(dy * z * s);
}

/* a pack for each thread, and a column of the tail for V - 1 of them; gridDim.x = R tiles */
template <activation A, int V, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    unsigned tile = blockIdx.x % tiles, whole = F / V;  // whole packs of the row
    unsigned i = tile * THREADS + threadIdx.x, tail = whole * V + threadIdx.x;
    out += row * F, gate += row * ld, up += row * ld;
    if (i < whole) {
        pack<E, V> z = reinterpret_cast<const pack<E, V> *>(gate)[i];
        pack<E, V> u = reinterpret_cast<const pack<E, V> *>(up)[i];
#pragma unroll
        for (int j = 0; j < V; j++)
            u.e[j] = gated<A>(z.e[j], u.e[j]);
        reinterpret_cast<pack<E, V> *>(out)[i] = u;
    }
    if (tile == 0 && tail < (unsigned)F) out[tail] = gated<A>(gate[tail], up[tail]);
}

template <activation A, int V, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    unsigned tile = blockIdx.x % tiles, whole = F / V;
    unsigned i = tile * THREADS + threadIdx.x, tail = whole * V + threadIdx.x;
    dgate += row * ld, dup += row * ld, dout += row * F, gate += row * ld, up += row * ld;
    if (i < whole) {
        pack<E, V> z = reinterpret_cast<const pack<E, V> *>(gate)[i];
        pack<E, V> u = reinterpret_cast<const pack<E, V> *>(up)[i];
        pack<E, V> dy = reinterpret_cast<const pack<E, V> *>(dout)[i];
#pragma unroll
        for (int j = 0; j < V; j++)
            gradients<A>(z.e[j], u.e[j], dy.e[j]);
        reinterpret_cast<pack<E, V> *>(dgate)[i] = z;
        reinterpret_cast<pack<E, V> *>(dup)[i] = u;
    }
    if (tile == 0 && tail < (unsigned)F) {
        E g = gate[tail], v = up[tail];
        gradients<A>(g, v, dout[tail]);
        dgate[tail] = g, dup[tail] = v;
    }
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
