/* sample.cu - lab 07, parts 07.5 and 07.6: the next token of each sequence. The contract
 * is kvcache.h.
 *
 * One block per row of logits finds the least key that top_k and top_p keep, bit by bit
 * from the top, then the best of the kept entries with their noise. A long row first goes
 * through the kernels of sample_parts.cuh, which leave only the few entries that are
 * still open.
 */
#include "sample.cuh"

// BEGIN SOLUTION 07.5 (about 25 lines)
//> /* TODO(07.5): z of entry i, about 6 lines; the largest key of a block, about 10. */
#include "sample_parts.cuh"
// END SOLUTION

// BEGIN SOLUTION 07.6 (about 70 lines in a first version)
//> /* TODO(07.6): the noise g of entry i, and what top_k and top_p keep. About 40
//>  * lines. */

/* The open entries: those of a list, or those of the row in bins low to high (BINS: all).
 * Each pass reads their keys again, so if they are few, the keys are in shared memory. */
struct items {
    const int *list;  // NULL: the whole row
    const u64 *keys;  // in shared memory; NULL: more than LIST_SIZE entries
    int n, low, high;
    float max_z;

    __device__ bool at(const rules &a, const row &r, int i, u64 *key) const
    {
        if (keys) return *key = keys[i], true;
        int index = list ? list[i] : i;
        float z = score(a, r, index);
        *key = key_of(z, index);
        int bin = list || high == BINS ? low : bin_of(z, max_z);
        return low <= bin && bin <= high;
    }
};

enum amount { COUNT, WEIGHT };

constexpr int BITS = 8, RANGES = 1 << BITS;

/* In shared memory: the sum of each range of keys, and the range where `enough` is
 * reached */
struct search {
    u64 sums[RANGES];
    unsigned counts[RANGES];
    int range;  // where `enough` is reached
    u64 left;   // what is missing of it at the start of the range
};

/* One warp: the range in which the highest ranges add up to `enough`. Lane 0 has the 8
 * highest, lane 31 the lowest. If `enough` is never reached, it is the last non-empty
 * range. */
template <amount HOW> static __device__ void find_range(search *s, u64 enough)
{
    constexpr int RANGES_PER_LANE = RANGES / WARP;
    int lane = threadIdx.x % WARP, highest = RANGES - 1 - lane * RANGES_PER_LANE;
    u64 own = 0, upto;
    for (int i = 0; i < RANGES_PER_LANE; i++)
        own += HOW == WEIGHT ? s->sums[highest - i] : s->counts[highest - i];
    upto = own;
    for (int m = 1; m < WARP; m <<= 1) {
        u64 other = __shfl_up_sync(0xffffffffu, upto, m);
        if (lane >= m) upto += other;
    }
    unsigned reached = __ballot_sync(0xffffffffu, upto >= enough);
    unsigned some = __ballot_sync(0xffffffffu, own > 0);
    int owner = reached ? __ffs(reached) - 1 : some ? 31 - __clz(some) : 0;
    if (lane != owner) return;
    u64 before = upto - own;
    int range = highest, lowest = highest - RANGES_PER_LANE + 1;
    while (lowest < highest && !s->counts[lowest])
        lowest++;
    for (; range > lowest; range--) {
        u64 here = HOW == WEIGHT ? s->sums[range] : s->counts[range];
        if (before + here >= enough) break;
        before += here;
    }
    s->left = before < enough ? enough - before : 0;
    s->range = range;
}

/* The key from which on the largest keys add up to `enough` (or all of them), each
 * counted as 1 or by its weight; keys below `lower` are ignored. The bits are found from
 * the top, 8 a pass, starting below those that all keys share: the sum of each of 256
 * ranges, then the range in which `enough` is reached. */
