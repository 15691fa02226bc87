// BEGIN SOLUTION 07.6 (about 220 lines)
/* sample_once.cuh - lab 07, part 07.6: a long row, read once by a cluster of blocks.
 *
 * Each block finds the few entries of its slice that top_k may keep, and hands them to the
 * first block. What takes time then are barriers, so a search has few steps.
 *
 * z grows with the logit, unless an entry has a repetition penalty. So logits are
 * compared, and z is computed only for what may be sampled.
 */
#ifndef SAMPLE_ONCE_CUH
#define SAMPLE_ONCE_CUH
#include "sample_search.cuh"
#include "sample_slice.cuh"

constexpr int OWN_SIZE = ONCE_THREADS;         // candidates that a block can list
constexpr int ALL_SIZE = 2 * ONCE_THREADS;     // and those of all blocks
constexpr int MAX_K = ALL_SIZE / ONCE_BLOCKS;  // of top_k, and candidates of a block then

/* Candidates, in shared memory */
template <int SIZE> struct candidates {
    u64 key[SIZE];   // 0: none
    unsigned count;  // if it exceeds SIZE, some are lost
    bool lost;
    float max_z;  // once the list has been shortened
};

/* The least and the largest upper half of a block's keys that are not 0; a thread has N.
 * The upper half is z, as an integer of the same order. */
struct bounds {
    unsigned low, high;
};
template <int N> static __device__ __forceinline__ bounds bounds_of(const u64 (&key)[N])
{
    constexpr int WARPS = ONCE_THREADS / WARP;
    __shared__ bounds of_warp[WARPS];
    int lane = threadIdx.x % WARP;
    bounds z = {~0u, 0};
    auto add = [&](unsigned low, unsigned high) {
        z.low = min(z.low, low), z.high = max(z.high, high);
    };
    auto add_lanes = [&] {
        for (int m = WARP / 2; m > 0; m >>= 1)
            add(__shfl_xor_sync(0xffffffffu, z.low, m),
                __shfl_xor_sync(0xffffffffu, z.high, m));
    };
#pragma unroll
    for (int u = 0; u < N; u++)
        if (key[u]) add((unsigned)(key[u] >> 32), (unsigned)(key[u] >> 32));
    add_lanes();
    if (lane == 0) of_warp[threadIdx.x / WARP] = z;
    __syncthreads();  // the bounds of all warps are visible to the block
    z = of_warp[lane % WARPS];
    add_lanes();
    return z;
}

/* A key that at least k of the block's keys reach, if possible not more than `most`; a
 * thread has N, z are their bounds. At least k reach low. Each step halves the range and
 * costs a barrier: from the bounds on, fewer are needed than from all 64 bits. */
template <int N>
static __device__ __forceinline__ u64
limit_of(const u64 (&key)[N], bounds z, int k, int most, u64 low)
{
    u64 high = ((u64)z.high << 32 | ~0u) + 1, middle = max((u64)z.low << 32, low + 1);
    while (high - low > 1) {  // fewer than k reach high
        int count = 0;
#pragma unroll
        for (int u = 0; u < N; u++)
            count += __syncthreads_count(key[u] >= middle);
        if (count < k)
            high = middle;
        else
            low = middle;
        if (count >= k && count <= most) break;
        middle = low + (high - low) / 2;
    }
    return low;
}

/* Leaves at most `most` candidates of a list, among them the k largest. All of them reach
 * the key that it returns; at least k keys reach low. */
template <int SIZE>
static __device__ __attribute__((noinline)) u64
shorten(candidates<SIZE> *list, int k, int most, u64 low)
{
    constexpr int KEYS_PER_THREAD = SIZE / ONCE_THREADS;
    u64 key[KEYS_PER_THREAD];
    int n = (int)min(list->count, (unsigned)SIZE);
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++) {
        int i = threadIdx.x + u * ONCE_THREADS;
        key[u] = i < n ? list->key[i] : 0;
    }
    bounds z = bounds_of(key);
    u64 least = limit_of(key, z, k, most, low);
    __syncthreads();  // every thread has its keys
    if (threadIdx.x == 0) {
        list->lost |= list->count > SIZE, list->count = 0;
        list->max_z = value_of((u64)z.high << 32);
    }
    __syncthreads();  // the list is empty
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++)
        if (key[u] >= least && key[u]) list->key[atomicAdd(&list->count, 1u)] = key[u];
    __syncthreads();  // the list is visible to the block
    return least;
}

/* Lists all entries of the slice that reach some logit, as at least top_k do. The first
 * step gives it: so many threads have an entry that does. It rises when the list grows. */
