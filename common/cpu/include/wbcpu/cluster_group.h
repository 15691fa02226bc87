/* cluster_group.h - cooperative groups: the blocks of a cluster, which run at the same time
 * and may use each other's shared memory. A launch without clusters has clusters of one
 * block. */
#ifndef WBCPU_CLUSTER_GROUP_H
#define WBCPU_CLUSTER_GROUP_H

namespace cooperative_groups
{
struct cluster_group {
    struct arrival_token {};

    static arrival_token barrier_arrive()
    {
        wbcpu_cluster_arrive();
        return {};
    }
    static void barrier_wait()
    {
        wbcpu_cluster_wait();
    }
    static void barrier_wait(arrival_token &&)
    {
        barrier_wait();
    }
    static void sync()
    {
        barrier_arrive();
        barrier_wait();
    }

    /* The same variable in the shared memory of the block of this rank */
    template <class T> static T *map_shared_rank(T *p, int rank)
    {
        return (T *)wbcpu_cluster_map((void *)p, rank);
    }
    /* The rank of the block whose shared memory this is */
    static unsigned query_shared_rank(const void *p)
    {
        return wbcpu_cluster_rank_of(p);
    }

    static dim3 dim_blocks()
    {
        dim3 d;
        wbcpu_cluster_dims(&d);
        return d;
    }
    static unsigned num_blocks()
    {
        dim3 d = dim_blocks();
        return d.x * d.y * d.z;
    }
    static dim3 block_index()
    {
        dim3 d = dim_blocks();
        return dim3(blockIdx.x % d.x, blockIdx.y % d.y, blockIdx.z % d.z);
    }
    static unsigned block_rank()
    {
        return (unsigned)wbcpu_cluster_rank();
    }
    static dim3 dim_threads()
    {
        dim3 d = dim_blocks();
        return dim3(d.x * blockDim.x, d.y * blockDim.y, d.z * blockDim.z);
    }
    static unsigned num_threads()
    {
        return num_blocks() * thread_block::size();
    }
    static unsigned size()
    {
        return num_threads();
    }
    static dim3 thread_index()
    {
        dim3 b = block_index();
        return dim3(
            b.x * blockDim.x + threadIdx.x, b.y * blockDim.y + threadIdx.y,
            b.z * blockDim.z + threadIdx.z);
    }
    static unsigned thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
};
WBCPU_INLINE cluster_group this_cluster()
{
    return cluster_group();
}
}  // namespace cooperative_groups
#endif
