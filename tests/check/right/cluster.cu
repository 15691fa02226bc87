// cluster.cu - correct: blocks of a cluster that share their memory.
#include "../cases.h"

#include "cuda/hopper.cuh"

#include <cooperative_groups.h>

enum { T = 64, CLUSTERS = 2 };

template <typename... P, typename... A>
static void in_clusters(void (*kernel)(P...), int blocks, A... args)
{
    launch_cluster(kernel, blocks, dim3(CLUSTERS * blocks), dim3(T), 0, 0, args...);
}

// Each block adds what all blocks of its cluster have.
__global__ void add_all(float *y, const float *x, int blocks)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t;
    float sum = 0;
    s[t] = x[i];
    cluster_sync();  // every block has written
    for (int r = 0; r < blocks; r++)
        sum += cluster_map(s, r)[t];
    cluster_sync();  // every block has read
    y[i] = sum;
}
static int sums_differ(int blocks)
{
    int n = CLUSTERS * blocks * T;
    float *y = zeros<float>(n);
    in_clusters(add_all, blocks, y, counting<float>(n), blocks);
    return differs(y, n, [=](int i) {
        int first = i / (blocks * T) * blocks;
        return (float)(blocks * (2 * first + blocks - 1) / 2 * T + blocks * (i % T));
    });
}
// Each column of the grid is a cluster: each block adds the values of all its blocks.
__global__ void __cluster_dims__(1, 4) add_column(float *y, const float *x)
{
    __shared__ float s[T];
    auto cluster = cooperative_groups::this_cluster();
    int t = threadIdx.x, i = (blockIdx.y * gridDim.x + blockIdx.x) * T + t;
    float sum = 0;
    s[t] = x[i];
    cluster.sync();  // every block has written
    for (unsigned r = 0; r < cluster.num_blocks(); r++)
        sum += cluster.map_shared_rank(s, r)[t];
    cluster.sync();  // every block has read
    y[i] = sum;
}
CASE(columns)
{
    const int columns = 3, n = columns * 4 * T;
    float *y = zeros<float>(n);
    add_column<<<dim3(columns, 4), T>>>(y, counting<float>(n));
    return differs(y, n, [=](int i) {
        int first = i % (columns * T); /* in the topmost block of the column */
        return (float)(4 * first + columns * T * (0 + 1 + 2 + 3));
    });
}
CASE(two_blocks)
{
    return sums_differ(2);
}
CASE(eight_blocks)
{
    return sums_differ(8);
}

// The barrier in two halves: the first says that the blocks run, and that x has been read.
__global__ void halves(float *y, const float *x)
{
    __shared__ float of_warp[2], of_block[2];
    int t = threadIdx.x, rank = cluster_rank();
    cluster_arrive();
    float v = x[blockIdx.x * T + t];
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (t % 32 == 0) of_warp[t / 32] = v;
    __syncthreads();  // the sums of the warps are visible
    cluster_wait();   // both blocks run
    if (t < 2) cluster_map(of_block, t)[rank] = of_warp[0] + of_warp[1];
    cluster_sync();  // both have written
    y[blockIdx.x * T + t] = of_block[0] + of_block[1];
}
CASE(halves)
{
    float *y = zeros<float>(4 * T);
    in_clusters(halves, 2, y, filled<float>(4 * T, [](int i) { return i / T; }));
    return differs(y, 4 * T, [](int i) { return (i / (2 * T) * 4 + 1) * T; });
}

// One warp reads the other block and then tells its own block: the barrier of the block
// passes on what the warp has learned.
__global__ void by_one_warp(float *y)
{
    __shared__ float s[T], theirs[T];
    int t = threadIdx.x;
    s[t] = (float)(blockIdx.x * T + t);
    cluster_arrive();
    if (t < 32) {
        cluster_wait();
        const float *from = cluster_map(s, cluster_rank() ^ 1);
        theirs[t] = from[t], theirs[t + 32] = from[t + 32];
    }
    __syncthreads();
    if (t >= 32) cluster_wait();
    y[blockIdx.x * T + t] = theirs[T - 1 - t] + cluster_map(s, cluster_rank() ^ 1)[t];
    cluster_sync();
}
CASE(by_one_warp)
{
    float *y = zeros<float>(4 * T);
    in_clusters(by_one_warp, 2, y);
    return differs(y, 4 * T, [](int i) { return 2 * ((i / T) ^ 1) * T + T - 1; });
}

