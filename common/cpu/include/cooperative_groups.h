/* cooperative_groups.h - thread_block and tiles of 1, 2, 4, 8, 16 or 32 threads. */
#ifndef WBCPU_COOPERATIVE_GROUPS_H
#define WBCPU_COOPERATIVE_GROUPS_H

#include <assert.h> /* the toolkit's header includes these three */
#include <float.h>
#include <stdio.h>

#include "cuda_runtime.h"

namespace cooperative_groups
{

struct thread_block {
    static void sync()
    {
        __syncthreads();
    }
    static unsigned thread_rank()
    {
        return wbcpu_tid();
    }
    static unsigned size()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static unsigned num_threads()
    {
        return size();
    }
    static dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static dim3 group_dim()
    {
        return dim3(blockDim.x, blockDim.y, blockDim.z);
    }
    static dim3 dim_threads()
    {
        return group_dim();
    }
};

WBCPU_INLINE thread_block this_thread_block()
{
    return thread_block();
}

/* `Size` adjacent lanes of a warp. Its collectives wait only for its own lanes. */
template <unsigned Size, class Parent = void> struct thread_block_tile {
    static_assert(
        Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
        "tiled_partition: the CPU back end supports tiles of 1, 2, 4, 8, 16 and 32");

    thread_block_tile() = default;
    template <class Other> thread_block_tile(const thread_block_tile<Size, Other> &) {}

    static unsigned first_lane()
    {
        return wbcpu_lane() & ~(Size - 1);
    }
    static unsigned mask()
    {
        return (0xffffffffu >> (32 - Size)) << first_lane();
    }

    static void sync()
    {
        __syncwarp(mask());
    }
    static unsigned thread_rank()
    {
        return thread_block::thread_rank() & (Size - 1);
    }
    static constexpr unsigned size()
    {
        return Size;
    }
    static constexpr unsigned num_threads()
    {
        return Size;
    }
    static unsigned meta_group_rank()
    {
        return thread_block::thread_rank() / Size;
    }
    static unsigned meta_group_size()
    {
        return (thread_block::size() + Size - 1) / Size;
    }

    template <class T> static T shfl(T value, int source)
    {
        return __shfl_sync(mask(), value, source, Size);
    }
    template <class T> static T shfl_up(T value, unsigned delta)
    {
        return __shfl_up_sync(mask(), value, delta, Size);
    }
    template <class T> static T shfl_down(T value, unsigned delta)
    {
        return __shfl_down_sync(mask(), value, delta, Size);
    }
    template <class T> static T shfl_xor(T value, unsigned lanes)
    {
        return __shfl_xor_sync(mask(), value, (int)lanes, Size);
    }
    static int any(int predicate)
    {
        return __any_sync(mask(), predicate);
    }
    static int all(int predicate)
    {
        return __all_sync(mask(), predicate);
    }
    static unsigned ballot(int predicate)
    {
        return __ballot_sync(mask(), predicate) >> first_lane();
    }
    template <class T> static unsigned match_any(T value)
    {
        return __match_any_sync(mask(), value) >> first_lane();
    }
};

template <unsigned Size>
WBCPU_INLINE thread_block_tile<Size, thread_block> tiled_partition(const thread_block &)
{
    return thread_block_tile<Size, thread_block>();
}
template <unsigned Size, unsigned ParentSize, class Parent>
WBCPU_INLINE thread_block_tile<Size, thread_block_tile<ParentSize, Parent>>
tiled_partition(const thread_block_tile<ParentSize, Parent> &)
{
    static_assert(
        Size <= ParentSize, "tiled_partition: the tile is larger than its parent");
    return thread_block_tile<Size, thread_block_tile<ParentSize, Parent>>();
}

template <class Group> WBCPU_INLINE void sync(const Group &group)
{
    group.sync();
}

struct grid_group {
    template <class T = int> void sync() const
    {
        static_assert(
            sizeof(T) == 0, "grid-wide sync is not supported by the CPU back end: "
                            "blocks do not run at the same time");
    }
};
WBCPU_INLINE grid_group this_grid()
{
    return grid_group();
}

struct cluster_group {
    template <class T = int> void sync() const
    {
        static_assert(
            sizeof(T) == 0,
            "this_cluster() is not supported by the CPU back end: "
            "use launch_cluster and cluster_sync of cuda/cluster.cuh");
    }
};
WBCPU_INLINE cluster_group this_cluster()
{
    return cluster_group();
}

}  // namespace cooperative_groups
#endif
