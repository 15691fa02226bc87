/* sample.cuh - lab 07, parts 07.5 and 07.6: what the kernels of sample share: the
 * arguments, keys and, in the solution, z, noise and weights.
 *
 * Every step is a search for a largest number. The key of an entry is a 64-bit integer
 * whose order is that of (z, lower index). No two keys are equal, so "the lowest index
 * wins" needs no extra rule, and top_k and top_p keep "all keys from some key on".
 */
#ifndef SAMPLE_CUH
#define SAMPLE_CUH
#include <float.h>
#include <math.h>

#include "kvcache.h"

typedef unsigned long long u64;

constexpr int WARP = 32;
constexpr int THREADS = 512;  // of the block that samples a sequence's token
// BEGIN SOLUTION 07.6 (5 lines)
constexpr int LIST_SIZE = 4096;        // entries whose keys fit into its shared memory
constexpr int MAX_SINGLE = LIST_SIZE;  // up to here one block does all; for a longer row:
constexpr int PART = 2048;             // entries of a block at a time
constexpr int PART_THREADS = 256;      // of that block
constexpr int BINS = 1024;             // of distances from the highest z, 1/32 each
// END SOLUTION

/* What applies to every row */
struct rules {
    float softcap, penalty, temperature, top_p;
    int top_k, V;
    float per_softcap, per_temperature;  // reciprocals; temperature 0: 1
    int part;                            // entries of a block, where a row has several
};

/* The arguments, as in the header. */
struct batch {
    int *token;
    uint8_t *seen;
    const float *logits;
    const uint64_t *seed;
    const int *pos;
    void *workspace;
    int ld;
};

/* One row of logits */
struct row {
    const float *logits;
    const uint8_t *seen;  // NULL: no penalty
    u64 seed;
    uint32_t pos;
};

static __device__ row row_of(const batch &x, int b, int V)
{
    return {
        x.logits + (size_t)b * x.ld, x.seen ? x.seen + (size_t)b * V : NULL, x.seed[b],
        (uint32_t)x.pos[b]};
}

// BEGIN SOLUTION 07.5 (about 15 lines)
/* tanh with an absolute error of at most 2^-22. Near 0 the relative error is larger, but
 * the result is multiplied by softcap and compared with values of that size. */
static __device__ float tanh_of(float x)
{
    return 1.0f - __fdividef(2.0f, __expf(2.0f * x) + 1.0f);
}

static __device__ float capped(const rules &a, float z)
{
    return a.softcap * tanh_of(z * a.per_softcap);
}

static __device__ float penalized(const rules &a, float z)
{
    return z > 0.0f ? z / a.penalty : z * a.penalty;
}

static __device__ float score_of(const rules &a, float z, bool seen)
{
    if (a.softcap > 0.0f) z = capped(a, z);
    if (seen) z = penalized(a, z);
    return __fmul_rn(z, a.per_temperature);  // no FMA: the same z everywhere
}

static __device__ float score(const rules &a, const row &r, int i)
{
    return score_of(a, r.logits[i], r.seen && r.seen[i]);
}
// END SOLUTION

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

static __device__ void store_token(const batch &x, int b, int V, u64 best)
{
    x.token[b] = index_of(best);
    if (x.seen) x.seen[(size_t)b * V + index_of(best)] = 1;
}

// BEGIN SOLUTION 07.5 (about 15 lines)
/* The largest v of the block, or the sum if `add`, the same in every thread */
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
// END SOLUTION

// BEGIN SOLUTION 07.6 (about 30 lines)
/* g = -log(-log1p(-u)), u = (number + 0.5) 2^-32. For u near 1, 1 - u is computed from
 * ~number: as a float u would be 1. */
static __device__ float gumbel(uint32_t number)
{
    bool low = number < 0x80000000u;
    float u = ((float)(low ? number : ~number) + 0.5f) * 0x1p-32f;
    return -logf(low ? -log1pf(-u) : -logf(u));
}

/* MIN_NOISE < g < MAX_NOISE: an entry further than their distance below the highest z is
 * never sampled. Nor is one that would need more than MAX_NOISE to win, so its noise is
 * not computed. */
constexpr float MAX_NOISE = 22.9f, MIN_NOISE = -3.2f;

/* How far z is below the highest z: 0 for the highest itself, even if it is infinite.
 * inf - inf would be NaN, and no entry would be kept. Also 0 if z or max_z is NaN. */
static __device__ float below(float z, float max_z)
{
    return z < max_z ? max_z - z : 0.0f;
}

/* e^(z - max_z) as an integer, such that V of them do not overflow. Sums of integers do
 * not depend on the order, so atomic additions stay reproducible. */
static __device__ u64 weight_of(float z, float max_z, float one)
{
    return (u64)(expf(-below(z, max_z)) * one);
}

static __device__ float one_of(int V)
{
    return ldexpf(1.0f, 62 - (32 - __clz(V)));
}

static __device__ int bin_of(float z, float max_z)
{
    return (int)fminf(below(z, max_z) * 32.0f, BINS - 1.0f);
}
// END SOLUTION
#endif
