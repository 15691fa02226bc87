/* 03_split.cu - the slots of a key head in parts, a block each, for all heads of its
 * group.
 *
 * A cache is read once, however many query heads it has, and a single row with a long one
 * keeps the whole machine busy. A block first has all scores of its part, then their
 * softmax, then sums values: its maximum is final before the first value is touched. A
 * second kernel adds up the parts and the token itself, always in the same order, and
 * only then k and v go to their slot. What is left: with ten heads a group, 16-bit
 * numbers are widened and multiplied by ordinary instructions, more than there is time
 * for.
 */
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
constexpr int BLOCK = 128;  // threads
constexpr int MOST = 256;   // slots of a part: their scores fit into shared memory
constexpr int LEAST = 64;   // less is not worth a block
constexpr int BUSY = 264;   // blocks, two for each multiprocessor of an H200

constexpr int WIDEST = 256;  // D

/* How a call is split. The grid follows from the sizes; which slots a part has follows
 * from pos, on the device: a captured graph stays right as pos grows. */
struct split {
    int tiles;  // of the query heads of a group
    int parts;  // of the slots of a key head
};

static split split_of(int B, int S, int H, int K, int heads)
{
    split s;
    s.tiles = (H / K + heads - 1) / heads;
    long long rows = (long long)B * K * s.tiles;
    int fewest = (S - 1) / MOST + 1, most = (S - 1) / LEAST + 1;
    long long wanted = BUSY / rows + 1;
    s.parts = wanted < fewest ? fewest : wanted > most ? most : (int)wanted;
    return s;
}

/* What the parts of a head leave for the second kernel, after its sums (parts,D). */
struct softmax {
    float most, sum;  // the largest score; the sum of e^(score - most), 0: no slots
};

/* Slots [first, last) of part i: a fair share of the slots that hold a position. */
static __device__ int first_of(int i, int parts, int n)
{
    return (int)((long long)n * i / parts);
}

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
    int n = min(a.pos[at.b], a.S);
    at.first = first_of(part, s.parts, n);
    at.count = first_of(part + 1, s.parts, n) - at.first;
    return at;
}

/* Place of query head h's sums of this part, or with D = 1 of its softmax. */
static __device__ size_t record(int b, int h, int H, int part, int parts, int D)
{
    return (((size_t)b * H + h) * parts + part) * D;
}

/* Four neighbours, as floats. */
static __device__ float4 four(const float *x)
{
    return *(const float4 *)x;
}

template <typename E> static __device__ float4 four(const E *x)
{
    struct alignas(8) {
        E at[4];
    } v = *(decltype(v) *)x;
    return {(float)v.at[0], (float)v.at[1], (float)v.at[2], (float)v.at[3]};
}

/* HEADS query heads at a time. A thread per slot has the scores, a thread per four
 * channels sums values; where D/4 threads are fewer than the block, groups of them share
 * the slots. */
