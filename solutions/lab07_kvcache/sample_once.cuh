// BEGIN SOLUTION 07.6 (about 260 lines)
/* sample_once.cuh - lab 07, part 07.6: a long row, read once by a cluster of blocks.
 *
 * Each block finds the best entry of its slice, or the few that top_k may keep, and hands
 * them to the first block.
 */
#ifndef SAMPLE_ONCE_CUH
#define SAMPLE_ONCE_CUH
#include <string.h>

#include "cuda/hopper.cuh"
#include "cuda/pdl.cuh"
#include "sample_search.cuh"

constexpr int ONCE_THREADS = 512;
constexpr int ONCE_BLOCKS = 8;  // of a cluster, at most
constexpr int VECS = 4;         // vectors of 4 logits that a thread has at a time
constexpr int OWN_SIZE = 2048;  // candidates that a block can list
constexpr int MAX_K = OWN_SIZE / ONCE_BLOCKS;  // of top_k: the blocks' lists fit into one
static_assert(ONCE_THREADS <= OWN_SIZE, "a candidate per thread");

/* A block's part of a row. Each warp has a contiguous range of it, so that the first step
 * of the block is a sample of the whole slice. */
struct slice {
    int first, end;  // first: of this lane
    int vecs;        // vectors of a lane, at most
    bool aligned;    // 16-byte loads

    __device__ int index(int u) const
    {
        return first + u * WARP * 4;
    }
    /* Vectors u to u + VECS - 1. NaN past the end, which is never a candidate */
    __device__ __forceinline__ void load(float (&z)[VECS * 4], const row &r, int u) const
    {
#pragma unroll
        for (int v = 0; v < VECS; v++) {
            int i = index(u + v);
            if (aligned && i + 4 <= end) {
                *(float4 *)&z[4 * v] = *(const float4 *)(r.logits + i);
            } else {
#pragma unroll
                for (int c = 0; c < 4; c++)
                    z[4 * v + c] = i + c < end ? r.logits[i + c] : NAN;
            }
        }
    }
    /* Logits become z. */
    __device__ __forceinline__ void
    scores(float (&z)[VECS * 4], const rules &a, const row &r, int u) const
    {
        if (a.softcap > 0.0f)
#pragma unroll
            for (int v = 0; v < VECS * 4; v++)
                z[v] = capped(a, z[v]);
        if (r.seen)
#pragma unroll
            for (int v = 0; v < VECS * 4; v++) {
                int i = index(u + v / 4) + v % 4;
                if (i < end && r.seen[i]) z[v] = penalized(a, z[v]);
            }
#pragma unroll
        for (int v = 0; v < VECS * 4; v++)
            z[v] = __fmul_rn(z[v], a.per_temperature);
    }
};

static __device__ slice slice_of(const rules &a, const row &r, int blocks, int rank)
{
    constexpr int UNIT = WARP * 4, WARPS = ONCE_THREADS / WARP;  // UNIT: a load of a warp
    int length = ((a.V - 1) / blocks + 4) / 4 * 4, start = min(a.V, rank * length);
    slice s;
    s.vecs = ((length - 1) / UNIT + WARPS) / WARPS;
    int begin = start + (int)threadIdx.x / WARP * s.vecs * UNIT;
    s.first = begin + threadIdx.x % WARP * 4;
    s.end = min(min(a.V, start + length), begin + s.vecs * UNIT);
    s.aligned = (uintptr_t)r.logits % sizeof(float4) == 0;
    return s;
}

/* The key of the largest of a thread's entries. 0: none; without a number above -inf, the
 * first entry's. */
struct largest {
    float z = -INFINITY;
    int i = -1;

    __device__ __forceinline__ void
    add(const float (&x)[VECS * 4], const slice &of, int u)
    {
#pragma unroll
        for (int v = 0; v < VECS * 4; v++)
            if (x[v] > z) z = x[v], i = of.index(u + v / 4) + v % 4;
    }
    __device__ u64 key(const slice &of) const
    {
        return i >= 0 ? key_of(z, i) : of.first < of.end ? key_of(z, of.first) : 0;
    }
};

/* Temperature 0 */
static __global__ void __launch_bounds__(ONCE_THREADS)
    argmax_kernel(batch x, rules a, int blocks)
{
    __shared__ u64 best_of[ONCE_BLOCKS];
    pdl_trigger();
    pdl_wait();
    if (blocks > 1) cluster_arrive();
    int rank = blockIdx.x % blocks, b = blockIdx.x / blocks;
    row r = row_of(x, b, a.V);
    slice of = slice_of(a, r, blocks, rank);
    float z[VECS * 4], next[VECS * 4];
    largest best;
    of.load(next, r, 0);
#pragma unroll 1
    for (int u = 0; u < of.vecs; u += VECS) {
        memcpy(z, next, sizeof z);
        of.load(next, r, u + VECS);
        of.scores(z, a, r, u);
        best.add(z, of, u);
    }
    u64 key = block_reduce<false>(best.key(of));
    if (blocks > 1) cluster_wait();  // all blocks of the cluster run
    if (threadIdx.x == 0) *cluster_map(&best_of[rank], 0) = key;
    if (blocks > 1) cluster_sync();  // the first block has all keys
    if (rank > 0 || threadIdx.x > 0) return;
    for (int i = 0; i < blocks; i++)
        key = max(key, best_of[i]);
    store_token(x, b, a.V, key);
}

/* The candidates of a block, in shared memory */
struct candidates {
    u64 key[OWN_SIZE];
    unsigned count;  // if it exceeds OWN_SIZE, some are lost
    bool lost;
};