// Blocks hand data over with mbarriers alone; the cluster barrier is for start and end.
__global__ void remote_arrivals(float *y)
{
    __shared__ float box[T];
    __shared__ uint64_t full, empty;
    int t = threadIdx.x, rank = cluster_rank(), other = rank ^ 1;
    float sum = 0;
    if (t == 0) {
        mbarrier_init(&full, T), mbarrier_init(&empty, T);
        mbarrier_fence_init();
    }
    cluster_sync();  // the barriers of both blocks are ready
    for (int i = 0; i < 3; i++) {
        mbarrier_wait(&empty, (i & 1) ^ 1);  // the other block has read my last value
        cluster_map(box, other)[t] = (float)(10 * i + rank);
        mbarrier_arrive_remote(&full, other);
        mbarrier_wait(&full, i & 1);
        sum += box[T - 1 - t];
        mbarrier_arrive_remote(&empty, other);
    }
    y[blockIdx.x * T + t] = sum;
    cluster_sync();  // no block ends while the other still arrives
}
CASE(remote_arrivals)
{
    float *y = zeros<float>(4 * T);
    in_clusters(remote_arrivals, 2, y);
    return differs(y, 4 * T, [](int i) { return 30 + 3 * (i / T % 2 ^ 1); });
}

// The same with st_async, which counts its own bytes; the boxes of two rounds take turns.
__global__ void sent(float *y)
{
    __shared__ float2 box[2][T];
    __shared__ uint64_t full[2];
    int t = threadIdx.x, rank = cluster_rank(), other = rank ^ 1;
    float sum = 0;
    if (t == 0) {
        mbarrier_init(&full[0], 1), mbarrier_init(&full[1], 1);
        mbarrier_fence_init();
    }
    cluster_sync();  // the barriers of both blocks are ready
    for (int i = 0; i < 5; i++) {
        int set = i & 1;
        st_async(&box[set][t], make_float2((float)i, (float)rank), &full[set], other);
        if (t == 0) mbarrier_expect(&full[set], sizeof box[set]);
        mbarrier_wait(&full[set], i >> 1 & 1);
        float2 theirs = box[set][T - 1 - t];
        sum += 10 * theirs.x + theirs.y;
        __syncthreads();  // every thread has read
    }
    y[blockIdx.x * T + t] = sum;
    cluster_sync();  // no block ends while the other still sends
}
CASE(sent)
{
    float *y = zeros<float>(4 * T);
    in_clusters(sent, 2, y);
    return differs(y, 4 * T, [](int i) { return 100 + 5 * (i / T % 2 ^ 1); });
}

// Device memory, too, is ordered by the cluster barrier.
__global__ void through_global(float *y, float *work)
{
    int i = blockIdx.x * T + threadIdx.x;
    work[i] = (float)i;
    cluster_sync();
    y[i] = work[i ^ T];
}
CASE(through_global)
{
    float *y = zeros<float>(4 * T);
    in_clusters(through_global, 2, y, unwritten<float>(4 * T));
    return differs(y, 4 * T, [](int i) { return i ^ T; });
}

// Sums in another block's memory, by atomics.
__global__ void atomics(unsigned *y)
{
    __shared__ unsigned count;
    if (threadIdx.x == 0) count = 0;
    cluster_sync();  // the counts are 0
    atomicAdd(cluster_map(&count, 0), threadIdx.x);
    cluster_sync();  // every block has added
    if (cluster_rank() == 0) y[blockIdx.x * T + threadIdx.x] = count;
}
CASE(atomics)
{
    unsigned *y = zeros<unsigned>(8 * T);
    in_clusters(atomics, 4, y);
    return differs(y, 8 * T, [](int i) {
        return i / T % 4 ? 0u : 4u * (unsigned)(T * (T - 1) / 2);
    });
}

// A ring of two tiles that one block loads for both; both say when they have read.
__global__ void
multicast_ring(float *y, const __grid_constant__ tensor_map map, int tiles)
{
    __shared__ __align__(1024) float tile[2][T];
    __shared__ uint64_t full[2], empty[2];
    int t = threadIdx.x, rank = cluster_rank();
    float sum = 0;
    if (t == 0) {
        for (int i = 0; i < 2; i++)
            mbarrier_init(&full[i], 1), mbarrier_init(&empty[i], 2);
        mbarrier_fence_init();
    }
    cluster_sync();
    for (int i = 0; i < tiles; i++) {
        int s = i % 2, parity = i / 2 & 1;
        if (t == 0) {
            mbarrier_expect(&full[s], sizeof tile[0]);
            if (rank == 0) {
                mbarrier_wait(&empty[s], parity ^ 1);
                tma_load_multicast(tile[s], &map, &full[s], 3, 0, i);
            }
        }
        mbarrier_wait(&full[s], parity);
        sum += tile[s][t];
        __syncthreads();  // every thread has read
        if (t == 0) mbarrier_arrive_remote(&empty[s], 0);
    }
    y[blockIdx.x * T + t] = sum;
    cluster_sync();
}
CASE(multicast_ring)
{
    enum { TILES = 5 };
    float *y = zeros<float>(4 * T);
    tensor_map map;
    if (!make_tensor_map(
            &map, counting<float>(TILES * T), {2, {T, TILES}, {1, T}, {T, 1}, 0}))
        return 3;
    in_clusters(multicast_ring, 2, y, map, (int)TILES);
    return differs(y, 4 * T, [](int i) { return TILES * (i % T) + 10 * T; });
}