template <typename E, int HEADS>
static __global__ void __launch_bounds__(BLOCK)
    part_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    __shared__ __align__(16) float q[HEADS][WIDEST], p[HEADS][MOST];
    __shared__ __align__(16) float partial[BLOCK * 4 * HEADS];
    place at = place_of(a, s, HEADS);
    int part = blockIdx.x % s.parts, tid = threadIdx.x, D = a.D;
    size_t row = (size_t)a.K * D;  // from slot to slot
    const E *keys = a.kcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;
    const E *values = a.vcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;

    for (int i = tid; i < HEADS * D; i += BLOCK) {
        int h = min(i / D, at.heads - 1), d = i % D;  // a tile that is not full: again
        const E *qh = a.q + (size_t)at.b * a.ldq + (size_t)(at.head + h) * D;
        q[i / D][d] = a.scale * turned(qh, a.cis, a.pos[at.b], d, a.N);
    }
    __syncthreads();  // q is there

    for (int j = tid; j < at.count; j += BLOCK) {
        const E *key = keys + j * row;
        float score[HEADS] = {};
#pragma unroll 4
        for (int d = 0; d < D / 4; d++) {
            float4 k = four(key + 4 * d);
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
    __syncthreads();  // all scores are there

    for (int h = tid / WARP; h < at.heads; h += BLOCK / WARP) {
        float most = -INFINITY, sum = 0.0f;
        for (int j = tid % WARP; j < at.count; j += WARP)
            most = fmaxf(most, p[h][j]);
        most = warp_max(most);
        for (int j = tid % WARP; j < at.count; j += WARP)
            sum += p[h][j] = expf(p[h][j] - most);
        sum = warp_sum(sum);
        if (tid % WARP == 0)
            softmaxes[record(at.b, at.head + h, a.H, part, s.parts, 1)] = {most, sum};
    }
    __syncthreads();  // all p are there

    int wide = D / 4, groups = BLOCK / wide, group = tid / wide, d = tid % wide;
    float4 y[HEADS] = {};
    if (group < groups) {
#pragma unroll 4
        for (int j = group; j < at.count; j += groups) {
            float4 v = four(values + j * row + 4 * d);
#pragma unroll
            for (int h = 0; h < HEADS; h++) {
                float w = p[h][j];
                y[h].x += w * v.x, y[h].y += w * v.y, y[h].z += w * v.z,
                    y[h].w += w * v.w;
            }
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++)
            ((float4 *)partial)[(h * groups + group) * wide + d] = y[h];
    }
    __syncthreads();  // every group's sums are there
    for (int i = tid; i < at.heads * D; i += BLOCK) {
        int h = i / D;
        float sum = 0.0f;
        for (int k = 0; k < groups; k++)
            sum += partial[(h * groups + k) * D + i % D];
        sums[record(at.b, at.head + h, a.H, part, s.parts, D) + i % D] = sum;
    }
}

/* A block per query head, a thread per channel. What a part with maximum m has counts
 * e^(m - most), where most is the largest of all, that of the token's own score too. */
template <typename E>
static __global__ void __launch_bounds__(WIDEST)
    combine_kernel(token<E> a, int parts, const float *sums, const softmax *softmaxes)
{
    __shared__ float dots[WIDEST / WARP];
    int h = blockIdx.x % a.H, b = blockIdx.x / a.H, G = a.H / a.K, g = h / G;
    int d = threadIdx.x, D = a.D, p = a.pos[b];
    const E *kg = a.k + (size_t)b * a.ldkv + (size_t)g * D;
    const E *vg = a.v + (size_t)b * a.ldkv + (size_t)g * D;
    const E *qh = a.q + (size_t)b * a.ldq + (size_t)h * D;
    E key = (E)(d < D ? turned(kg, a.cis, p, d, a.N) : 0.0f);  // as the ring will hold it
    float dot = d < D ? turned(qh, a.cis, p, d, a.N) * (float)key : 0.0f;
    dot = warp_sum(dot);
    if (d % WARP == 0) dots[d / WARP] = dot;
    __syncthreads();  // every warp's sum is there
    if (d >= D) return;
    float self = 0.0f;
    for (int i = 0; i < (D + WARP - 1) / WARP; i++)
        self += dots[i];
    self *= a.scale;

    size_t first = (size_t)blockIdx.x * parts;
    float most = self;
    for (int i = 0; i < parts; i++)
        if (softmaxes[first + i].sum > 0.0f)
            most = fmaxf(most, softmaxes[first + i].most);
    float sum = expf(self - most), y = sum * (float)vg[d];
    for (int i = 0; i < parts; i++) {
        softmax one = softmaxes[first + i];
        if (!(one.sum > 0.0f)) continue;  // had no slots
        float weight = expf(one.most - most);
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

/* In bytes: no less than B * H * parts records of D sums, and growing with every size. */
static size_t decode_workspace(int B, int S, int H, int, int D)
{
    size_t heads = (size_t)B * H, fewest = heads * ((S - 1) / MOST + 1);
    size_t most = heads * ((S - 1) / LEAST + 1), wanted = (size_t)BUSY * H + heads;
    size_t records = wanted < most ? wanted : most;
    if (records < fewest) records = fewest;
    return records * (D * sizeof(float) + sizeof(softmax));
}

template <typename E>
static void decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, cudaStream_t stream)
{
    token<E> a = {out, kcache, vcache, q, k, v,   cis,  pos,  B,
                  S,   H,      K,      D, N, ldq, ldkv, scale};
    split s = split_of(B, S, H, K, H == K ? 1 : 8);
    float *sums = (float *)workspace;
    softmax *softmaxes = (softmax *)(sums + (size_t)B * H * s.parts * D);
    unsigned blocks = (unsigned)((size_t)B * K * s.tiles * s.parts);
    auto kernel = H == K ? part_kernel<E, 1> : part_kernel<E, 8>;
    kernel<<<blocks, BLOCK, 0, stream>>>(a, s, sums, softmaxes);
    int threads = (D + WARP - 1) / WARP * WARP;
    combine_kernel<<<B * H, threads, 0, stream>>>(a, s.parts, sums, softmaxes);
}

#include "contract.h"
