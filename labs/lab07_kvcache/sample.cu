/* sample.cu - lab 07, parts 5 and 6: the next token of each row. The contract is kvcache.h.
 *
 * Everything is a search for a largest number. An entry's key is a 64-bit integer whose
 * order is that of (z, lower index): no two are equal, so "the lowest index wins" needs no
 * further word, and what top_k and top_p keep is "all keys from `least` on".
 */
#include <math.h>

#include "kvcache.h"

typedef unsigned long long u64;

constexpr int WARP = 32;
constexpr int BLOCK = 512;    // threads of a row's last block,
constexpr int LIST = 4096;    // and the entries whose keys it keeps at hand
constexpr int SINGLE = LIST;  // rows of so many are its alone; longer ones:
constexpr int PART = 2048;    // entries of a block,
constexpr int FEW = 256;      // and its threads
constexpr int BINS = 1024;    // distances from the highest z, 1/32 each

struct rules {
    float softcap, penalty, temperature, top_p;
    int top_k, V;
    float per_softcap, per_temperature;  // 1 / them; temperature 0: 1
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

/* TODO(07.5): z of entry i. About 6 lines. */

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

/* TODO(07.5): the largest key of a block. About 10 lines. */

/* TODO(07.6): the noise g of entry i, and what top_k and top_p keep. About 40 lines. */

/* A block per row. alone: there was no kernel before this one. */
static __global__ void __launch_bounds__(BLOCK)
    sample_kernel(batch x, rules a, bool filtered, bool alone)
{
    int b = blockIdx.x;
    row r = row_of(x, b, a.V);
    u64 best = 0;
    // TODO(07.6): which entries top_k and top_p keep. About 10 lines.
    // TODO(07.5): the best key of the row; TODO(07.6): with the noise added. 10 lines.
    if (threadIdx.x == 0) {
        x.token[b] = index_of(best);
        if (x.seen) x.seen[(size_t)b * a.V + index_of(best)] = 1;
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
    rules a = {softcap, penalty, temperature, top_p, top_k, V, 0.0f, 1.0f};
    if (softcap > 0.0f) a.per_softcap = 1.0f / softcap;
    if (temperature > 0.0f) a.per_temperature = 1.0f / temperature;
    batch x = {token, seen, logits, seed, pos, workspace, ld};
    if (temperature > 0.0f) return WB_TODO;  // TODO(07.6): take this line out
    (void)a, (void)x, (void)stream;
    return WB_TODO;  // TODO(07.5): launch sample_kernel, a block per row. 2 lines.
}
