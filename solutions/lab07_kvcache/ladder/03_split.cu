/* 03_split.cu - the slots of a key head in parts, a block each, for all heads of its
 * group.
 *
 * The cache is read once, however many query heads there are, and a single sequence with
 * a long cache keeps the whole GPU busy. A block first computes all scores of its part,
 * then their softmax, then sums values: its maximum is final before the first value is
 * read. A second kernel adds the parts and the token itself, always in the same order.
 * Only then k and v go to their slot. What remains: with ten heads a group, 16-bit
 * numbers are converted and multiplied by ordinary instructions, and that takes longer
 * than reading them.
 */
// fails: decode_tensor
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

constexpr int WARP = 32;
constexpr int THREADS = 128;      // of a block
constexpr int MAX_SLOTS = 256;    // of a part: their scores fit into shared memory
constexpr int MIN_SLOTS = 64;     // fewer are not worth a block
constexpr int FILL_BLOCKS = 264;  // two for each multiprocessor of an H200
constexpr int MAX_D = 256;

/* How a call is split. The grid depends on the sizes alone. Which slots a part has
 * depends on pos, on the device, so a captured graph stays valid as pos grows. */
struct split {
    int tiles;  // of the query heads of a group
    int parts;  // of the slots of a key head
};

static split split_of(int B, int S, int H, int K, int heads)
{
    split s;
    s.tiles = (H / K + heads - 1) / heads;
    long long rows = (long long)B * K * s.tiles;
    int min_parts = (S - 1) / MAX_SLOTS + 1, max_parts = (S - 1) / MIN_SLOTS + 1;
    long long wanted = FILL_BLOCKS / rows + 1;
    s.parts = wanted < min_parts   ? min_parts
              : wanted > max_parts ? max_parts
                                   : (int)wanted;
    return s;
}

/* What a part of a head leaves for the second kernel, besides its sums of values */
struct softmax {
    float max, sum;  // the largest score; the sum of e^(score - max), 0: no slots
};

/* The first slot of part i: equal shares of the slots that hold a position */
static __device__ int first_of(int i, int parts, int n)
{
    return (int)((long long)n * i / parts);
}

/* Channel d of a head x rotated to position p: pair i is (x[i], x[i + N/2]). */
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
    int b, g, head, heads, first, count;
};

template <typename E>
static __device__ block_work
block_work_of(const token<E> &a, const split &s, int max_heads)
{
    block_work at;
    int part = blockIdx.x % s.parts, rest = blockIdx.x / s.parts, G = a.H / a.K;
    int tile = rest % s.tiles;
    rest /= s.tiles;
    at.g = rest % a.K, at.b = rest / a.K;
    at.head = at.g * G + tile * max_heads;
    at.heads = min(max_heads, G - tile * max_heads);
    int n = min(a.pos[at.b], a.S);
    at.first = first_of(part, s.parts, n);
    at.count = first_of(part + 1, s.parts, n) - at.first;
    return at;
}

/* Where query head h's sums of this part are, or with D = 1 its softmax. */
static __device__ size_t record(int b, int h, int H, int part, int parts, int D)
{
    return (((size_t)b * H + h) * parts + part) * D;
}

/* Four neighbours, as floats */
static __device__ float4 load4(const float *x)
{
    return *(const float4 *)x;
}

template <typename E> static __device__ float4 load4(const E *x)
{
    struct alignas(8) {
        E at[4];
    } v = *(decltype(v) *)x;
    return {(float)v.at[0], (float)v.at[1], (float)v.at[2], (float)v.at[3]};
}

/* HEADS query heads at a time. A thread per slot computes scores. A thread per four
 * channels sums values; if D/4 is less than THREADS, groups of them share the slots. */
template <typename E, int HEADS>
static __global__ void __launch_bounds__(THREADS)
    part_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    __shared__ __align__(16) float q[HEADS][MAX_D], p[HEADS][MAX_SLOTS];
    __shared__ __align__(16) float partial[THREADS * 4 * HEADS];
    block_work at = block_work_of(a, s, HEADS);
    int part = blockIdx.x % s.parts, tid = threadIdx.x, D = a.D;
    size_t row = (size_t)a.K * D;  // from slot to slot
    const E *keys = a.kcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;
    const E *values = a.vcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;

    for (int i = tid; i < HEADS * D; i += THREADS) {
        int h = min(i / D, at.heads - 1),
            d = i % D;  // past the last head: that one again
        const E *qh = a.q + (size_t)at.b * a.ldq + (size_t)(at.head + h) * D;
        q[i / D][d] = a.scale * rotated(qh, a.cis, a.pos[at.b], d, a.N);
    }
    __syncthreads();  // q is visible to the block

    for (int j = tid; j < at.count; j += THREADS) {
        const E *key = keys + j * row;
        float score[HEADS] = {};
#pragma unroll 4
        for (int d = 0; d < D / 4; d++) {
            float4 k = load4(key + 4 * d);
#pragma unroll
            for (int h = 0; h < HEADS; h++) {
                float4 x = ((const float4 *)q[h])[d];
                score[h] += x.x * k.x + x.y * k.y + x.z * k.z + x.w * k.w;
            }
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++)
            p[h][j] = score[h];
    }
    __syncthreads();  // all scores are visible to the block

    for (int h = tid / WARP; h < at.heads; h += THREADS / WARP) {
        float max = -INFINITY, sum = 0.0f;
        for (int j = tid % WARP; j < at.count; j += WARP)
            max = fmaxf(max, p[h][j]);
        max = warp_max(max);
        for (int j = tid % WARP; j < at.count; j += WARP)
            sum += p[h][j] = expf(p[h][j] - max);
        sum = warp_sum(sum);
        if (tid % WARP == 0)
            softmaxes[record(at.b, at.head + h, a.H, part, s.parts, 1)] = {max, sum};
    }
    __syncthreads();  // all p are visible to the block

    int vecs = D / 4, groups = THREADS / vecs, group = tid / vecs, d = tid % vecs;
    float4 y[HEADS] = {};
    if (group < groups) {
#pragma unroll 4
        for (int j = group; j < at.count; j += groups) {
            float4 v = load4(values + j * row + 4 * d);
#pragma unroll
            for (int h = 0; h < HEADS; h++) {
                float w = p[h][j];
                y[h].x += w * v.x, y[h].y += w * v.y, y[h].z += w * v.z,
                    y[h].w += w * v.w;
            }
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++)
            ((float4 *)partial)[(h * groups + group) * vecs + d] = y[h];
    }
    __syncthreads();  // the sums of all groups are visible to the block
    for (int i = tid; i < at.heads * D; i += THREADS) {
        int h = i / D;
        float sum = 0.0f;
        for (int k = 0; k < groups; k++)
            sum += partial[(h * groups + k) * D + i % D];
        sums[record(at.b, at.head + h, a.H, part, s.parts, D) + i % D] = sum;
    }
}

