/* coalesced.h - cooperative groups of any lanes of a warp: coalesced_threads, partitions by
 * a label, thread_group (the block, or some lanes). Included by cooperative_groups.h. */
#ifndef WBCPU_COALESCED_H
#define WBCPU_COALESCED_H

#include "old_warp.h"

namespace cooperative_groups
{
/* The lane of rank `rank` in a mask; beyond the last one, the running lane. */
WBCPU_INLINE unsigned wbcpu_nth_lane(unsigned mask, unsigned rank)
{
    for (; mask; mask &= mask - 1)
        if (rank-- == 0) return (unsigned)__builtin_ctz(mask);
    return wbcpu_lane();
}

class coalesced_group
{
    unsigned lanes;

    /* The bits of a mask that belong to the group, side by side */
    unsigned packed(unsigned bits) const
    {
        unsigned r = 0, rank = 0;
        for (unsigned m = lanes; m; m &= m - 1, rank++)
            r |= (bits >> __builtin_ctz(m) & 1) << rank;
        return r;
    }
    template <class T> T from_rank(T value, unsigned rank) const
    {
        unsigned lane = wbcpu_nth_lane(lanes, rank);
        return wbcpu_words::each(
            value, [this, lane](auto v) { return __shfl_sync(lanes, v, (int)lane); });
    }

  public:
    explicit coalesced_group(unsigned mask) : lanes(mask) {}
    unsigned mask() const
    {
        return lanes;
    }
    unsigned size() const
    {
        return (unsigned)__builtin_popcount(lanes);
    }
    unsigned num_threads() const
    {
        return size();
    }
    unsigned thread_rank() const
    {
        return (unsigned)__builtin_popcount(lanes & ((1u << wbcpu_lane()) - 1));
    }
    unsigned meta_group_size() const
    {
        return 1;
    }
    unsigned meta_group_rank() const
    {
        return 0;
    }
    void sync() const
    {
        __syncwarp(lanes);
    }
    template <class T> T shfl(T value, unsigned rank) const
    {
        return from_rank(value, rank);
    }
    template <class T> T shfl_up(T value, unsigned delta) const
    {
        unsigned rank = thread_rank();
        return from_rank(value, rank < delta ? rank : rank - delta);
    }
    template <class T> T shfl_down(T value, unsigned delta) const
    {
        return from_rank(value, thread_rank() + delta);
    }
    int any(int predicate) const
    {
        return __any_sync(lanes, predicate);
    }
    int all(int predicate) const
    {
        return __all_sync(lanes, predicate);
    }
    unsigned ballot(int predicate) const
    {
        return packed(__ballot_sync(lanes, predicate));
    }
    template <class T> unsigned match_any(T value) const
    {
        return packed(__match_any_sync(lanes, value));
    }
};
WBCPU_INLINE coalesced_group coalesced_threads()
{
    return coalesced_group(wbcpu_active());
}

/* The lanes of the group with an equal label */
template <class Group, class Label>
WBCPU_INLINE coalesced_group labeled_partition(const Group &group, Label label)
{
    return coalesced_group(__match_any_sync(group.mask(), label));
}
template <class Group>
WBCPU_INLINE coalesced_group binary_partition(const Group &group, bool label)
{
    return labeled_partition(group, (int)label);
}

/* A function's parameter that accepts any of the groups of a block */
class thread_group
{
    unsigned lanes; /* 0: the whole block */

  public:
    thread_group(const thread_block &) : lanes(0) {}
    thread_group(const coalesced_group &g) : lanes(g.mask()) {}
    template <unsigned Size, class Parent>
    thread_group(const thread_block_tile<Size, Parent> &g) : lanes(g.mask())
    {
    }
    unsigned mask() const
    {
        return lanes;
    }
    void sync() const
    {
        if (lanes)
            __syncwarp(lanes);
        else
            __syncthreads();
    }
    unsigned size() const
    {
        return lanes ? coalesced_group(lanes).size() : thread_block::size();
    }
    unsigned num_threads() const
    {
        return size();
    }
    unsigned thread_rank() const
    {
        return lanes ? coalesced_group(lanes).thread_rank() : thread_block::thread_rank();
    }
    bool is_valid() const
    {
        return true;
    }
};
/* Of a size that is known at run time: at most 32 */
WBCPU_INLINE thread_group tiled_partition(const thread_group &parent, unsigned size)
{
    unsigned rank = parent.thread_rank() % 32 / size, mask = parent.mask(), lanes = 0,
             at = 0;
    if (!mask) mask = ~0u;
    for (; mask; mask &= mask - 1, at++)
        if (at / size == rank) lanes |= 1u << __builtin_ctz(mask);
    return coalesced_group(lanes);
}
WBCPU_INLINE thread_group tiled_partition(const thread_block &block, unsigned size)
{
    return tiled_partition(thread_group(block), size);
}
WBCPU_INLINE coalesced_group tiled_partition(const coalesced_group &g, unsigned size)
{
    return coalesced_group(tiled_partition(thread_group(g), size).mask());
}

template <class Group> WBCPU_INLINE void sync(const Group &group)
{
    group.sync();
}
template <class Group> WBCPU_INLINE unsigned long long group_size(const Group &group)
{
    return group.size();
}
template <class Group, class F> WBCPU_INLINE void invoke_one(const Group &group, F f)
{
    if (group.thread_rank() == 0) f();
}

namespace wbcpu_reduce
{
template <class T, class Op> struct lane_value {
    T value;
    const Op *op;
};
}  // namespace wbcpu_reduce
}  // namespace cooperative_groups
#endif
