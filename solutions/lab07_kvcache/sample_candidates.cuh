// BEGIN SOLUTION 07.6 (about 135 lines)
/* sample_candidates.cuh - lab 07, part 07.6: lists of the few entries of a row that top_k
 * may keep, for sample_once.cuh, and the search that shortens them. What takes time in it
 * are barriers, so it has few steps.
 */
#ifndef SAMPLE_CANDIDATES_CUH
#define SAMPLE_CANDIDATES_CUH
#include "sample_slice.cuh"

constexpr int OWN_SIZE = ONCE_THREADS;         // candidates that a block can list
constexpr int ALL_SIZE = 2 * ONCE_THREADS;     // and those of all blocks
constexpr int MAX_K = ALL_SIZE / ONCE_BLOCKS;  // of top_k, and candidates of a block then

/* Candidates, in shared memory */
template <int SIZE> struct candidates {
    u64 key[SIZE];   // 0: none
    unsigned count;  // if it exceeds SIZE, some are lost
    bool lost;
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

constexpr int CUTS = 3, MAX_STEPS = 40;  // of a search; each step leaves a quarter

/* How many keys of the block reach each of the cuts. The counts are in shared memory and
 * were 0. */
template <int N>
static __device__ __forceinline__ void
count_keys(unsigned *counts, const u64 (&key)[N], const u64 (&cut)[CUTS])
{
    int lane = threadIdx.x % WARP, own = 0;
#pragma unroll
    for (int c = 0; c < CUTS; c++) {
        int count = 0;
#pragma unroll
        for (int u = 0; u < N; u++)
            count += __popc(__ballot_sync(0xffffffffu, key[u] >= cut[c]));
        own = lane == c ? count : own;
    }
    if (lane < CUTS && own) atomicAdd(&counts[lane], (unsigned)own);
    __syncthreads();  // all warps have counted
}

/* A key that at least k of the block's keys reach, if possible not more than `most`; a
 * thread has N. At least k reach low. A step costs a barrier, and from the bounds of the
 * keys on fewer are needed than from all 64 bits. */
template <int N>
static __device__ __forceinline__ u64
limit_of(const u64 (&key)[N], int k, int most, u64 low)
{
    __shared__ unsigned counts[MAX_STEPS][CUTS];
    for (int i = threadIdx.x; i < MAX_STEPS * CUTS; i += ONCE_THREADS)
        counts[i / CUTS][i % CUTS] = 0;
    bounds z = bounds_of(key);  // has a barrier: the counts are 0
    u64 high = ((u64)z.high << 32 | ~0u) + 1, cut[CUTS];
    cut[0] = max((u64)z.low << 32, low + 1);
    cut[1] = cut[0] + (high - cut[0]) / 3, cut[2] = cut[1] + (high - cut[0]) / 3;
    for (int step = 0; high - low > 1; step++) {  // fewer than k reach high
        count_keys(counts[step], key, cut);
        int count = 0;  // of the keys that reach low, once a cut has raised it
#pragma unroll
        for (int c = 0; c < CUTS; c++) {
            int here = (int)counts[step][c];
            if (here >= k)
                low = cut[c], count = here;
            else
                high = min(high, cut[c]);
        }
        if (count > 0 && count <= most) break;
        u64 quarter = max((high - low) / 4, 1ull);
#pragma unroll
        for (int c = 0; c < CUTS; c++)
            cut[c] = min(low + quarter * (c + 1), high - 1);
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
    u64 least = limit_of(key, k, most, low);
    __syncthreads();  // every thread has its keys
    if (threadIdx.x == 0) list->lost |= list->count > SIZE, list->count = 0;
    __syncthreads();  // the list is empty
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++)
        if (key[u] >= least && key[u]) list->key[atomicAdd(&list->count, 1u)] = key[u];
    __syncthreads();  // the list is visible to the block
    return least;
}
#endif
// END SOLUTION