static __device__ __forceinline__ u64
find_candidates(candidates<OWN_SIZE> *own, const rules &a, const row &r, const slice &of)
{
    u64 least = 0;
    float lower = -INFINITY;
    for (int step = 0; step < of.steps; step++) {
        float x[VECS][4];
        bool full = false;
        of.load(x, a, r, step);
        if (step == 0) {
            if (threadIdx.x == 0) of.start_others(r);
            float max = -INFINITY;
#pragma unroll
            for (int v = 0; v < VECS; v++)
                max = fmaxf(max, max4(x[v]));
            u64 key[1] = {key_of(max, 0)};
            lower = value_of(
                limit_of(key, bounds_of(key), a.top_k, a.top_k + a.top_k / 4, 0));
            if (lower > of.saturated) lower = of.saturated;
            if (lower < -of.saturated) lower = -INFINITY;
        }
        unsigned some = 0;  // a bit per entry that reaches it, which NaN does not
#pragma unroll
        for (int i = 0; i < VECS * 4; i++)
            some |= (unsigned)(x[i / 4][i % 4] >= lower) << i;
        for (; some; some &= some - 1) {
            int bit = __ffs((int)some) - 1, v = bit / 4, c = bit % 4;
            u64 key = key_of(of.score_at(a, r, step, v, c), of.index(step, v) + c);
            if (key < least) continue;
            unsigned at = atomicAdd(&own->count, 1u);
            full |= at >= OWN_SIZE / 2;
            if (at < OWN_SIZE) own->key[at] = key;
        }
        if (__syncthreads_or(full)) least = shorten(own, a.top_k, MAX_K, least);
        if (threadIdx.x == 0) of.start_copy(r, step + STAGES);
    }
    return least;
}

/* One block: the key of the token, from at most one candidate per thread, which are all
 * that top_k keeps and a few more. A candidate's rank is the number of larger ones. */
static __device__ __forceinline__ u64 best_candidate(
    const rules &a, const row &r, const candidates<ALL_SIZE> &list, u64 *weights,
    float max_z)
{
    int i = threadIdx.x, n = (int)list.count, rank = 0;
    u64 key = i < n ? list.key[i] : 0, weight = 0, above = 0, needed = ~0ull;
    float one = one_of(a.V), z = value_of(key);
    if (key)  // most warps have none
#pragma unroll 4
        for (int j = 0; j < n; j++)
            rank += list.key[j] > key;
    bool kept = key && rank < a.top_k;
    if (a.top_p < 1.0f) {
        if (kept) weight = weight_of(z, max_z, one);
        weights[i] = weight;
        double open = ceil(a.top_p * (double)block_reduce<true>(weight));
        needed = open < 1.0 ? 1 : (u64)open;
        if (kept)
#pragma unroll 4
            for (int j = 0; j < n; j++)
                if (list.key[j] > key) above += weights[j];
    }
    u64 best = 0;
    if (kept && above < needed) {
        uint32_t number[4];
        int index = index_of(key);
        wb_random(number, r.seed, index / 4, r.pos, 0, 0);
        best = key_of(z + gumbel(number[index % 4]), index);
    }
    return block_reduce<false>(best);
}

/* One block: the token's key, if the candidates are not all that top_k may keep */
static __device__ __attribute__((noinline)) u64 sample_row(const rules &a, const row &r)
{
    items open = {NULL, NULL, a.V, 0, BINS, 0.0f};
    u64 high = 0, key;
    for (int i = threadIdx.x; i < a.V; i += ONCE_THREADS)
        if (open.at(a, r, i, &key)) high = max(high, key);
    open.max_z = value_of(block_reduce<false>(high));
    return best_kept(a, r, open, {}, true, 0);
}

/* top_k, with top_p or without */
static __global__ void __launch_bounds__(ONCE_THREADS, ONCE_PER_SM)
    top_k_kernel(batch x, rules a, int blocks)
{
    extern __shared__ __align__(128) float ring[];
    __shared__ uint64_t full[STAGES];
    __shared__ candidates<OWN_SIZE> own;
    __shared__ candidates<ALL_SIZE> all;  // in the first block: MAX_K of each block
    pdl_trigger();
    pdl_wait();
    int rank = blockIdx.x % blocks, b = blockIdx.x / blocks, tid = threadIdx.x;
    if (tid == 0) own.count = 0, all.count = ALL_SIZE, own.lost = all.lost = false;
    for (int i = tid; i < ALL_SIZE; i += ONCE_THREADS)
        all.key[i] = 0;
    row r = row_of(x, b, a.V);
    slice of = slice_of(a, r, blocks, rank, ring, full);
    of.start(r);  // has a barrier: the lists are empty
    if (blocks > 1) cluster_arrive();
    u64 least = find_candidates(&own, a, r, of);
    if (own.count > MAX_K) least = shorten(&own, a.top_k, MAX_K, least);
    if (blocks > 1) cluster_wait();  // the first block's list is empty
    candidates<ALL_SIZE> *to = cluster_map(&all, 0);
    if (tid < (int)own.count) to->key[rank * MAX_K + tid] = own.key[tid];
    if (tid == 0 && (own.lost || own.count == 0)) to->lost = true;  // 0: only NaN
    if (blocks > 1) cluster_sync();  // the first block has all candidates
    __syncthreads();                 // so has a block that is alone
    if (rank > 0) return;
    u64 best;
    if (all.lost) {
        best = sample_row(a, r);
    } else {
        shorten(&all, a.top_k, a.top_k + a.top_k / 2, least);
        best = best_candidate(a, r, all, own.key, all.max_z);
    }
    if (tid == 0) store_token(x, b, a.V, best);
}

#endif
// END SOLUTION
