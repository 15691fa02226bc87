// BEGIN SOLUTION 07.6 (about 280 lines)
/* sample_once.cuh - lab 07, part 07.6: a long row, read once by a cluster of blocks.
 *
 * Each block finds the few entries of its slice that top_k may keep, and hands them to the
 * first block. Its slice arrives in a ring of shared memory, which is filled before the
 * first entry is compared and stays full while the block searches.
 *
 * z grows with the logit, unless an entry has a repetition penalty. So logits are
 * compared, and z is computed only for what may be sampled.
 */
#ifndef SAMPLE_ONCE_CUH
#define SAMPLE_ONCE_CUH
#include "cuda/hopper.cuh"
#include "cuda/pdl.cuh"
#include "sample_search.cuh"

constexpr int ONCE_THREADS = 512;
constexpr int ONCE_BLOCKS = 8;                 // of a cluster, at most
constexpr int VECS = 4;                        // of 4 logits, that a thread has of a step
constexpr int STEP = ONCE_THREADS * VECS * 4;  // logits of a block at a time
constexpr int STAGES = 3;                      // steps in shared memory
constexpr int OWN_SIZE = ONCE_THREADS;         // candidates that a block can list
constexpr int ALL_SIZE = 2 * ONCE_THREADS;     // and those of all blocks
constexpr int MAX_K = ALL_SIZE / ONCE_BLOCKS;  // of top_k, and candidates of a block then

/* A block's part of a row: entries first to end - 1. A thread has vector
 * threadIdx.x + v * ONCE_THREADS of a step. */
struct slice {
    int first, end, steps;
    bool aligned;     // 16-byte copies
    float *ring;      // (STAGES, STEP)
    uint64_t *full;   // (STAGES)
    float saturated;  // where tanh is 1: larger logits are equal

    __device__ int index(int step, int v) const
    {
        return first + step * STEP + (v * ONCE_THREADS + (int)threadIdx.x) * 4;
    }
    /* One thread */
    __device__ void start_copy(const row &r, int step) const
    {
        int at = first + step * STEP, bytes = min(end - at, STEP) / 4 * 16;
        if (step >= steps || !aligned) return;
        mbarrier_expect(&full[step % STAGES], bytes);
        if (bytes)
            tma_load_bytes(
                ring + step % STAGES * STEP, r.logits + at, bytes, &full[step % STAGES]);
    }
    __device__ void start(const row &r)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; i++)
                mbarrier_init(&full[i], 1);
            mbarrier_fence_init();
            for (int i = 0; i < STAGES; i++)
                start_copy(r, i);
        }
        __syncthreads();  // the barriers are visible to the block
    }
    /* A thread's entries of a step: logits, or z with repetition penalties. NaN past the end,
     * which is never a candidate */
    __device__ __forceinline__ void
    load(float (&x)[VECS][4], const rules &a, const row &r, int step) const
    {
        if (aligned) mbarrier_wait(&full[step % STAGES], step / STAGES & 1);
        const float *from = ring + step % STAGES * STEP + threadIdx.x * 4;
#pragma unroll
        for (int v = 0; v < VECS; v++) {
            int i = index(step, v);
            if (aligned && i + 4 <= end)
                *(float4 *)x[v] = *(const float4 *)(from + v * ONCE_THREADS * 4);
            else
#pragma unroll
                for (int c = 0; c < 4; c++)
                    x[v][c] = i + c < end ? r.logits[i + c] : NAN;
        }
        if (!r.seen) return;
#pragma unroll
        for (int v = 0; v < VECS; v++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                int i = index(step, v) + c;
                if (i < end) x[v][c] = score_of(a, x[v][c], r.seen[i]);
            }
    }
};

static __device__ slice
slice_of(const rules &a, const row &r, int blocks, int rank, float *ring, uint64_t *full)
{
    int length = ((a.V - 1) / blocks + 4) / 4 * 4, first = min(a.V, rank * length);
    int end = min(a.V, first + length);
    bool aligned = (uintptr_t)r.logits % sizeof(float4) == 0;
    float saturated = a.softcap > 0.0f && !r.seen ? 20.0f * a.softcap : INFINITY;
    return {first, end, (end - first + STEP - 1) / STEP, aligned, ring, full, saturated};
}

static __device__ float max4(const float (&x)[4])
{
    return fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
}

