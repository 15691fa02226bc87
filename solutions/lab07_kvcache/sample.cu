/* sample.cu - lab 07, parts 07.5 and 07.6: the next token of each sequence. The contract
 * is kvcache.h.
 *
 * One block per row of logits finds the least key that top_k and top_p keep, then the
 * best of the kept entries with their noise.
 */
#include "sample.cuh"

// BEGIN SOLUTION 07.5 (about 25 lines)
//> /* 07.5 in three steps. The cases `best_warp`, `best` and `best_penalty` grade them one by
//>  * one. */
//>
//> /* Step 3: z of entry i. */
//> static __device__ float z_of(const rules &a, const row &r, int i)
//> {
//>     float z = r.logits[i];
//>     // TODO(07.5, step 3): the soft cap, then the repetition penalty. About 6 lines.
//>     // TODO(07.6, step 1): z times a.per_temperature, which is 1 at temperature 0. 1 line.
//>     return z;
//> }
//>
//> /* Steps 1 and 2: the largest of the keys of a block's threads, returned to all of them. */
//> static __device__ u64 largest(u64 key)
//> {
//>     // TODO(07.5, step 1): the largest key of the warp. About 3 lines.
//>     // TODO(07.5, step 2): each warp writes its largest key to shared memory, and every
//>     // thread takes the largest of them. A barrier after the writes, and one before them:
//>     // the function is called again. About 7 lines.
//>     return key;
//> }
//>
//> /* Step 1: the largest key of a row. */
//> static __device__ u64 largest_of_row(const rules &a, const row &r)
//> {
//>     u64 best = 0;
//>     // TODO(07.5, step 1): the largest key_of(z_of(a, r, i), i) of the thread's entries
//>     // i = threadIdx.x, threadIdx.x + THREADS, ... About 3 lines.
//>     return largest(best);
//> }
#include "sample_argmax.cuh"
#include "sample_once.cuh"
#include "sample_parts.cuh"  // kernels that reduce a long row to its few candidates
// END SOLUTION

// BEGIN SOLUTION 07.6 (about 70 lines in a first version)
//> /* 07.6 in three steps. The cases `draw`, then `draw_k`, then `draw_p` grade them one by
//>  * one. Until a step is written, its function keeps every entry. */
//>
//> /* Step 1: g of entry i, as in kvcache.h. */
//> static __device__ float noise(const row &r, int i)
//> {
//>     // TODO(07.6, step 1): r_i is number i % 4 of wb_random(r.seed, i / 4, r.pos, 0, 0);
//>     // 1 - u comes from ~r_i, because u may round to 1. About 6 lines.
//>     return 0.0f;
//> }
//>
//> /* What an entry adds in the search below: 1 for top_k, or its weight for top_p, where
//>  * max_z is the largest z of the row. */
//> static __device__ u64 amount(float z, const float *max_z)
//> {
//>     if (!max_z) return 1;
//>     // TODO(07.6, step 3): 2^40 exp(z - *max_z). A sum of floats would depend on the order;
//>     // one of integers does not. About 2 lines.
//>     return 0;
//> }
//>
//> /* Step 2: the largest key such that the row's keys from it on, but not below `low`, add
//>  * up to `target` or more. The same in every thread of the block. */
//> static __device__ u64
//> search(const rules &a, const row &r, u64 low, u64 target, const float *max_z)
//> {
//>     // TODO(07.6, step 2): build the key from its highest bit down: set a bit if the amounts
//>     // of all keys that are >= `low` and >= the key then add up to `target` or more. Each
//>     // thread adds up its own entries, and adds the sum to a counter of the block. With a
//>     // counter per bit, all cleared before the loop, one barrier per bit is enough. Stop
//>     // when the sum is exactly `target`. About 14 lines.
//>     return low;
//> }
//>
//> /* The least key that top_k keeps */
//> static __device__ u64 lowest_of_top_k(const rules &a, const row &r)
//> {
//>     if (a.top_k == 0 || a.top_k >= a.V) return 0;
//>     return search(a, r, 0, a.top_k, NULL);
//> }
//>
//> /* Step 3: the least key that top_p keeps of the keys from `low` on. */
//> static __device__ u64 lowest_of_top_p(const rules &a, const row &r, u64 low)
//> {
//>     if (a.top_p == 1.0f) return low;
//>     float max_z = value_of(largest_of_row(a, r));
//>     // TODO(07.6, step 3): the sum of the amounts of all keys from `low` on. The target of
//>     // the search is top_p times this sum, rounded up. About 9 lines.
//>     return low;
//> }
// END SOLUTION