template <amount HOW>
static __device__ u64
least_of(const rules &a, const row &r, const items &of, u64 enough, u64 lower, float one)
{
    __shared__ search s;
    u64 key, high = 0, low = 0;  // the largest, and ~ the least
    for (int i = threadIdx.x; i < of.n; i += blockDim.x)
        if (of.at(a, r, i, &key) && key >= lower)
            high = max(high, key), low = max(low, ~key);
    high = block_reduce<false>(high), low = ~block_reduce<false>(low);
    if (high <= low) return high;         // one, or none
    int open = 64 - __clzll(high ^ low);  // bits not known yet
    u64 top = open < 64 ? high >> open : 0;
    for (;;) {
        int shift = max(open - BITS, 0), width = open - shift;
        for (int i = threadIdx.x; i < RANGES; i += blockDim.x)
            s.sums[i] = 0, s.counts[i] = 0;
        __syncthreads();  // empty, and the previous pass has been read
        for (int i = threadIdx.x; i < of.n; i += blockDim.x) {
            if (!of.at(a, r, i, &key) || key < lower) continue;
            if (open < 64 && key >> open != top) continue;
            int range = (int)(key >> shift) & ((1 << width) - 1);
            atomicAdd(&s.counts[range], 1u);
            if (HOW == WEIGHT)
                atomicAdd(&s.sums[range], weight_of(value_of(key), of.max_z, one));
        }
        __syncthreads();  // all keys are counted
        if (threadIdx.x < WARP) find_range<HOW>(&s, enough);
        __syncthreads();  // the range is visible to the block
        unsigned count = s.counts[s.range];
        top = top << width | (u64)s.range, enough = s.left, open = shift;
        if (open == 0 || count <= 1 || (HOW == COUNT && count <= enough))
            return top << open;
        __syncthreads();  // every thread has read s
    }
}

/* --- the last block of a row -------------------------------------------------------- */

/* The least key that top_k and top_p keep of the open entries */
static __device__ u64
least_kept(const rules &a, const row &r, const items &of, const cut &c)
{
    u64 least = 0, sum = 0;
    float one = one_of(a.V);
    if (a.top_k > 0 && a.top_k < a.V) {
        if ((unsigned)a.top_k <= c.count) return ~0ull;
        least = least_of<COUNT>(a, r, of, a.top_k - c.count, 0, one);
    }
    if (!(a.top_p < 1.0f)) return least;
    double all = c.all;
    if (all == 0.0) {  // otherwise the bins gave it
        for (int i = threadIdx.x; i < of.n; i += blockDim.x) {
            u64 key;
            if (of.at(a, r, i, &key) && key >= least)
                sum += weight_of(value_of(key), of.max_z, one);
        }
        all = c.weight + (double)block_reduce<true>(sum) / one;
    }
    double open = ceil((a.top_p * all - c.weight) * one);
    u64 needed = least_of<WEIGHT>(a, r, of, open < 1.0 ? 1 : (u64)open, least, one);
    // needed starts a range: it may be below the last key that top_k keeps
    return max(least, needed);
}
// END SOLUTION

/* A block per row. alone: no kernel ran before this one. */
static __global__ void __launch_bounds__(THREADS)
    sample_kernel(batch x, rules a, bool filtered, bool alone)
{
    int b = blockIdx.x;
    // BEGIN SOLUTION 07.5 (about 30 lines; 10 in a first version)
    //> row r = row_of(x, b, a.V);
    //> u64 best = 0;
    //> // TODO(07.6): which entries top_k and top_p keep. About 10 lines.
    //> // TODO(07.5): the best key of the row; TODO(07.6): with the noise. 10 lines.
    __shared__ u64 keys[LIST_SIZE];
    pdl_trigger();
    pdl_wait();
    row r = row_of(x, b, a.V);  // after pdl_wait: pos of this step
    u64 best = 0, least = 0;
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
    if (filtered && open.n > 0) least = least_kept(a, r, open, c);
    uint32_t number[4];
    for (int i = threadIdx.x; i < open.n; i += blockDim.x) {
        u64 key;
        if (!open.at(a, r, i, &key) || key < least) continue;
        int index = index_of(key);
        float z = value_of(key);
        if (a.temperature > 0.0f) {
            wb_random(number, r.seed, index / 4, r.pos, 0, 0);
            z += gumbel(number[index % 4]);
        }
        best = max(best, key_of(z, index));
    }
    best = block_reduce<false>(best);
    // END SOLUTION
    if (threadIdx.x == 0) {
        x.token[b] = index_of(best);
        if (x.seen) x.seen[(size_t)b * a.V + index_of(best)] = 1;
    }
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
    //> if (temperature > 0.0f) return WB_TODO;  // TODO(07.6): delete this line
    // END SOLUTION
    // BEGIN SOLUTION 07.5 (about 12 lines; 2 in a first version)
    //> (void)&a, (void)&x, (void)stream, (void)sample_kernel;
    //> return WB_TODO;  // TODO(07.5): launch sample_kernel, a block per row. 2 lines.
    bool filtered = temperature > 0.0f && ((top_k > 0 && top_k < V) || top_p < 1.0f);
    bool alone = V <= MAX_SINGLE;
    a.part = part_of(B, V);
    unsigned blocks = (unsigned)((size_t)B * parts_of(V, a.part));
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
