/* large_tiles.h - cooperative groups of 64, 128, 256 or 512 adjacent threads of a block.
 * They exchange values through block_tile_memory. Included by cooperative_groups.h. */
#ifndef WBCPU_LARGE_TILES_H
#define WBCPU_LARGE_TILES_H

#include "hopper.h"

namespace cooperative_groups
{
template <unsigned MaxThreads = 1024> struct block_tile_memory {
    void *wbcpu_mine[MaxThreads]; /* an object of each thread */
};
/* Keep this type: `auto block = this_thread_block(memory);` */
struct wbcpu_block_with_memory : thread_block {
    void **mine;
};
template <unsigned MaxThreads>
WBCPU_INLINE wbcpu_block_with_memory this_thread_block(block_tile_memory<MaxThreads> &memory)
{
    wbcpu_block_with_memory block;
    block.mine = memory.wbcpu_mine;
    return block;
}

template <unsigned Size> class wbcpu_large_tile : public wbcpu_tile_place<Size>
{
    using place = wbcpu_tile_place<Size>;
    void **mine;

  public:
    explicit wbcpu_large_tile(void **m) : mine(m + place::meta_group_rank() * Size) {}

    static void sync()
    {
        wbcpu_tile_barrier((int)place::meta_group_rank(), Size);
    }
    /* work(objects) by the thread of rank 0, once every thread has one; then all go on. */
    template <class T, class Work> void wbcpu_together(T *object, const Work &work) const
    {
        mine[place::thread_rank()] = object;
        sync();
        if (place::thread_rank() == 0) work((T **)mine);
        sync();
    }
    template <class T> T shfl(T value, unsigned source) const
    {
        wbcpu_together(&value, [=](T **of) { wbcpu_set_all(of, wbcpu_load_unchecked(of[source])); });
        return value;
    }
    bool any(int predicate) const
    {
        return wbcpu_count(predicate) > 0;
    }
    bool all(int predicate) const
    {
        return wbcpu_count(predicate) == (int)Size;
    }

  private:
    template <class T> WBCPU_UNCHECKED static void wbcpu_set_all(T **of, T value)
    {
        for (unsigned i = 0; i < Size; i++)
            *of[i] = value;
    }
    WBCPU_UNCHECKED static void wbcpu_add_up(int **of)
    {
        int sum = 0;
        for (unsigned i = 0; i < Size; i++)
            sum += *of[i];
        wbcpu_set_all(of, sum);
    }
    int wbcpu_count(int predicate) const
    {
        int count = predicate != 0;
        wbcpu_together(&count, wbcpu_add_up);
        return count;
    }
};
#define WBCPU_LARGE_TILE(size)                                                           \
    template <class Parent>                                                              \
    struct thread_block_tile<size, Parent> : wbcpu_large_tile<size> {                    \
        using wbcpu_large_tile<size>::wbcpu_large_tile;                                  \
    };
WBCPU_LARGE_TILE(64)
WBCPU_LARGE_TILE(128)
WBCPU_LARGE_TILE(256)
WBCPU_LARGE_TILE(512)
#undef WBCPU_LARGE_TILE

template <unsigned Size>
WBCPU_INLINE thread_block_tile<Size, thread_block>
tiled_partition(const wbcpu_block_with_memory &block)
{
    if constexpr (Size > 32)
        return thread_block_tile<Size, thread_block>(block.mine);
    else
        return thread_block_tile<Size, thread_block>();
}
}  // namespace cooperative_groups
#endif
