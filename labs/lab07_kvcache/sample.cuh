/* sample.cuh - what the kernels of sample share: the arguments, keys and, in the
 * solution, z, noise and weights.
 *
 * Everything is a search for a largest number. An entry's key is a 64-bit integer whose
 * order is that of (z, lower index): no two are equal, so "the lowest index wins" needs
 * no further word, and what top_k and top_p keep is "all keys from some key on".
 */
#ifndef SAMPLE_CUH
#define SAMPLE_CUH
#include <math.h>

#include "kvcache.h"

typedef unsigned long long u64;

constexpr int WARP = 32;
constexpr int BLOCK = 512;  // threads of a row's last block

struct rules {
    float softcap, penalty, temperature, top_p;
    int top_k, V;
    float per_softcap, per_temperature;  // 1 / them; temperature 0: 1
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

/* One row of the batch. */
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

#endif
