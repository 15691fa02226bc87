/* reduction.h - a whole warp reduction loop as one collective.
 *
 *     for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(mask, v, o);
 *
 * costs five waits per lane. The translator recognizes such loops and replaces each by
 *
 *     v = wbcpu::warp_loop<wbcpu::read_xor, 16, false>(
 *         mask, v, [](auto &x, auto y) { x += y; });
 *
 * where the last lane to arrive runs the same five rounds for all lanes, adding the same
 * numbers in the same order: every lane gets exactly the bits of the loop.
 */
#ifndef WBCPU_REDUCTION_H
#define WBCPU_REDUCTION_H

#include "warp.h"

namespace wbcpu
{
/* The lane that `lane` reads in the round with offset o. */
struct read_xor {
    static constexpr unsigned source(unsigned lane, unsigned o)
    {
        return lane ^ o;
    }
};
struct read_down {
    static constexpr unsigned source(unsigned lane, unsigned o)
    {
        return lane + o < 32 ? lane + o : lane;
    }
};

/* A round of all 32 lanes: all read before any combines. */
template <class Read, unsigned O, class T, class Combine>
WBCPU_INLINE void full_round(T (&v)[32], const Combine &combine)
{
    T other[32];
    for (unsigned lane = 0; lane < 32; lane++)
        other[lane] = v[Read::source(lane, O)];
    for (unsigned lane = 0; lane < 32; lane++)
        combine(v[lane], other[lane]);
}

/* A round of some lanes. As in a shuffle, a lane without a source reads itself. */
template <class Read, class T, class Combine>
void partial_round(T (&v)[32], unsigned lanes, unsigned o, const Combine &combine)
{
    T other[32];
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(lanes >> lane & 1)) continue;
        unsigned source = Read::source(lane, o);
        other[lane] = v[lanes >> source & 1 ? source : lane];
    }
    for (unsigned lane = 0; lane < 32; lane++)
        if (lanes >> lane & 1) combine(v[lane], other[lane]);
}

/* Offsets First, First / 2, ..., 1, or 1, 2, ..., First when Rising. */
template <class Read, unsigned First, bool Rising, class T, class Combine>
void all_rounds(uint64_t value[32], unsigned lanes)
{
    /* The lambda captures nothing, so an object of its type has no state. */
    static const char no_bits = 0;
    const Combine &combine = reinterpret_cast<const Combine &>(no_bits);
    T v[32];
    for (int lane = 0; lane < 32; lane++)
        v[lane] = wbcpu_from_bits<T>(value[lane]);
    if (lanes == 0xffffffffu) {
        if (Rising) {
            full_round<Read, 1>(v, combine);
            if (First >= 2) full_round<Read, 2>(v, combine);
            if (First >= 4) full_round<Read, 4>(v, combine);
            if (First >= 8) full_round<Read, 8>(v, combine);
            if (First >= 16) full_round<Read, 16>(v, combine);
        } else {
            if (First >= 16) full_round<Read, 16>(v, combine);
            if (First >= 8) full_round<Read, 8>(v, combine);
            if (First >= 4) full_round<Read, 4>(v, combine);
            if (First >= 2) full_round<Read, 2>(v, combine);
            full_round<Read, 1>(v, combine);
        }
    } else {
        for (unsigned o = Rising ? 1 : First; o && o <= First;
             o = Rising ? o << 1 : o >> 1)
            partial_round<Read>(v, lanes, o, combine);
    }
    for (int lane = 0; lane < 32; lane++)
        value[lane] = wbcpu_to_bits(v[lane]);
}

/* First is the largest offset: 1, 2, 4, 8 or 16. */
template <class Read, unsigned First, bool Rising, class T, class Combine>
WBCPU_INLINE T warp_loop(unsigned mask, T v, Combine)
{
    static_assert(
        First && First <= 16 && (First & (First - 1)) == 0,
        "First is a power of two up to 16");
    wbcpu_together rounds = all_rounds<Read, First, Rising, T, Combine>;
    constexpr int shuffles = First == 16  ? 5
                             : First == 8 ? 4
                             : First == 4 ? 3
                                          : (int)First;
    return wbcpu_from_bits<T>(wbcpu_collective(
        WBCPU_OP_LOOP + shuffles, mask, wbcpu_to_bits(v), (uint64_t)rounds));
}
}  // namespace wbcpu

#endif
