/* 04_sample_one_block.cu - sample by one block per row, which reads all entries again for
 * each step: 8 bits of the last kept key at a time, then the draw.
 *
 * Right for every size, and all that a vocabulary of a few thousand needs. With 256,000
 * and few rows one multiprocessor of many does all the work, ten times over.
 *
 * Everything is a search for a largest number. An entry's key is a 64-bit integer whose
 * order is that of (z, lower index): no two are equal, so "the lowest index wins" needs
 * no further word, and what top_k and top_p keep is "all keys from `least` on".
 */
#include <math.h>

#include "kvcache.h"

typedef unsigned long long u64;

constexpr int WARP = 32;
constexpr int BLOCK = 512;

struct rules {
    float softcap, penalty, temperature, top_p;
    int top_k, V;
};

/* One row of the batch. */
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

/* The order of floats is that of their bits: upside down below 0, and -0 equals 0. */
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
template <bool add> static __device__ u64 over_block(u64 v)
{
    __shared__ u64 part[BLOCK / WARP];
    int warps = blockDim.x / WARP;
    for (int m = WARP / 2; m > 0; m >>= 1) {
        u64 other = __shfl_xor_sync(0xffffffffu, v, m);
        v = add ? v + other : max(v, other);
    }
    __syncthreads();  // nobody reads part any more
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = v;
    __syncthreads();  // every warp's part is there
    v = 0;
    for (int i = 0; i < warps; i++)
        v = add ? v + part[i] : max(v, part[i]);
    return v;
}

/* g = -log(-log1p(-u)), u = (number + 0.5) 2^-32. Near 1, 1 - u is made from the other
 * end of the integers: as a float u would be 1. */
static __device__ float gumbel(uint32_t number)
{
    bool low = number < 0x80000000u;
    float u = ((float)(low ? number : ~number) + 0.5f) * 0x1p-32f;
    return -logf(low ? -log1pf(-u) : -logf(u));
}

/* e^(z - most) as an integer with room for V of them: integers add up to the same sum in
 * every order, so that atomic additions cost no reproducibility. */
static __device__ u64 weight_of(float z, float most, float one)
{
    return (u64)(expf(z - most) * one);
}

enum amount { COUNT, WEIGHT };

/* The key from which on the largest keys of the row add up to `enough` (or all of them),
 * each counted as 1 or by its weight; keys below `floor` do not belong. The bits are
 * found from the top, 8 a pass: how much lies in each of 256 ranges, then in which the
 * sum is reached. A block works on it. */
template <amount HOW>
static __device__ u64
least_of(const rules &a, const row &r, u64 enough, u64 floor, float most, float one)
{
    constexpr int BITS = 8, BINS = 1 << BITS;
    __shared__ u64 sums[BINS];
    __shared__ unsigned counts[BINS];
    __shared__ u64 found, left;
    __shared__ bool last;
    u64 top = 0;  // the bits that are known
    for (int shift = 64 - BITS; shift >= 0; shift -= BITS) {
        for (int i = threadIdx.x; i < BINS; i += blockDim.x)
            sums[i] = 0, counts[i] = 0;
        __syncthreads();  // empty, and the last pass is read
        for (int i = threadIdx.x; i < a.V; i += blockDim.x) {
            float z = score(a, r, i);
            u64 key = key_of(z, i);
            if (key < floor) continue;
            if (shift + BITS < 64 && key >> (shift + BITS) != top) continue;
            int bin = (int)(key >> shift) & (BINS - 1);
            atomicAdd(&counts[bin], 1u);
            if (HOW == WEIGHT) atomicAdd(&sums[bin], weight_of(z, most, one));
        }
        __syncthreads();  // all are counted
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
        __syncthreads();  // found, left, last
        top = found, enough = left;
        if (last) return top << shift;
    }
    return top;
}

/* A block per row. */
static __global__ void __launch_bounds__(BLOCK) sample_kernel(
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
        float most = value_of(over_block<false>(best));
        float one = ldexpf(1.0f, 62 - (32 - __clz(a.V)));
        u64 sum = 0;
        for (int i = threadIdx.x; i < a.V; i += blockDim.x) {
            float z = score(a, r, i);
            if (key_of(z, i) >= least) sum += weight_of(z, most, one);
        }
        sum = over_block<true>(sum);
        least = least_of<WEIGHT>(
            a, r, (u64)ceil((double)a.top_p * (double)sum), least, most, one);
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
    best = over_block<false>(best);
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
    int threads = V < BLOCK ? (V + WARP - 1) / WARP * WARP : BLOCK;
    sample_kernel<<<B, threads, 0, stream>>>(token, seen, logits, seed, pos, ld, a);
    return wb_launched();
}
