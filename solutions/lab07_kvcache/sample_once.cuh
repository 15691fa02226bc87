// BEGIN SOLUTION 07.6 (about 155 lines)
/* sample_once.cuh - lab 07, part 07.6: a long row, read once by a cluster of blocks.
 *
 * Each block finds the few entries of its slice that top_k may keep, and hands them to the
 * first block, which sorts the last of them.
 *
 * z grows with the logit, unless an entry has a repetition penalty. So logits are
 * compared, and z is computed only for what may be sampled.
 */
#ifndef SAMPLE_ONCE_CUH
#define SAMPLE_ONCE_CUH
#include "sample_candidates.cuh"
#include "sample_search.cuh"

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
            lower = value_of(limit_of(key, a.top_k, a.top_k + a.top_k / 4, 0));
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

/* Sorts a list of at most top_k + top_k / 2 candidates; returns how many of them top_k
 * keeps. The rank of one is the number of larger ones, which eight lanes count. */
static __device__ __forceinline__ int
sort_candidates(u64 *sorted, const rules &a, const candidates<ALL_SIZE> &list)
{
    constexpr int LANES = 8;
    int n = (int)list.count, lane = threadIdx.x % LANES;
    for (int first = 0; first < n; first += ONCE_THREADS / LANES) {
        int i = first + threadIdx.x / LANES, rank = 0;
        u64 key = i < n ? list.key[i] : 0;
        for (int j = lane; j < n; j += LANES)
            rank += list.key[j] > key;
        for (int m = LANES / 2; m > 0; m >>= 1)
            rank += __shfl_xor_sync(0xffffffffu, rank, m);
        if (lane == 0 && i < n && rank < a.top_k) sorted[rank] = key;
    }
    __syncthreads();  // sorted is visible to the block
    return min(n, a.top_k);
}

/* One warp: the key of the token, from the sorted candidates */
static __device__ __forceinline__ u64
best_candidate(const rules &a, const row &r, const u64 *sorted, int kept)
{
    constexpr int PER_LANE = MAX_K / WARP;
    int lane = threadIdx.x;
    float one = one_of(a.V), max_z = value_of(sorted[0]);
    u64 above[PER_LANE] = {}, sum = 0, best = 0, needed = ~0ull;
    if (a.top_p < 1.0f) {
#pragma unroll
        for (int m = 0; m < PER_LANE; m++) {
            int i = m * WARP + lane;
            u64 weight = i < kept ? weight_of(value_of(sorted[i]), max_z, one) : 0;
            u64 upto = weight;
            for (int d = 1; d < WARP; d <<= 1) {
                u64 before = __shfl_up_sync(0xffffffffu, upto, d);
                if (lane >= d) upto += before;
            }
            above[m] = sum + upto - weight;
            sum += __shfl_sync(0xffffffffu, upto, WARP - 1);
        }
        double open = ceil(a.top_p * (double)sum);
        needed = open < 1.0 ? 1 : (u64)open;
    }
#pragma unroll
    for (int m = 0; m < PER_LANE; m++) {
        int i = m * WARP + lane;
        if (i >= kept || above[m] >= needed) continue;
        uint32_t number[4];
        int index = index_of(sorted[i]);
        wb_random(number, r.seed, index / 4, r.pos, 0, 0);
        float z = value_of(sorted[i]) + gumbel(number[index % 4]);
        best = max(best, key_of(z, index));
    }
    for (int m = WARP / 2; m > 0; m >>= 1)
        best = max(best, __shfl_xor_sync(0xffffffffu, best, m));
    return best;
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
        int kept = sort_candidates(own.key, a, all);
        if (tid >= WARP) return;
        best = best_candidate(a, r, own.key, kept);
    }
    if (tid == 0) store_token(x, b, a.V, best);
}

#endif
// END SOLUTION
