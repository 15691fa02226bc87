/* elementwise.cu - add, cast, soft cap and dropout; each reads and writes once. */
#include "elements.cuh"
#include "ops.h"

enum {
    VECS = 4,         // 16-byte loads in flight per thread, of one tensor
    VECS_OF_TWO = 2,  // with two tensors, or much to compute: fewer registers
};

/* --- add ---------------------------------------------------------------------------- */

template <typename E, int V>
static __global__ void add_kernel(E *out, const E *a, const E *b, size_t N)
{
    size_t first = first_element<V, VECS_OF_TWO>();
    float x[VECS_OF_TWO][V], y[VECS_OF_TWO][V];
#pragma unroll
    for (int p = 0; p < VECS_OF_TWO; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * V;
        if (i >= N) break;
        load_float<V>(x[p], a + i, N - i);
        load_float<V>(y[p], b + i, N - i);
    }
#pragma unroll
    for (int p = 0; p < VECS_OF_TWO; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * V;
        if (i >= N) break;
#pragma unroll
        for (int j = 0; j < V; j++)
            x[p][j] += y[p][j];
        store_float<V>(out + i, x[p], N - i);
    }
}

template <typename E>
static wb_status add(E *out, const E *a, const E *b, size_t N, cudaStream_t s)
{
    if (N == 0) return WB_OK;
    if (!out || !a || !b) return WB_BAD_SHAPE;
    const int V = VEC16<E>;
    if (has_vecs<V>(out, a, b))
        add_kernel<E, V>
            <<<blocks_for(N, VECS_OF_TWO * V), BLOCK_SIZE, 0, s>>>(out, a, b, N);
    else
        add_kernel<E, 1><<<blocks_for(N, VECS_OF_TWO), BLOCK_SIZE, 0, s>>>(out, a, b, N);
    return wb_launched();
}

/* --- cast --------------------------------------------------------------------------- */

template <typename E, typename From, int V>
static __global__ void cast_kernel(E *out, const From *x, size_t N)
{
    size_t first = first_element<V, VECS>();
#pragma unroll
    for (int p = 0; p < VECS; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * V;
        if (i >= N) break;
        float y[V];
        load_float<V>(y, x + i, N - i);
        store_float<V>(out + i, y, N - i);
    }
}

template <typename E, typename From>
static wb_status cast(E *out, const From *x, size_t N, cudaStream_t s)
{
    if (N == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    const int V = 4;  // 16 bytes of the floats
    if (has_vecs<V>(out, x))
        cast_kernel<E, From, V><<<blocks_for(N, VECS * V), BLOCK_SIZE, 0, s>>>(out, x, N);
    else
        cast_kernel<E, From, 1><<<blocks_for(N, VECS), BLOCK_SIZE, 0, s>>>(out, x, N);
    return wb_launched();
}

wb_status widen_bf16(float *out, const wb_bf16 *x, size_t N, cudaStream_t s)
{
    return cast(out, x, N, s);
}

/* --- soft cap ----------------------------------------------------------------------- */

template <int V>
static __global__ void softcap_kernel(float *out, const float *x, size_t N, float cap)
{
    size_t first = first_element<V, VECS>();
#pragma unroll
    for (int p = 0; p < VECS; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * V;
        if (i >= N) break;
        float y[V];
        load_float<V>(y, x + i, N - i);
#pragma unroll
        for (int j = 0; j < V; j++)
            y[j] = cap * tanhf(y[j] / cap);
        store_float<V>(out + i, y, N - i);
    }
}

wb_status softcap_f32(float *out, const float *x, size_t N, float cap, cudaStream_t s)
{
    if (!(cap > 0)) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    if (has_vecs<4>(out, x))
        softcap_kernel<4><<<blocks_for(N, VECS * 4), BLOCK_SIZE, 0, s>>>(out, x, N, cap);
    else
        softcap_kernel<1><<<blocks_for(N, VECS), BLOCK_SIZE, 0, s>>>(out, x, N, cap);
    return wb_launched();
}

/* --- dropout ------------------------------------------------------------------------ */

/* A thread owns vectors of W elements; every 4 of them share a call of wb_random. They
 * move as a whole (V = W), or one by one (V = 1) through unaligned pointers. The test
 * number >= p 2^32 becomes number >= least, with least = p 2^32 rounded up; it is below
 * 2^32, since the largest float below 1 is 1 - 2^-24. */
template <typename E, int W, int V>
static __global__ void dropout_kernel(
    E *out, const E *x, const wb_train *st, size_t N, size_t before, uint32_t least,
    float factor, uint32_t site)
{
    uint64_t seed = st->seed;
    uint32_t tick = st->tick;
    size_t first = first_element<W, VECS_OF_TWO>();
    float y[VECS_OF_TWO][W];
#pragma unroll
    for (int p = 0; p < VECS_OF_TWO; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * W;
#pragma unroll
        for (int j = 0; j < W; j += V)
            load_float<V>(y[p] + j, x + i + j, i + j < N ? N - i - j : 0);
    }
#pragma unroll
    for (int p = 0; p < VECS_OF_TWO; p++) {
        size_t i = first + (size_t)p * BLOCK_SIZE * W;
        if (i >= N) break;
#pragma unroll
        for (int g = 0; g < W; g += 4) {
            uint32_t number[4];
            wb_random(number, seed, (uint32_t)((before + i + g) / 4), 0, site, tick);
#pragma unroll
            for (int j = 0; j < 4; j++)
                y[p][g + j] = number[j] >= least ? y[p][g + j] * factor : 0.0f;
        }
#pragma unroll
        for (int j = 0; j < W; j += V)
            if (i + j < N) store_float<V>(out + i + j, y[p] + j, N - i - j);
    }
}

template <typename E>
static wb_status dropout(
    E *out, const E *x, const wb_train *st, size_t N, size_t before, float p,
    uint32_t site, cudaStream_t s)
{
    if (!(p >= 0 && p < 1) || before % 4) return WB_BAD_SHAPE;
    if (N == 0) return WB_OK;
    if (!out || !x || !st) return WB_BAD_SHAPE;
    double bound = (double)p * 4294967296.0;
    uint32_t least = (uint32_t)bound;
    if ((double)least < bound) least++;
    float factor = 1.0f / (1.0f - p);
    const int W = VEC16<E>;
    unsigned blocks = blocks_for(N, VECS_OF_TWO * W);
    if (has_vecs<W>(out, x))
        dropout_kernel<E, W, W>
            <<<blocks, BLOCK_SIZE, 0, s>>>(out, x, st, N, before, least, factor, site);
    else
        dropout_kernel<E, W, 1>
            <<<blocks, BLOCK_SIZE, 0, s>>>(out, x, st, N, before, least, factor, site);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status add_forward_##e(                                                           \
        E *out, const E *a, const E *b, size_t N, cudaStream_t stream)                   \
    {                                                                                    \
        return add(out, a, b, N, stream);                                                \
    }                                                                                    \
    wb_status cast_##e(E *out, const float *x, size_t N, cudaStream_t stream)            \
    {                                                                                    \
        return cast(out, x, N, stream);                                                  \
    }                                                                                    \
    wb_status dropout_forward_##e(                                                       \
        E *out, const E *x, const wb_train *st, size_t N, size_t first, float p,         \
        uint32_t site, cudaStream_t stream)                                                           \
    {                                                                                    \
        return dropout(out, x, st, N, first, p, site, stream);                           \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
