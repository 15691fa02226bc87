/* cluster_walk.cuh - given: how blocks pass the state on in the scan on a Hopper GPU.
 *
 * A cluster of eight blocks walks through the time of one row and one tile of channels.
 * In each round the blocks take the next chunks, a chunk each:
 *
 *     round                 0              |              1              |    2
 *     chunk      0    1    2   ...    7    |    8    9   10   ...   15   |   16 ...
 *     rank       0    1    2   ...    7    |    0    1    2   ...    7   |    0 ...
 *
 * Every block sends the pair (A, H) of its chunk (lookback.cuh) to the shared memory of
 * all blocks of the cluster, its own included. Each block folds these pairs, always in the
 * same order, and so knows the state before its chunk and the state before the next round.
 * Unlike look-back, nothing passes through device memory, no workspace has to be cleared,
 * and no block waits for one outside its cluster.
 *
 * Two sets of pairs and mbarriers take turns. A block sends pairs of round r + 2 only
 * after it has those of round r + 1, and a block that sends those has read the pairs of
 * round r. So no pair is overwritten before it has been read.
 */
#ifndef CLUSTER_WALK_CUH
#define CLUSTER_WALK_CUH
#include "cuda/hopper.cuh"
#include "lookback.cuh"

constexpr int WALKERS = 8;  // blocks of a cluster

/* In the shared memory of each block */
template <int V> struct walk_pairs {
    float2 pair[2][WALKERS][V][WARP];  // of the block of each rank
    uint64_t received[2];              // counts their bytes
};

/* The walk of one block. Its threads share the work as for look-back: a warp takes some
 * steps, a lane V channels. */
template <int V> struct walk {
    walk_pairs<V> *shared;
    int chunks, tile, round;  // chunks of the row
    float state[V];           // before this round; 0 before the first
    float start;              // of channel threadIdx.y of the lane, before chunk 0
};

/* Host. false: take look-back, because a round or a tile would not be whole, rows are not
 * near (ld apart at most), there are few rounds or blocks, or this is no Hopper GPU. */
static inline bool walks(int B, int T, int C, int chunk, int tile, int ld)
{
    int round = WALKERS * chunk;
    return code_is_sm90a() && T >= 2 * round && T % round == 0 && C % tile == 0 &&
           ld <= NEAR_LD && 2 * (size_t)B * (C / tile) * WALKERS >= (size_t)sm_count();
}

template <int V, int WARPS, typename... P, typename... A>
static void
launch_walk(void (*kernel)(P...), int B, int C, int smem, cudaStream_t stream, A... args)
{
    int grid = B * (C / (WARP * V)) * WALKERS;
    launch_cluster(kernel, WALKERS, grid, dim3(WARP, WARPS), smem, stream, args...);
}

/* Fills link, and returns the first chunk of this block. start (B,C): the state before
 * chunk 0; NULL: 0. All threads call it. */
template <int V>
static __device__ __forceinline__ chunk_place
begin_walk(walk<V> &link, walk_pairs<V> *shared, int chunks, int C, const float *start)
{
    int tiles = C / (WARP * V), cluster = blockIdx.x / WALKERS;
    chunk_place at = {cluster_rank(), cluster / tiles, cluster % tiles};
    link.shared = shared, link.chunks = chunks, link.tile = WARP * V, link.round = 0;
#pragma unroll
    for (int v = 0; v < V; v++)
        link.state[v] = 0.0f;
    link.start = 0.0f;
    if (start && at.chunk == 0 && threadIdx.y < V)
        link.start =
            start[(size_t)at.b * C + at.tile * link.tile + threadIdx.x * V + threadIdx.y];
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        mbarrier_init(&shared->received[0], 1);
        mbarrier_init(&shared->received[1], 1);
        mbarrier_fence_init();
    }
    cluster_arrive();  // carry_in waits before it sends
    return at;
}

/* As for look-back: the state before the steps of this warp, from A and H of each warp's
 * steps. All threads call it once in each round. */
template <int V, int WARPS>
static __device__ __forceinline__ void carry_in(
    float state[V], const float A[V], const float H[V], walk<V> &link, chunk_place at,
    int order, const float *)
{
    __shared__ float2 part[WARPS][V][WARP];
    int lane = threadIdx.x, mine = threadIdx.y, rank = at.chunk % WALKERS;
    int set = link.round % 2, parity = link.round / 2 % 2;
    auto &pair = link.shared->pair[set];
    uint64_t *received = &link.shared->received[set];
#pragma unroll
    for (int v = 0; v < V; v++)
        part[order][v][lane] = make_float2(A[v], H[v]);
    if (link.round == 0) cluster_wait();  // all blocks run, and their mbarriers are ready
    __syncthreads();                      // every warp's pairs are in part
    if (mine < V) {
        float2 before = make_float2(1.0f, 0.0f);  // changes nothing
        if (at.chunk == 0) before = make_float2(0.0f, link.start);
        float2 all = join_warps<V, WARPS>(part, mine, before);
#pragma unroll
        for (int r = 0; r < WALKERS; r++)
            st_async(&pair[rank][mine][lane], all, received, r);
        if (mine == 0 && lane == 0) mbarrier_expect(received, sizeof pair);
    }
    __syncthreads();  // part[w] holds the warps before w
    mbarrier_wait(received, parity);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float h = link.state[v], before = h;
#pragma unroll 4
        for (int r = 0; r < WALKERS; r++) {
            if (r == rank) before = h;
            float2 p = pair[r][v][lane];
            h = p.x * h + p.y;
        }
        float2 p = part[order][v][lane];
        state[v] = p.x * before + p.y;
        link.state[v] = h;
    }
    link.round++;
}

/* No block ends while another may still send to it. */
static __device__ __forceinline__ void end_walk(void)
{
    cluster_sync();
}
#endif
