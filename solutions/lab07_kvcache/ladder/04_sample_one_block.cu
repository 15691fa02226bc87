/* 04_sample_one_block.cu - sample with one block per sequence, which reads all entries
 * again for each step: 8 bits of the last kept key at a time, then the sample.
 *
 * It is right for every size, and enough for a vocabulary of a few thousand. With 256,000
 * entries and few sequences, one multiprocessor does all the work, ten times over.
 *
 * Every step is a search for a largest number. The key of an entry is a 64-bit integer
 * whose order is that of (z, lower index). No two keys are equal, so "the lowest index
 * wins" needs no extra rule, and top_k and top_p keep "all keys from `least` on".
 */
// fails: best_rows,draw_passes
#include <math.h>

#include "kvcache.h"

typedef unsigned long long u64;

constexpr int WARP = 32;
constexpr int THREADS = 512;  // of a block

struct rules {
    float softcap, penalty, temperature, top_p;
    int top_k, V;
};

/* One sequence of the batch */
struct row {
    const float *logits;
    const uint8_t *seen;  // NULL: no penalty
    u64 seed;
    uint32_t pos;
};

static __device__ float score(const rules &a, const row &r, int i)
{
    float z = r.logits[i];
    if (a.softcap > 0.0f) z = a.softcap * tanhf(z / a.softcap);
    if (r.seen && r.seen[i]) z = z > 0.0f ? z / a.penalty : z * a.penalty;
    return a.temperature > 0.0f ? z / a.temperature : z;
}

/* Floats have the order of their bits, reversed below 0; -0 equals 0. */
static __device__ u64 key_of(float z, int i)
{
    uint32_t bits = __float_as_uint(z == 0.0f ? 0.0f : z);
    bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    return (u64)bits << 32 | (0xffffffffu - (uint32_t)i);
}

static __device__ int index_of(u64 key)
{
    return (int)(0xffffffffu - (uint32_t)key);
}