/* A block per query head, a thread per channel. A part with maximum m counts e^(m - max),
 * where max is the largest of all, including the token's own score. */
template <typename E>
static __global__ void __launch_bounds__(MAX_D)
    combine_kernel(token<E> a, int parts, const float *sums, const softmax *softmaxes)
{
    __shared__ float dots[MAX_D / WARP];
    int h = blockIdx.x % a.H, b = blockIdx.x / a.H, G = a.H / a.K, g = h / G;
    int d = threadIdx.x, D = a.D, p = a.pos[b];
    const E *kg = a.k + (size_t)b * a.ldkv + (size_t)g * D;
    const E *vg = a.v + (size_t)b * a.ldkv + (size_t)g * D;
    const E *qh = a.q + (size_t)b * a.ldq + (size_t)h * D;
    E key =
        (E)(d < D ? rotated(kg, a.cis, p, d, a.N) : 0.0f);  // as the ring will hold it
    float dot = d < D ? rotated(qh, a.cis, p, d, a.N) * (float)key : 0.0f;
    dot = warp_sum(dot);
    if (d % WARP == 0) dots[d / WARP] = dot;
    __syncthreads();  // the sums of all warps are visible to the block
    if (d >= D) return;
    float self = 0.0f;
    for (int i = 0; i < (D + WARP - 1) / WARP; i++)
        self += dots[i];
    self *= a.scale;

    size_t first = (size_t)blockIdx.x * parts;
    float max = self;
    for (int i = 0; i < parts; i++)
        if (softmaxes[first + i].sum > 0.0f) max = fmaxf(max, softmaxes[first + i].max);
    float sum = expf(self - max), y = sum * (float)vg[d];
    for (int i = 0; i < parts; i++) {
        softmax one = softmaxes[first + i];
        if (!(one.sum > 0.0f)) continue;  // a part without slots
        float weight = expf(one.max - max);
        sum += weight * one.sum;
        y += weight * sums[(first + i) * D + d];
    }
    a.out[(size_t)blockIdx.x * D + d] = (E)(y / sum);
    if (h % G == 0) {  // the slot of position p - S: every block has read it
        size_t slot = (((size_t)b * a.S + p % a.S) * a.K + g) * D + d;
        a.kcache[slot] = key;
        a.vcache[slot] = vg[d];
    }
}

/* In bytes: at least B * H * parts records of D sums; grows with every size. */
static size_t decode_workspace(int B, int S, int H, int, int D)
{
    size_t heads = (size_t)B * H, least = heads * ((S - 1) / MAX_SLOTS + 1);
    size_t upper = heads * ((S - 1) / MIN_SLOTS + 1);
    size_t wanted = (size_t)FILL_BLOCKS * H + heads;
    size_t records = wanted < upper ? wanted : upper;
    if (records < least) records = least;
    return records * (D * sizeof(float) + sizeof(softmax));
}

template <typename E>
static void decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, cudaStream_t stream)
{
    token<E> a = {
        out, kcache, vcache, q, k, v, cis, pos, B, S, H, K, D, N, ldq, ldkv, scale};
    split s = split_of(B, S, H, K, H == K ? 1 : 8);
    float *sums = (float *)workspace;
    softmax *softmaxes = (softmax *)(sums + (size_t)B * H * s.parts * D);
    unsigned blocks = (unsigned)((size_t)B * K * s.tiles * s.parts);
    auto kernel = H == K ? part_kernel<E, 1> : part_kernel<E, 8>;
    kernel<<<blocks, THREADS, 0, stream>>>(a, s, sums, softmaxes);
    int threads = (D + WARP - 1) / WARP * WARP;
    combine_kernel<<<B * H, threads, 0, stream>>>(a, s.parts, sums, softmaxes);
}

#include "contract.h"
