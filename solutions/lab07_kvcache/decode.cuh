/* decode.cuh - lab 07, parts 07.3 and 07.4: what the kernels of attention_decode share:
 * the arguments and, in the solution, how a call is split, rotation, and what a block
 * works on.
 */
#ifndef DECODE_CUH
#define DECODE_CUH
#include <math.h>

#include "kvcache.h"

/* The arguments, as in the header. */
template <typename E> struct token {
    E *out, *kcache, *vcache;
    const E *q, *k, *v;
    const float *cis;
    const int *pos;
    int B, S, H, K, D, N, ldq, ldkv;
    float scale;
};

// BEGIN SOLUTION 07.3 (about 180 lines)
#include "cuda/device.cuh"
#include "cuda/pdl.cuh"

constexpr int WARP = 32;
constexpr int THREADS = 128;  // of a block
constexpr int WARPS_PER_BLOCK = THREADS / WARP;
constexpr int MAX_D = 256;
constexpr int MAX_SLOTS = 256;    // of a part: their scores fit into shared memory
constexpr int MIN_SLOTS = 64;     // fewer are not worth a block
constexpr int FILL_BLOCKS = 264;  // at most: two for each multiprocessor of an H200
constexpr int MAX_ALONE = 32768;  // bytes of keys that one block reads soon enough

/* How a call is split. The grid depends on the sizes and the GPU alone. Which slots a
 * part has depends on pos, on the device, so a captured graph stays valid as pos grows. */
struct split {
    int tiles;   // of the query heads of a group
    int parts;   // of the slots of a key head
    int slots;   // of a part, at most
    bool alone;  // a block has all slots and query heads of a key head: no second kernel
};

/* row: bytes of a key */
static split split_of(int B, int S, int H, int K, int heads, int slots, size_t row)
{
    split s;
    s.slots = slots;
    s.tiles = (H / K + heads - 1) / heads;
    long long rows = (long long)B * K * s.tiles;
    int min_parts = (S - 1) / slots + 1, max_parts = (S - 1) / MIN_SLOTS + 1;
    int sms = sm_count(), fill = 2 * sms < FILL_BLOCKS ? 2 * sms : FILL_BLOCKS;
    long long wanted = rows < fill ? fill / rows : 1;  // one wave of blocks
    s.parts = wanted > max_parts ? max_parts : (int)wanted;
    if (s.parts < min_parts) s.parts = min_parts;
    s.alone = s.tiles == 1 && min_parts == 1 && (s.parts == 1 || S * row <= MAX_ALONE);
    if (s.alone) s.parts = 1;
    return s;
}

/* What a part of a head has, besides its sums of values. */
struct softmax {
    float max, sum;  // the largest score, -inf: no slots; the sum of e^(score - max)
};

/* Where head g starts in a row of keys or values. */
template <typename E>
static __device__ __forceinline__ int head_offset(const token<E> &a, int g)
{
    return g * a.D;
}

/* Channel d of a head x, rotated to position p: pair i is (x[i], x[i + N/2]). */
template <typename E>
static __device__ float rotated(const E *x, const float *cis, int p, int d, int N)
{
    if (!cis || d >= N) return (float)x[d];
    int i = d % (N / 2);
    const float *angle = cis + ((size_t)p * (N / 2) + i) * 2;
    float a = (float)x[i], b = (float)x[i + N / 2];
    return d < N / 2 ? a * angle[0] - b * angle[1] : b * angle[0] + a * angle[1];
}

static __device__ float warp_max(float v)
{
    for (int m = WARP / 2; m > 0; m >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, m));
    return v;
}