static __device__ float value_of(u64 key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

/* Largest (or sum, if `add`) of v over the block, the same in every thread. */
template <bool add> static __device__ u64 block_reduce(u64 v)
{
    __shared__ u64 part[THREADS / WARP];
    int warps = blockDim.x / WARP;
    for (int m = WARP / 2; m > 0; m >>= 1) {
        u64 other = __shfl_xor_sync(0xffffffffu, v, m);
        v = add ? v + other : max(v, other);
    }
    __syncthreads();  // every thread has read part
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = v;
    __syncthreads();  // the parts of all warps are visible to the block
    v = 0;
    for (int i = 0; i < warps; i++)
        v = add ? v + part[i] : max(v, part[i]);
    return v;
}

/* g = -log(-log1p(-u)), u = (number + 0.5) 2^-32. For u near 1, 1 - u is computed from
 * ~number: as a float u would be 1. */
static __device__ float gumbel(uint32_t number)
{
    bool low = number < 0x80000000u;
    float u = ((float)(low ? number : ~number) + 0.5f) * 0x1p-32f;
    return -logf(low ? -log1pf(-u) : -logf(u));
}

/* e^(z - max_z) as an integer, such that V of them do not overflow. Sums of integers do
 * not depend on the order, so atomic additions stay reproducible. */
static __device__ u64 weight_of(float z, float max_z, float one)
{
    return (u64)(expf(z < max_z ? z - max_z : 0.0f) * one);  // inf - inf would be NaN
}

enum amount { COUNT, WEIGHT };

/* The key from which on the largest keys of the sequence add up to `enough` (or all of
 * them), each counted as 1 or by its weight; keys below `lower` are ignored. The bits are
 * found from the top, 8 a pass: the sum of each of 256 ranges, then the range in which
 * `enough` is reached. The whole block works on it. */
template <amount HOW>
static __device__ u64
least_of(const rules &a, const row &r, u64 enough, u64 lower, float max_z, float one)
{
    constexpr int BITS = 8, BINS = 1 << BITS;
    __shared__ u64 sums[BINS];
    __shared__ unsigned counts[BINS];
    __shared__ u64 found, left;
    __shared__ bool last;
    u64 top = 0;  // the bits known so far
    for (int shift = 64 - BITS; shift >= 0; shift -= BITS) {
        for (int i = threadIdx.x; i < BINS; i += blockDim.x)
            sums[i] = 0, counts[i] = 0;
        __syncthreads();  // empty, and the previous pass has been read
        for (int i = threadIdx.x; i < a.V; i += blockDim.x) {
            float z = score(a, r, i);
            u64 key = key_of(z, i);
            if (key < lower) continue;
            if (shift + BITS < 64 && key >> (shift + BITS) != top) continue;
            int bin = (int)(key >> shift) & (BINS - 1);
            atomicAdd(&counts[bin], 1u);
            if (HOW == WEIGHT) atomicAdd(&sums[bin], weight_of(z, max_z, one));
        }
        __syncthreads();  // all keys are counted
        if (threadIdx.x == 0) {
            int bin = BINS - 1, lowest = 0;
            u64 before = 0;
            while (lowest < BINS - 1 && !counts[lowest])
                lowest++;
            for (; bin > lowest; bin--) {
                u64 here = HOW == WEIGHT ? sums[bin] : counts[bin];
                if (before + here >= enough && counts[bin]) break;
                before += here;
            }
            found = top << BITS | (u64)bin;
            left = before < enough ? enough - before : 0;
            last = counts[bin] <= 1 || (HOW == COUNT && counts[bin] <= left);
        }
        __syncthreads();  // found, left and last are visible to the block
        top = found, enough = left;
        if (last) return top << shift;
    }
    return top;
}

/* A block per sequence */
static __global__ void __launch_bounds__(THREADS) sample_kernel(
    int *token, uint8_t *seen, const float *logits, const uint64_t *seed, const int *pos,
    int ld, rules a)
{
    int b = blockIdx.x;
    row r = {
        logits + (size_t)b * ld, seen ? seen + (size_t)b * a.V : NULL, seed[b],
        (uint32_t)pos[b]};
    u64 least = 0, best = 0;
    if (a.temperature > 0.0f && a.top_k > 0 && a.top_k < a.V)
        least = least_of<COUNT>(a, r, a.top_k, 0, 0.0f, 0.0f);
    if (a.temperature > 0.0f && a.top_p < 1.0f) {
        for (int i = threadIdx.x; i < a.V; i += blockDim.x)
            best = max(best, key_of(score(a, r, i), i));
        float max_z = value_of(block_reduce<false>(best));
        float one = ldexpf(1.0f, 62 - (32 - __clz(a.V)));
        u64 sum = 0;
        for (int i = threadIdx.x; i < a.V; i += blockDim.x) {
            float z = score(a, r, i);
            if (key_of(z, i) >= least) sum += weight_of(z, max_z, one);
        }
        sum = block_reduce<true>(sum);
        u64 needed = least_of<WEIGHT>(
            a, r, (u64)ceil((double)a.top_p * (double)sum), least, max_z, one);
        // needed starts a range: it may be below the last key that top_k keeps
        least = max(least, needed);
        best = 0;
    }
    uint32_t number[4];
    for (int i = threadIdx.x * 4; i < a.V; i += blockDim.x * 4) {
        if (a.temperature > 0.0f) wb_random(number, r.seed, i / 4, r.pos, 0, 0);
        for (int j = 0; j < 4 && i + j < a.V; j++) {
            float z = score(a, r, i + j);
            if (key_of(z, i + j) < least) continue;
            if (a.temperature > 0.0f) z += gumbel(number[j]);
            best = max(best, key_of(z, i + j));
        }
    }
    best = block_reduce<false>(best);
    if (threadIdx.x == 0) {
        token[b] = index_of(best);
        if (seen) seen[(size_t)b * a.V + index_of(best)] = 1;
    }
}

size_t sample_workspace_f32(int B, int V)
{
    (void)B, (void)V;
    return 0;
}

wb_status sample_f32(
    int *token, uint8_t *seen, const float *logits, const uint64_t *seed, const int *pos,
    int B, int V, int ld, float softcap, float penalty, float temperature, int top_k,
    float top_p, void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    if (B < 0 || V < 1 || ld < V || top_k < 0) return WB_BAD_SHAPE;
    if (!(softcap >= 0.0f) || !(penalty > 0.0f) || !(temperature >= 0.0f))
        return WB_BAD_SHAPE;
    if (!(top_p > 0.0f && top_p <= 1.0f)) return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!token || !logits || !seed || !pos) return WB_BAD_SHAPE;
    if (workspace_bytes < sample_workspace_f32(B, V)) return WB_NO_SPACE;
    (void)workspace;
    rules a = {softcap, penalty, temperature, top_p, top_k, V};
    int threads = V < THREADS ? (V + WARP - 1) / WARP * WARP : THREADS;
    sample_kernel<<<B, threads, 0, stream>>>(token, seen, logits, seed, pos, ld, a);
    return wb_launched();
}
