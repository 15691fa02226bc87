/* sample.cu - lab 07, parts 07.5 and 07.6: the next token of each sequence. The contract
 * is kvcache.h.
 *
 * One block per row of logits finds the least key that top_k and top_p keep, then the
 * best of the kept entries with their noise.
 */
#include "sample.cuh"

/* TODO(07.5): three functions: z of entry i, about 6 lines; the largest of the keys of a
 * block's threads, returned to all of them, about 10 lines; the largest key of a row,
 * about 6 lines. */

/* 07.6 in three steps. The cases `draw`, then `draw_k`, then `draw_p` grade them one by
 * one. Until a step is written, its function keeps every entry. */

/* Step 1: g of entry i, as in kvcache.h. */
static __device__ float noise(const row &r, int i)
{
    // TODO(07.6, step 1): r_i is number i % 4 of wb_random(r.seed, i / 4, r.pos, 0, 0);
    // 1 - u comes from ~r_i, because u may round to 1. About 6 lines.
    return 0.0f;
}

/* Step 2: the least key that top_k keeps, the same in every thread of the block. */
static __device__ u64 lowest_of_top_k(const rules &a, const row &r)
{
    // TODO(07.6, step 2): 0 if a.top_k keeps all. Else build the key from its highest bit
    // down: set a bit if at least top_k keys of the row are then >= the key. Each thread
    // counts such keys among its entries and adds the count to a counter of the block.
    // With a counter per bit, all cleared before the loop, one barrier per bit is enough.
    // Stop when exactly top_k keys are >= the key. About 14 lines.
    return 0;
}

/* Step 3: the least key that top_p keeps of the keys from `low` on. */
static __device__ u64 lowest_of_top_p(const rules &a, const row &r, u64 low)
{
    // TODO(07.6, step 3): `low` if a.top_p is 1. Else search as in step 2, among the keys
    // from `low` on: add up their weights exp(z - max) instead of counting them, and
    // compare with top_p times the sum of all these weights instead of top_k. A sum of
    // floats depends on the order, so let the weights be integers: 2^40 exp(z - max).
    // About 18 lines.
    return low;
}

/* A block per row */
static __global__ void __launch_bounds__(THREADS) sample_kernel(batch x, rules a)
{
    int b = blockIdx.x;
    row r = row_of(x, b, a.V);
    u64 best = 0, low = lowest_of_top_p(a, r, lowest_of_top_k(a, r));
    // TODO(07.5): the best key of the row. 1 line.
    // TODO(07.6, step 1): if a.temperature > 0, the best of z + g among the entries
    // whose key, without the noise, is `low` or more. About 8 lines.
    if (threadIdx.x == 0) store_token(x, b, a.V, best);
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
    rules a = {softcap, penalty, temperature, top_p, top_k, V, 0.0f, 1.0f, 0};
    /* The reciprocal of a tiny value is infinite, and 0 * INFINITY is NaN. */
    if (softcap > 0.0f) a.per_softcap = fminf(1.0f / softcap, FLT_MAX);
    if (temperature > 0.0f) a.per_temperature = fminf(1.0f / temperature, FLT_MAX);
    batch x = {token, seen, logits, seed, pos, workspace, ld};
    if (temperature > 0.0f) return WB_TODO;  // TODO(07.6, step 1): delete this line
    (void)&a, (void)&x, (void)stream, (void)sample_kernel;
    return WB_TODO;  // TODO(07.5): launch sample_kernel, a block per row. 2 lines.
}
