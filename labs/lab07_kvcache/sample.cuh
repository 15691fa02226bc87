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

#endif