/* Candidates, in shared memory */
template <int SIZE> struct candidates {
    u64 key[SIZE];   // 0: none
    unsigned count;  // if it exceeds SIZE, some are lost
    bool lost;
};

/* A key that at least k of the block's keys reach, if possible not more than `most`; a
 * thread has N. At least k reach low, fewer reach high. */
template <int N>
static __device__ __forceinline__ u64
limit_of(const u64 (&key)[N], int k, int most, u64 low, u64 high)
{
    while (high - low > 1) {
        u64 middle = low + (high - low) / 2;
        int count = 0;
#pragma unroll
        for (int u = 0; u < N; u++)
            count += __syncthreads_count(key[u] >= middle);
        if (count < k)
            high = middle;
        else
            low = middle;
        if (count >= k && count <= most) break;
    }
    return low;
}

/* Leaves at most `most` candidates of a list, among them the k largest. All of them reach
 * the key that it returns; at least k keys reach low. */
template <int SIZE>
static __device__ __attribute__((noinline)) u64
shorten(candidates<SIZE> *list, int k, int most, u64 low, u64 high)
{
    constexpr int KEYS_PER_THREAD = SIZE / ONCE_THREADS;
    u64 key[KEYS_PER_THREAD];
    int n = (int)min(list->count, (unsigned)SIZE);
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++) {
        int i = threadIdx.x + u * ONCE_THREADS;
        key[u] = i < n ? list->key[i] : 0;
    }
    u64 least = limit_of(key, k, most, low, high);
    __syncthreads();  // every thread has its keys
    if (threadIdx.x == 0) list->lost |= list->count > SIZE, list->count = 0;
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
            float max = -INFINITY;
#pragma unroll
            for (int v = 0; v < VECS; v++)
                max = fmaxf(max, max4(x[v]));
            u64 key[1] = {key_of(max, 0)};
            lower = value_of(limit_of(key, a.top_k, a.top_k + a.top_k / 4, 0, ~0ull));
            if (lower > of.saturated) lower = of.saturated;
            if (lower < -of.saturated) lower = -INFINITY;
        }
        unsigned some = 0;  // a bit per entry that reaches it, which NaN does not
#pragma unroll
        for (int i = 0; i < VECS * 4; i++)
            some |= (unsigned)(x[i / 4][i % 4] >= lower) << i;
        for (; some; some &= some - 1) {
            int bit = __ffs((int)some) - 1, i = of.index(step, bit / 4) + bit % 4;
            u64 key = key_of(score(a, r, i), i);
            if (key < least) continue;
            unsigned at = atomicAdd(&own->count, 1u);
            full |= at >= OWN_SIZE / 2;
            if (at < OWN_SIZE) own->key[at] = key;
        }
        if (__syncthreads_or(full)) least = shorten(own, a.top_k, MAX_K, least, ~0ull);
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
#pragma unroll 8
    for (int j = 0; j < n; j++)
        rank += list.key[j] > key;
    bool kept = key && rank < a.top_k;
    if (a.top_p < 1.0f) {
        weights[i] = weight = kept ? weight_of(z, max_z, one) : 0;
        double open = ceil(a.top_p * (double)block_reduce<true>(weight));
        needed = open < 1.0 ? 1 : (u64)open;
#pragma unroll 8
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
static __global__ void __launch_bounds__(ONCE_THREADS)
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
    if (own.count > MAX_K) least = shorten(&own, a.top_k, MAX_K, least, ~0ull);
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
        u64 high = block_reduce<false>(max(all.key[tid], all.key[tid + ONCE_THREADS]));
        shorten(&all, a.top_k, a.top_k + a.top_k / 2, least, high + 1);
        best = best_candidate(a, r, all, own.key, value_of(high));
    }
    if (tid == 0) store_token(x, b, a.V, best);
}

/* Host. Blocks of a cluster: together they fill the GPU, each with a few steps at least.
 * 0: take the kernels of sample_parts.cuh. */
static int once_blocks(int B, int V)
{
    if (!code_is_sm90a()) return 0;
    int blocks = ONCE_BLOCKS, resident = 1024 / ONCE_THREADS;
    // clusters do not fill the groups of multiprocessors evenly
    while (blocks > 1 && ((long long)blocks * B > sm_count() * resident * 9 / 10 ||
                          V / blocks < 4 * ONCE_THREADS))
        blocks /= 2;
    return blocks;
}
#endif
// END SOLUTION
