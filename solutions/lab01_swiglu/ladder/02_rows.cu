/* 02_rows.cu - a block for each row, one exponential for everything.
 *
 * Lesson: the block's number is the row, so no thread divides; and since 1 + tanh(u) is
 * 2 s(2u), both activations and both derivatives cost one exponential and one fast division.
 * A contiguous tensor is one long row, cut into tiles of TILE columns so that every
 * multiprocessor has work.
 */
#include "swiglu.h"

typedef enum activation { SILU, GELU_TANH } activation;

constexpr int THREADS = 256;
constexpr int TILE = 4 * THREADS;  // columns of a block

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

/* block (row, tile): gridDim.x = R tiles */
template <activation A, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long first = (long long)(blockIdx.x % tiles) * TILE,
              end = min(first + TILE, (long long)F);
    out += row * F, gate += row * ld, up += row * ld;
    for (long long f = first + threadIdx.x; f < end; f += THREADS) {
        float z = (float)gate[f];
        out[f] = E(z * sigmoid(inner<A>(z)) * (float)up[f]);
    }
}

template <activation A, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long first = (long long)(blockIdx.x % tiles) * TILE,
              end = min(first + TILE, (long long)F);
    dgate += row * ld, dup += row * ld, dout += row * F, gate += row * ld, up += row * ld;
    for (long long f = first + threadIdx.x; f < end; f += THREADS) {
        float z = (float)gate[f], u = (float)up[f], dy = (float)dout[f];
        float s = sigmoid(inner<A>(z));
        dgate[f] = E(dy * s * (1.0f + inner_slope<A>(z) * (1.0f - s)) * u);
        dup[f] = E(dy * z * s);
    }
}

template <activation A, typename E>
static wb_status
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int tiles = (int)(((long long)F + TILE - 1) / TILE);
    forward_kernel<A>
        <<<(unsigned)R * tiles, THREADS, 0, stream>>>(out, gate, up, F, ld, tiles);
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
    int tiles = (int)(((long long)F + TILE - 1) / TILE);
    backward_kernel<A><<<(unsigned)R * tiles, THREADS, 0, stream>>>(
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
