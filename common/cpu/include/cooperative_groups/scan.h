/* cooperative_groups/scan.h - prefix sums over a tile or a coalesced group. */
#ifndef WBCPU_COOPERATIVE_GROUPS_SCAN_H
#define WBCPU_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

namespace cooperative_groups
{
namespace wbcpu_reduce
{
template <bool Inclusive, class T, class Op>
void prefixes(uint64_t pointer[32], unsigned lanes)
{
    typedef lane_value<T, Op> lane;
    T sum = T();
    bool first = true;
    for (unsigned m = lanes; m; m &= m - 1) {
        lane *l = (lane *)pointer[__builtin_ctz(m)];
        T next = first ? l->value : (*l->op)(sum, l->value);
        l->value = Inclusive ? next : sum; /* exclusive: T() in the first lane */
        sum = next;
        first = false;
    }
}
template <bool Inclusive, class Group, class T, class Op>
WBCPU_INLINE T scan(const Group &group, T value, const Op &op)
{
    lane_value<T, Op> mine = {value, &op};
    wbcpu_run_together(group.mask(), &mine, prefixes<Inclusive, T, Op>);
    return mine.value;
}
}  // namespace wbcpu_reduce

template <class Group, class T, class Op = plus<T>>
WBCPU_INLINE T inclusive_scan(const Group &group, T value, const Op &op = Op())
{
    return wbcpu_reduce::scan<true>(group, value, op);
}
template <class Group, class T, class Op = plus<T>>
WBCPU_INLINE T exclusive_scan(const Group &group, T value, const Op &op = Op())
{
    return wbcpu_reduce::scan<false>(group, value, op);
}
}  // namespace cooperative_groups
#endif