// BEGIN SOLUTION 07.5 (1 line)
//> /* A block per row */
//> static __global__ void __launch_bounds__(THREADS) sample_kernel(batch x, rules a)
/* A block per row. alone: no kernel ran before this one. */
static __global__ void __launch_bounds__(THREADS)
    sample_kernel(batch x, rules a, bool filtered, bool alone)
// END SOLUTION
{
    int b = blockIdx.x;
    // BEGIN SOLUTION 07.5 (about 30 lines; 10 in a first version)
    //> row r = row_of(x, b, a.V);
    //> u64 best = 0, low = lowest_of_top_p(a, r, lowest_of_top_k(a, r));
    //> // TODO(07.5, step 1): the largest key of the row. 1 line.
    //> // TODO(07.6, step 1): if a.temperature > 0, the best of z + g among the entries
    //> // whose key, without the noise, is `low` or more. About 8 lines.
    __shared__ u64 keys[LIST_SIZE];
    pdl_trigger();
    pdl_wait();
    row r = row_of(x, b, a.V);  // after pdl_wait: pos of this step
    u64 best = 0;
    items open = {NULL, NULL, alone ? a.V : 0, 0, BINS, 0.0f};
    cut c = {};
    if (!alone) {
        scratch s = scratch_of(x.workspace, b, a.V);
        for (int i = threadIdx.x; i < parts_of(a.V, a.part); i += blockDim.x)
            best = max(best, s.best[i]);
        if (filtered) {
            c = *s.known;
            open.low = c.low, open.high = c.high;
            open.n = c.listed <= LIST_SIZE ? (int)c.listed : a.V;
            if (c.listed <= LIST_SIZE) open.list = s.list;
            open.max_z = max_z_of(s.highest, parts_of(a.V, a.part));
        }
    }
    if (open.n <= LIST_SIZE) {
        u64 high = 0;
        for (int i = threadIdx.x; i < open.n; i += blockDim.x) {
            open.at(a, r, i, &keys[i]);
            high = max(high, keys[i]);
        }
        open.keys = keys;
        if (alone && filtered) open.max_z = value_of(block_reduce<false>(high));
        __syncthreads();  // all keys are visible to the block
    }
    best = best_kept(a, r, open, c, filtered, best);
    // END SOLUTION
    if (threadIdx.x == 0) store_token(x, b, a.V, best);
}

size_t sample_workspace_f32(int B, int V)
{
    // BEGIN SOLUTION 07.6 (1 line)
    //> (void)B, (void)V;
    //> return 0;
    return B < 1 || V <= MAX_SINGLE ? 0 : B * scratch_bytes(V);
    // END SOLUTION
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
    // BEGIN SOLUTION 07.6 (nothing)
    //> if (temperature > 0.0f) return WB_TODO;  // TODO(07.6, step 1): delete this line
    // END SOLUTION
    // BEGIN SOLUTION 07.5 (about 12 lines; 2 in a first version)
    //> (void)&a, (void)&x, (void)stream, (void)sample_kernel;
    //> return WB_TODO;  // TODO(07.5, step 1): launch sample_kernel, a block per row. 2 lines.
    bool filtered = temperature > 0.0f && ((top_k > 0 && top_k < V) || top_p < 1.0f);
    bool alone = V <= MAX_SINGLE;
    int once = !alone && filtered && top_k > 0 && top_k <= MAX_K ? once_blocks(B, V) : 0;
    if (once) {  // a Hopper GPU reads the row once
        unsigned grid = (unsigned)((size_t)B * once);
        launch_pdl_cluster(
            top_k_kernel, once, grid, ONCE_THREADS, RING_BYTES, stream, x, a, once);
        return wb_launched();
    }
    bool argmax = !alone && temperature == 0.0f;
    a.part = argmax ? ARGMAX_PART : part_of(B, V);
    unsigned blocks = (unsigned)((size_t)B * parts_of(V, a.part));
    if (argmax) {
        launch_pdl(argmax_kernel, blocks, PART_THREADS, 0, stream, x, a);
        launch_pdl(pick_kernel, B, WARP, 0, stream, x, a);
        return wb_launched();
    }
    if (!alone && filtered) {
        launch_pdl(highest_kernel, blocks, PART_THREADS, 0, stream, x, a);
        launch_pdl(bins_kernel, blocks, PART_THREADS, 0, stream, x, a);
    }
    if (!alone) launch_pdl(best_kernel, blocks, PART_THREADS, 0, stream, x, a, filtered);
    int threads = V < THREADS ? (V + WARP - 1) / WARP * WARP : THREADS;
    launch_pdl(sample_kernel, B, threads, 0, stream, x, a, filtered, alone);
    return wb_launched();
    // END SOLUTION
}
