/* cooperative_groups/reduce.h - reductions over a tile or a coalesced group. */
#ifndef WBCPU_COOPERATIVE_GROUPS_REDUCE_H
#define WBCPU_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups
{

template <class T> struct plus {
    T operator()(T a, T b) const
    {
        return a + b;
    }
};
template <class T> struct less {
    T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
template <class T> struct greater {
    T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};
template <class T> struct bit_and {
    T operator()(T a, T b) const
    {
        return a & b;
    }
};
template <class T> struct bit_or {
    T operator()(T a, T b) const
    {
        return a | b;
    }
};
template <class T> struct bit_xor {
    T operator()(T a, T b) const
    {
        return a ^ b;
    }
};

namespace wbcpu_reduce
{

/* A butterfly of shuffles (distance Size/2, ..., 2, 1), computed by one lane. */
template <unsigned Size, class T, class Op>
void butterfly(uint64_t pointer[32], unsigned lanes)
{
    unsigned first = (unsigned)__builtin_ctz(lanes) & ~(Size - 1);
    lane_value<T, Op> *lane[Size];
    __builtin_memcpy(lane, pointer + first, sizeof lane);
    lanes >>= first;
    for (unsigned distance = Size / 2; distance; distance /= 2) {
        T next[Size];
        for (unsigned i = 0; i < Size; i++) {
            if (!(lanes >> i & 1)) continue;  // has exited the kernel
            unsigned other = lanes >> (i ^ distance) & 1 ? i ^ distance : i;
            next[i] = (*lane[i]->op)(lane[i]->value, lane[other]->value);
        }
        for (unsigned i = 0; i < Size; i++)
            if (lanes >> i & 1) lane[i]->value = next[i];
    }
}

}  // namespace wbcpu_reduce

template <unsigned Size, class Parent, class T, class Op, std::enable_if_t<(Size <= 32), int> = 0>
WBCPU_INLINE T reduce(const thread_block_tile<Size, Parent> &tile, T value, const Op &op)
{
    wbcpu_reduce::lane_value<T, Op> mine = {value, &op};
    wbcpu_together butterfly = wbcpu_reduce::butterfly<Size, T, Op>;
    wbcpu_collective(
        WBCPU_OP_LOOP + __builtin_ctz(Size), tile.mask(), (uint64_t)(uintptr_t)&mine,
        (uint64_t)butterfly);
    return mine.value;
}

namespace wbcpu_reduce
{
template <unsigned Size, class T, class Op>
WBCPU_UNCHECKED void fold_all(lane_value<T, Op> **of)
{
    T sum = of[0]->value;
    for (unsigned i = 1; i < Size; i++)
        sum = (*of[0]->op)(sum, of[i]->value);
    for (unsigned i = 0; i < Size; i++)
        of[i]->value = sum;
}
}  // namespace wbcpu_reduce
template <unsigned Size, class Parent, class T, class Op, std::enable_if_t<(Size > 32), int> = 0>
WBCPU_INLINE T reduce(const thread_block_tile<Size, Parent> &tile, T value, const Op &op)
{
    wbcpu_reduce::lane_value<T, Op> mine = {value, &op};
    tile.wbcpu_together(&mine, wbcpu_reduce::fold_all<Size, T, Op>);
    return mine.value;
}

namespace wbcpu_reduce
{
/* From the lowest lane to the highest */
template <class T, class Op> void fold(uint64_t pointer[32], unsigned lanes)
{
    typedef lane_value<T, Op> lane;
    lane *first = (lane *)pointer[__builtin_ctz(lanes)];
    T sum = first->value;
    for (unsigned m = lanes & (lanes - 1); m; m &= m - 1)
        sum = (*first->op)(sum, ((lane *)pointer[__builtin_ctz(m)])->value);
    for (unsigned m = lanes; m; m &= m - 1)
        ((lane *)pointer[__builtin_ctz(m)])->value = sum;
}
}  // namespace wbcpu_reduce
template <class T, class Op>
WBCPU_INLINE T reduce(const coalesced_group &group, T value, const Op &op)
{
    wbcpu_reduce::lane_value<T, Op> mine = {value, &op};
    wbcpu_run_together(group.mask(), &mine, wbcpu_reduce::fold<T, Op>);
    return mine.value;
}

}  // namespace cooperative_groups
#endif
