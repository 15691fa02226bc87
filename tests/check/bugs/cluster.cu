// cluster.cu - blocks of a cluster that use each other's shared memory too early, too late
// or without a barrier.
#include "../cases.h"

#include "cuda/hopper.cuh"

#include <cooperative_groups.h>

enum { T = 64, BLOCKS = 2 };

template <typename... P, typename... A>
static void in_clusters(void (*kernel)(P...), A... args)
{
    launch_cluster(kernel, BLOCKS, dim3(2 * BLOCKS), dim3(T), 0, 0, args...);
}

// Each block reads the other one's values, and only its own threads wait.
__global__ void no_cluster_sync(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    cluster_sync();  // all blocks run
    s[t] = x[i];     // BUG no_cluster_sync race-shared
    __syncthreads();
    y[i] = *cluster_map(&s[t], other);  // BUG no_cluster_sync race-shared
    cluster_sync();
}
CASE(no_cluster_sync)
{
    in_clusters(no_cluster_sync, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// The same in clusters of two rows, written with cooperative groups
__global__ void __cluster_dims__(1, 2) no_group_sync(float *y, const float *x)
{
    __shared__ float s[T];
    auto cluster = cooperative_groups::this_cluster();
    int t = threadIdx.x, i = (blockIdx.y * gridDim.x + blockIdx.x) * T + t;
    cluster.sync();  // all blocks run
    s[t] = x[i];     // BUG no_group_sync race-shared
    __syncthreads();
    y[i] = *cluster.map_shared_rank(&s[t], cluster.block_rank() ^ 1);  // BUG no_group_sync race-shared
    cluster.sync();
}
CASE(no_group_sync)
{
    no_group_sync<<<dim3(2, 4), T>>>(zeros<float>(8 * T), counting<float>(8 * T));
    return 0;
}

// The first block ends while the second one still reads its values.
__global__ void early_exit(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    s[t] = x[i];
    cluster_sync();                                     // every block has written
    if (other == 0) y[i] = *cluster_map(&s[t], other);  // BUG early_exit cluster-exit
}
CASE(early_exit)
{
    in_clusters(early_exit, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// The same the other way round: the block that is read begins its end later.
__global__ void early_exit_of_second(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    s[t] = x[i];
    cluster_sync();  // every block has written
    if (other == 1)
        y[i] = *cluster_map(&s[t], other);  // BUG early_exit_of_second cluster-exit
}
CASE(early_exit_of_second)
{
    in_clusters(early_exit_of_second, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// The last thing that a block does is an arrival at the other one's barrier.
__global__ void late_arrival(float *y)
{
    __shared__ uint64_t done;
    int other = cluster_rank() ^ 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&done, 1);
        mbarrier_fence_init();
    }
    cluster_sync();  // the barriers are ready
    y[blockIdx.x * T + threadIdx.x] = 1;
    if (threadIdx.x == 0)
        mbarrier_arrive_remote(&done, other);  // BUG late_arrival cluster-exit
}
CASE(late_arrival)
{
    in_clusters(late_arrival, zeros<float>(4 * T));
    return 0;
}

// Nothing says that the other block has started when its sum is written.
__global__ void no_start(float *y)
{
    __shared__ float of_block[BLOCKS];
    int rank = cluster_rank();
    if (threadIdx.x < BLOCKS)
        cluster_map(of_block, threadIdx.x)[rank] = 1;  // BUG no_start cluster-start
    cluster_sync();
    y[blockIdx.x * T + threadIdx.x] = of_block[0] + of_block[1];
}
CASE(no_start)
{
    in_clusters(no_start, zeros<float>(4 * T));
    return 0;
}

// The barrier of the other block is used before it is known to be initialised.
__global__ void no_start_of_barrier(float *y)
{
    __shared__ uint64_t ready;
    int other = cluster_rank() ^ 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&ready, 1);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (threadIdx.x == 0)
        mbarrier_arrive_remote(&ready, other);  // BUG no_start_of_barrier cluster-start
    cluster_sync();
    y[blockIdx.x * T + threadIdx.x] = 1;
}
CASE(no_start_of_barrier)
{
    in_clusters(no_start_of_barrier, zeros<float>(4 * T));
    return 0;
}

// Only half of the values are written before the other block reads all.
__global__ void half_written(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    if (t < T / 2) s[t] = x[i];
    cluster_sync();
    y[i] = *cluster_map(&s[t], other);  // BUG half_written uninitialized-shared
    cluster_sync();
}
CASE(half_written)
{
    in_clusters(half_written, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// The next round overwrites what the other block may still read.
__global__ void one_sync_per_round(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    float sum = 0;
    for (int round = 0; round < 2; round++) {
        s[t] = x[i] + round;  // BUG one_sync_per_round race-shared
        cluster_sync();
        sum += *cluster_map(&s[t], other);  // BUG one_sync_per_round race-shared
    }
    y[i] = sum;
    cluster_sync();
}
CASE(one_sync_per_round)
{
    in_clusters(one_sync_per_round, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// The same with st_async: what has been received says that the other block has sent, not
// that it has read.
__global__ void one_box(float *y)
{
    __shared__ float2 box[T];
    __shared__ uint64_t full[2];
    int t = threadIdx.x, other = cluster_rank() ^ 1;
    float sum = 0;
    if (t == 0) {
        mbarrier_init(&full[0], 1), mbarrier_init(&full[1], 1);
        mbarrier_fence_init();
    }
    cluster_sync();  // the barriers are ready
    for (int round = 0; round < 2; round++) {
        // BUG one_box race-shared
        st_async(&box[t], make_float2(1, 2), &full[round], other);
        if (t == 0) mbarrier_expect(&full[round], sizeof box);
        mbarrier_wait(&full[round], 0);
        sum += box[t].x;  // BUG one_box race-shared
    }
    y[blockIdx.x * T + t] = sum;
    cluster_sync();
}
CASE(one_box)
{
    in_clusters(one_box, zeros<float>(4 * T));
    return 0;
}

// Between arrive and wait nothing orders the blocks.
__global__ void before_wait(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    cluster_sync();
    s[t] = x[i];  // BUG before_wait race-shared
    cluster_arrive();
    y[i] = *cluster_map(&s[t], other);  // BUG before_wait race-shared
    cluster_wait();
    cluster_sync();
}
CASE(before_wait)
{
    in_clusters(before_wait, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// Written after arrive, so the other block's wait does not cover it.
__global__ void after_arrive(float *y, const float *x)
{
    __shared__ float s[T];
    int t = threadIdx.x, i = blockIdx.x * T + t, other = cluster_rank() ^ 1;
    cluster_arrive();
    s[t] = x[i];  // BUG after_arrive race-shared
    cluster_wait();
    y[i] = *cluster_map(&s[t], other);  // BUG after_arrive race-shared
    cluster_sync();
}
CASE(after_arrive)
{
    in_clusters(after_arrive, zeros<float>(4 * T), counting<float>(4 * T));
    return 0;
}

// cluster_sync() orders the blocks of a cluster, not those of two clusters.
__global__ void other_cluster(float *y)
{
    int i = blockIdx.x * T + threadIdx.x;
    y[i] = 1;  // BUG other_cluster race-blocks
    cluster_sync();
    y[(i + BLOCKS * T) % (2 * BLOCKS * T)] += 1;  // BUG other_cluster race-blocks
}
CASE(other_cluster)
{
    in_clusters(other_cluster, zeros<float>(4 * T));
    return 0;
}

// A tile is multicast while the other block may still read the one before.
__global__ void multicast_no_empty(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) float tile[T];
    __shared__ uint64_t full;
    int t = threadIdx.x, rank = cluster_rank();
    float sum = 0;
    if (t == 0) {
        mbarrier_init(&full, 1);
        mbarrier_fence_init();
    }
    cluster_sync();
    for (int i = 0; i < 2; i++) {
        if (t == 0) {
            mbarrier_expect(&full, sizeof tile);
            // BUG multicast_no_empty async-copy
            if (rank == 0) tma_load_multicast(tile, &map, &full, 3, 0, i);
        }
        mbarrier_wait(&full, i);
        sum += tile[t];  // BUG multicast_no_empty race-shared
        __syncthreads();
    }
    y[blockIdx.x * T + t] = sum;
    cluster_sync();
}
CASE(multicast_no_empty)
{
    tensor_map map;
    if (!make_tensor_map(&map, counting<float>(2 * T), {2, {T, 2}, {1, T}, {T, 1}, 0}))
        return 3;
    in_clusters(multicast_no_empty, zeros<float>(4 * T), map);
    return 0;
}
