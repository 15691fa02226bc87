// BEGIN SOLUTION 07.6 (about 170 lines)
/* sample_search.cuh - lab 07, part 07.6: the least key that top_k and top_p keep of a row,
 * and the best entry from there on.
 */
#ifndef SAMPLE_SEARCH_CUH
#define SAMPLE_SEARCH_CUH
#include "sample.cuh"

/* What the bins say about a row before its last block runs. Entries in bins below `low`
 * are kept, those above `high` are not; the others are open. */
struct cut {
    int low, high;
    unsigned count, listed;  // entries kept; open entries
    double weight, all;      // of the kept ones; of all that top_k keeps (0: not known)
};

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
static __device__ search *search_memory(void)  // the same for counts and weights
{
    __shared__ search s;
    search *memory = &s;
    return memory;
}

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
    search &s = *search_memory();
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

/* One block: the best key, with noise, of the open entries that are kept, and of `best` */
static __device__ __forceinline__ u64 best_kept(
    const rules &a, const row &r, const items &open, const cut &c, bool filtered,
    u64 best)
{
    u64 least = 0;
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
    return block_reduce<false>(best);
}
#endif
// END SOLUTION
