/* decode.cuh - what the kernels of attention_decode share: the arguments and, in the solution,
 * how a call is split, rotation, and where a block stands.
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

// BEGIN SOLUTION 07.3 (about 120 lines)
#include "early.cuh"

constexpr int WARP = 32;
constexpr int BLOCK = 128;  // threads
constexpr int MOST = 256;   // slots of a part: their scores fit into shared memory
constexpr int LEAST = 64;   // less is not worth a block
constexpr int BUSY = 264;   // blocks, two for each multiprocessor of an H200

constexpr int WIDEST = 256;  // D

/* How a call is split. The grid follows from the sizes; which slots a part has follows from
 * pos, on the device: a captured graph stays right as pos grows. */
struct split {
    int tiles;  // of the query heads of a group
    int parts;  // of the slots of a key head
    int slots;  // of a part, at most
};

static split split_of(int B, int S, int H, int K, int heads, int slots)
{
    split s;
    s.slots = slots;
    s.tiles = (H / K + heads - 1) / heads;
    long long rows = (long long)B * K * s.tiles;
    int fewest = (S - 1) / slots + 1, most = (S - 1) / LEAST + 1;
    long long wanted = rows < BUSY ? BUSY / rows : 1;  // more would begin a second round
    s.parts = wanted > most ? most : (int)wanted;
    if (s.parts < fewest) s.parts = fewest;
    return s;
}

/* What the parts of a head leave for the second kernel, after its sums (parts,D). */
struct softmax {
    float most, sum;  // the largest score, -inf: no slots; the sum of e^(score - most)
};

/* Channel d of a head x turned to position p: pair i is (x[i], x[i + N/2]). */
template <typename E>
static __device__ float turned(const E *x, const float *cis, int p, int d, int N)
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

/* Where a block stands: its part of the slots of key head g of row b, and query heads
 * head .. head + heads - 1. */
struct place {
    int b, g, head, heads, first, count;
};

template <typename E>
static __device__ place place_of(const token<E> &a, const split &s, int most_heads)
{
    place at;
    int part = blockIdx.x % s.parts, rest = blockIdx.x / s.parts, G = a.H / a.K;
    int tile = rest % s.tiles;
    rest /= s.tiles;
    at.g = rest % a.K, at.b = rest / a.K;
    at.head = at.g * G + tile * most_heads;
    at.heads = min(most_heads, G - tile * most_heads);
    int n = min(a.pos[at.b], a.S), share = (n + s.parts - 1) / s.parts;
    at.first = min(part * share, n);
    at.count = min(share, n - at.first);
    return at;
}

/* The queries of a block, HEADS at most, before they are turned: a warp has the heads warp,
 * warp + 4, ..., a lane the channels lane, lane + 32, ... All loads are under way before the
 * first is used: one at a time, their latency would be most of what a short part takes. */
template <int HEADS, typename E> struct queries {
    static constexpr int WARPS = BLOCK / WARP, MINE = (HEADS + WARPS - 1) / WARPS;
    static constexpr int EACH = WIDEST / WARP;
    E x[MINE][EACH], other[MINE][EACH];  // a channel and the other one of its pair
    float c[EACH], s[EACH];

    __device__ void load(const token<E> &a, const place &at)
    {
        int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        int half = a.cis ? a.N / 2 : 0;
        const E *q = a.q + (size_t)at.b * a.ldq + (size_t)at.head * a.D;
        const float *angle = a.cis + (size_t)a.pos[at.b] * 2 * half;
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int d = lane + u * WARP, low = d < half, i = low ? d : d - half;
            bool pair = d < 2 * half;
#pragma unroll
            for (int m = 0; m < MINE; m++) {
                const E *qh = q + (warp + m * WARPS) * a.D;
                bool there = warp + m * WARPS < at.heads && d < a.D;
                x[m][u] = there ? qh[d] : (E)0.0f;
                other[m][u] = there && pair ? qh[low ? d + half : d - half] : (E)0.0f;
            }
            c[u] = pair ? angle[2 * i] : 1.0f;
            s[u] = pair ? (low ? -angle[2 * i + 1] : angle[2 * i + 1]) : 0.0f;
        }
    }

    /* store(h, d, x) for every channel of the turned queries, h from 0 */
    template <typename Store>
    __device__ void turn(const token<E> &a, const place &at, Store store) const
    {
#pragma unroll
        for (int m = 0; m < MINE; m++)
#pragma unroll
            for (int u = 0; u < EACH; u++) {
                int h = threadIdx.x / WARP + m * WARPS, d = threadIdx.x % WARP + u * WARP;
                if (h < at.heads && d < a.D)
                    store(h, d, (float)x[m][u] * c[u] + (float)other[m][u] * s[u]);
            }
    }
};

/* Place of query head h's sums of this part, or with D = 1 of its softmax. */
static __device__ size_t record(int b, int h, int H, int part, int parts, int D)
{
    return (((size_t)b * H + h) * parts + part) * D;
}
// END SOLUTION
#endif
