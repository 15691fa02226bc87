/* cooperative_groups.h - the grid, the block, tiles of 1, 2, 4, 8, 16 or 32 threads, larger
 * ones (wbcpu/large_tiles.h), groups of any lanes of a warp (wbcpu/coalesced.h), and the
 * cluster (wbcpu/cluster_group.h). */
#ifndef WBCPU_COOPERATIVE_GROUPS_H
#define WBCPU_COOPERATIVE_GROUPS_H

#include <assert.h> /* the toolkit's header includes these three */
#include <float.h>
#include <stdio.h>

#include "cuda_runtime.h"

namespace cooperative_groups
{
namespace wbcpu_words
{
/* shuffle(value), for large types word by word */
template <class T, class F> WBCPU_INLINE T each(T value, F shuffle)
{
    if constexpr (sizeof(T) <= 8) {
        return shuffle(value);
    } else {
        unsigned words[(sizeof(T) + 3) / 4];
        __builtin_memcpy(words, &value, sizeof value);
        for (unsigned &w : words)
            w = shuffle(w);
        __builtin_memcpy(&value, words, sizeof value);
        return value;
    }
}
}  // namespace wbcpu_words

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

/* Which `Size` adjacent threads of a block form a tile, a power of two */
template <unsigned Size> struct wbcpu_tile_place {
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
};

/* `Size` adjacent lanes of a warp. Its collectives wait only for its own lanes. */
template <unsigned Size, class Parent = void>
struct thread_block_tile : wbcpu_tile_place<Size> {
    static_assert(
        Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
        "tiled_partition: use 1, 2, 4, 8, 16 or 32 threads; for 64 to 512, partition "
        "`auto block = this_thread_block(memory)` with a __shared__ block_tile_memory");

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

    template <class T> static T shfl(T value, int source)
    {
        return wbcpu_words::each(
            value, [=](auto v) { return __shfl_sync(mask(), v, source, Size); });
    }
    template <class T> static T shfl_up(T value, unsigned delta)
    {
        return wbcpu_words::each(
            value, [=](auto v) { return __shfl_up_sync(mask(), v, delta, Size); });
    }
    template <class T> static T shfl_down(T value, unsigned delta)
    {
        return wbcpu_words::each(
            value, [=](auto v) { return __shfl_down_sync(mask(), v, delta, Size); });
    }
    template <class T> static T shfl_xor(T value, unsigned lanes)
    {
        return wbcpu_words::each(
            value, [=](auto v) { return __shfl_xor_sync(mask(), v, (int)lanes, Size); });
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

struct grid_group {
    static void sync()
    {
        wbcpu_grid_sync();
    }
    static bool is_valid()
    {
        return wbcpu_grid_is_valid();
    }
    static unsigned long long block_rank()
    {
        return blockIdx.x +
               (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static unsigned long long size()
    {
        return num_blocks() * thread_block::size();
    }
    static unsigned long long num_threads()
    {
        return size();
    }
    static dim3 group_dim()
    {
        return gridDim;
    }
    static dim3 dim_blocks()
    {
        return gridDim;
    }
    static dim3 block_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
};
WBCPU_INLINE grid_group this_grid()
{
    return grid_group();
}

}  // namespace cooperative_groups
#include "wbcpu/cluster_group.h"
#include "wbcpu/coalesced.h"
#include "wbcpu/large_tiles.h"
#endif