static __device__ float warp_sum(float v)
{
    for (int m = WARP / 2; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    return v;
}

/* What a block works on: `count` slots from `first` on, of key head g of sequence b, and
 * query heads head .. head + heads - 1. */
struct block_work {
    int b, g, head, heads, first, count, part;
};

template <typename E>
static __device__ block_work
block_work_of(const token<E> &a, const split &s, int max_heads)
{
    block_work at;
    int rest = blockIdx.x / s.parts, G = a.H / a.K;
    at.part = blockIdx.x % s.parts;
    int tile = rest % s.tiles;
    rest /= s.tiles;
    at.g = rest % a.K, at.b = rest / a.K;
    at.head = at.g * G + tile * max_heads;
    at.heads = min(max_heads, G - tile * max_heads);
    int n = min(a.pos[at.b], a.S), share = (n + s.parts - 1) / s.parts;
    at.first = min(at.part * share, n);
    at.count = min(share, n - at.first);
    return at;
}

/* The queries of a block, HEADS at most, before rotation: a warp has the heads warp, warp
 * + 4, ..., a lane the channels lane, lane + 32, ... All loads are issued before the
 * first value is used: one by one, their latency would dominate the time of a short
 * part. */
template <int HEADS, typename E> struct queries {
    static constexpr int HEADS_PER_WARP = (HEADS + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    static constexpr int CHANNELS_PER_LANE = MAX_D / WARP;
    E x[HEADS_PER_WARP][CHANNELS_PER_LANE];      // a channel
    E other[HEADS_PER_WARP][CHANNELS_PER_LANE];  // the other one of its pair
    float c[CHANNELS_PER_LANE], s[CHANNELS_PER_LANE];

    __device__ void load(const token<E> &a, const block_work &at)
    {
        int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        int half = a.cis ? a.N / 2 : 0;
        const E *q = a.q + (size_t)at.b * a.ldq + (size_t)at.head * a.D;
        const float *angle = a.cis + (size_t)a.pos[at.b] * 2 * half;
#pragma unroll
        for (int u = 0; u < CHANNELS_PER_LANE; u++) {
            int d = lane + u * WARP, low = d < half, i = low ? d : d - half;
            bool pair = d < 2 * half;
#pragma unroll
            for (int m = 0; m < HEADS_PER_WARP; m++) {
                const E *qh = q + (warp + m * WARPS_PER_BLOCK) * a.D;
                bool valid = warp + m * WARPS_PER_BLOCK < at.heads && d < a.D;
                x[m][u] = valid ? qh[d] : (E)0.0f;
                other[m][u] = valid && pair ? qh[low ? d + half : d - half] : (E)0.0f;
            }
            c[u] = pair ? angle[2 * i] : 1.0f;
            s[u] = pair ? (low ? -angle[2 * i + 1] : angle[2 * i + 1]) : 0.0f;
        }
    }

    /* store(h, d, x) for every channel of the rotated queries, h from 0 */
    template <typename Store>
    __device__ void rotate(const token<E> &a, const block_work &at, Store store) const
    {
#pragma unroll
        for (int m = 0; m < HEADS_PER_WARP; m++)
#pragma unroll
            for (int u = 0; u < CHANNELS_PER_LANE; u++) {
                int h = threadIdx.x / WARP + m * WARPS_PER_BLOCK;
                int d = threadIdx.x % WARP + u * WARP;
                if (h < at.heads && d < a.D)
                    store(h, d, (float)x[m][u] * c[u] + (float)other[m][u] * s[u]);
            }
    }
};

/* Where query head h's sums of this part are, or with D = 1 its softmax. */
static __device__ size_t record(int b, int h, int H, int part, int parts, int D)
{
    return (((size_t)b * H + h) * parts + part) * D;
}

/* The token's own key and value, for a block that is alone: lane l of every warp has the
 * channels l, l + 32, ... */
template <typename E> struct own_token {
    static constexpr int CHANNELS_PER_LANE = MAX_D / WARP;
    E key[CHANNELS_PER_LANE], value[CHANNELS_PER_LANE];

    __device__ void load(const token<E> &a, const block_work &at)
    {
        size_t row = (size_t)at.b * a.ldkv + head_offset(a, at.g);
#pragma unroll
        for (int u = 0; u < CHANNELS_PER_LANE; u++) {
            int d = threadIdx.x % WARP + u * WARP, p = a.pos[at.b];
            /* rounded, as the ring will hold it */
            key[u] = (E)(d < a.D ? rotated(a.k + row, a.cis, p, d, a.N) : 0.0f);
            value[u] = d < a.D ? a.v[row + d] : (E)0.0f;
        }
    }

    /* One warp: the output of the block's query head h. q(d) is its scaled query, of and
     * sum(d) are the softmax and the sums of values of all slots. */
    template <typename Query, typename Sum>
    __device__ void
    finish(const token<E> &a, const block_work &at, int h, softmax of, Query q, Sum sum)
    {
        float self = 0.0f;
#pragma unroll
        for (int u = 0; u < CHANNELS_PER_LANE; u++) {
            int d = threadIdx.x % WARP + u * WARP;
            if (d < a.D) self += q(d) * (float)key[u];
        }
        self = warp_sum(self);
        float max = fmaxf(of.max, self), own = expf(self - max);
        float slots = expf(of.max - max), total = slots * of.sum + own;
        E *out = a.out + ((size_t)at.b * a.H + at.head + h) * a.D;
#pragma unroll
        for (int u = 0; u < CHANNELS_PER_LANE; u++) {
            int d = threadIdx.x % WARP + u * WARP;
            if (d < a.D) out[d] = (E)((slots * sum(d) + own * (float)value[u]) / total);
        }
    }

    /* One warp, once the block has read the ring: the slot of position p - S. */
    __device__ void store(const token<E> &a, const block_work &at) const
    {
        size_t slot = (size_t)at.b * a.S + a.pos[at.b] % a.S;
#pragma unroll
        for (int u = 0; u < CHANNELS_PER_LANE; u++) {
            int d = threadIdx.x % WARP + u * WARP;
            if (d >= a.D) continue;
            a.kcache[(slot * a.K + at.g) * a.D + d] = key[u];
            a.vcache[(slot * a.K + at.g) * a.D + d] = value[u];
        }
    }
};
// END SOLUTION
#endif