/* Leaves the top_k largest, and returns the least of them. */
static __device__ __attribute__((noinline)) u64
keep_largest(candidates *own, const rules &a, const row &r)
{
    constexpr int KEYS_PER_THREAD = OWN_SIZE / ONCE_THREADS;
    items of = {NULL, own->key, (int)min(own->count, (unsigned)OWN_SIZE), 0, 0, 0.0f};
    u64 least = least_of<COUNT>(a, r, of, a.top_k, 1, 0.0f), key[KEYS_PER_THREAD];
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++) {
        int i = threadIdx.x + u * ONCE_THREADS;
        key[u] = i < of.n ? own->key[i] : 0;
    }
    __syncthreads();  // every thread has its keys
    if (threadIdx.x == 0) own->lost |= own->count > OWN_SIZE, own->count = 0;
    __syncthreads();  // the list is empty
#pragma unroll
    for (int u = 0; u < KEYS_PER_THREAD; u++)
        if (key[u] && key[u] >= least) own->key[atomicAdd(&own->count, 1u)] = key[u];
    __syncthreads();  // the list is visible to the block
    return least;
}

/* A key that at least top_k threads reach, each with one of its own; 0: fewer have any */
static __device__ __attribute__((noinline)) u64
first_limit(candidates *own, const rules &a, const row &r, u64 key)
{
    items of = {NULL, own->key, ONCE_THREADS, 0, 0, 0.0f};
    u64 least = 0;
    own->key[threadIdx.x] = key;
    if (__syncthreads_count(key != 0) >= a.top_k)
        least = least_of<COUNT>(a, r, of, a.top_k, 1, 0.0f);
    __syncthreads();  // every thread has read the keys
    return least;
}

/* Lists all entries of the slice from some key on, which at least top_k entries reach.
 * The key comes from the first step; it rises when the list grows. */
static __device__ __forceinline__ void
find_candidates(candidates *own, const rules &a, const row &r, const slice &of)
{
    float z[VECS * 4], next[VECS * 4];
    u64 least = 0;
    of.load(next, r, 0);
#pragma unroll 1
    for (int u = 0; u < of.vecs; u += VECS) {
        memcpy(z, next, sizeof z);
        of.load(next, r, u + VECS);
        of.scores(z, a, r, u);
        if (u == 0) {
            largest top;
            top.add(z, of, 0);
            least = first_limit(own, a, r, top.i >= 0 ? top.key(of) : 0);
        }
        float lower = least ? value_of(least) : -INFINITY;
        bool full = false;
#pragma unroll
        for (int v = 0; v < VECS * 4; v++) {
            if (!(z[v] >= lower)) continue;  // NaN too
            u64 key = key_of(z[v], of.index(u + v / 4) + v % 4);
            if (key < least) continue;
            unsigned at = atomicAdd(&own->count, 1u);
            full |= at >= MAX_K;
            if (at < OWN_SIZE) own->key[at] = key;
        }
        if (__syncthreads_or(full)) least = keep_largest(own, a, r);
    }
}

/* One block: the token's key. keys: all candidates; NULL: there were too many, so the row
 * is searched again. */
static __device__ __attribute__((noinline)) u64
best_of_row(const rules &a, const row &r, const u64 *keys, int n)
{
    items open = {NULL, keys, n, 0, BINS, 0.0f};
    u64 high = 0, key;
    for (int i = threadIdx.x; i < n; i += ONCE_THREADS)
        if (open.at(a, r, i, &key)) high = max(high, key);
    open.max_z = value_of(block_reduce<false>(high));
    return best_kept(a, r, open, {}, true, 0);
}

/* top_k, with top_p or without */
static __global__ void __launch_bounds__(ONCE_THREADS)
    top_k_kernel(batch x, rules a, int blocks)
{
    __shared__ candidates own;
    __shared__ u64 keys[OWN_SIZE];  // in the first block: the candidates of all blocks
    __shared__ unsigned count, offset;
    __shared__ bool lost;
    pdl_trigger();
    pdl_wait();
    int rank = blockIdx.x % blocks, b = blockIdx.x / blocks, tid = threadIdx.x;
    if (tid == 0) own.count = count = 0, own.lost = lost = false;
    __syncthreads();  // the counts are 0
    if (blocks > 1) cluster_arrive();
    row r = row_of(x, b, a.V);
    find_candidates(&own, a, r, slice_of(a, r, blocks, rank));
    if (blocks > 1) cluster_wait();  // all blocks of the cluster run, their counts were 0
    if (tid == 0) {
        offset = atomicAdd(cluster_map(&count, 0), own.count);
        if (own.lost) *cluster_map(&lost, 0) = true;
    }
    __syncthreads();  // offset is visible to the block
    u64 *to = cluster_map(keys, 0);
    for (int i = tid; i < (int)own.count; i += ONCE_THREADS)
        to[offset + i] = own.key[i];
    if (blocks > 1) cluster_sync();  // the first block has all candidates
    __syncthreads();                 // so has a block that is alone
    if (rank > 0) return;
    bool whole = lost || count == 0;  // 0: only NaN
    u64 best = best_of_row(a, r, whole ? NULL : keys, whole ? a.V : (int)count);
    if (tid == 0) store_token(x, b, a.V, best);
}

/* Host. Blocks of a cluster: together they fill the GPU, each with a few steps at least.
 * 0: take the kernels of sample_parts.cuh. */
static int once_blocks(int B, int V)
{
    if (!code_is_sm90a()) return 0;
    int blocks = ONCE_BLOCKS, resident = 1024 / ONCE_THREADS;
    while (blocks > 1 && ((long long)blocks * B > sm_count() * resident ||
                          V / blocks < 4 * ONCE_THREADS))
        blocks /= 2;
    return blocks;
}
#endif
// END SOLUTION
