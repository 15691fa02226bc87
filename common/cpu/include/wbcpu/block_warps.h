/* block_warps.h - warp collectives of a block whose threads run as loops (blocks.h), in
 * three steps:
 *
 *     each thread    give::name(slot, thread, threads, arguments of the collective)
 *     once           exchange::name(slot, threads, gone)
 *     each thread    take::name<type of the value>(slot, thread)
 *
 * All threads that have not exited (gone) take part, so the result is that of
 * wbcpu_collective. */
#ifndef WBCPU_BLOCK_WARPS_H
#define WBCPU_BLOCK_WARPS_H

#include "warp.h"

#include <string.h>

namespace wbcpu
{
struct warp_slot {
    uint64_t value[1024]; /* of any type of up to 8 bytes, without gaps */
    unsigned mask[1024];
    int source[1024]; /* the thread that a shuffle reads */
};

template <class T> WBCPU_INLINE T &value_in(warp_slot &s, int thread)
{
    return reinterpret_cast<T *>(s.value)[thread];
}
/* The thread reads another lane if that is in the mask and in the block, else itself. */
template <class T>
WBCPU_INLINE void
give_shuffle(warp_slot &s, int thread, int threads, unsigned mask, T v, unsigned source)
{
    static_assert(sizeof(T) <= 8, "warp operation: only types of 1 to 8 bytes");
    int lane = (int)(source & 31), other = (thread & ~31) + lane;
    value_in<T>(s, thread) = v;
    s.source[thread] = (mask >> lane & 1) && other < threads ? other : thread;
}
WBCPU_INLINE void give_vote(warp_slot &s, int thread, unsigned mask, int v)
{
    value_in<int>(s, thread) = v;
    s.mask[thread] = mask;
}
/* Bit n of the result is threads[n]. Such blocks have a multiple of 16 threads. */
WBCPU_INLINE unsigned mask_of_eight(const bool *threads)
{
    uint64_t bytes;
    memcpy(&bytes, threads, sizeof bytes);
    return (unsigned)(bytes * 0x0102040810204080u >> 56); /* byte n to bit 56 + n */
}
/* A thread that has exited is not read. */
inline void drop_sources(warp_slot &s, int threads, const bool *gone)
{
    for (int first = 0; first < threads; first += 32) {
        const int end = first + 32 < threads ? first + 32 : threads;
        unsigned lanes = 0;
        for (int i = first; i < end; i += 8)
            lanes |= mask_of_eight(gone + i) << (i - first);
        if (lanes == 0 || lanes == ~0u >> (32 - (end - first)))
            continue; /* none, or all */
        for (int i = first; i < end; i++)
            if (!gone[i] && gone[s.source[i]]) s.source[i] = i;
    }
}
/* result(lanes, values of the warp): of the lanes that have the same mask */
template <class Result>
WBCPU_INLINE void
each_warp(warp_slot &s, int threads, const bool *gone, const Result &result)
{
    for (int first = 0; first < threads; first += 32) {
        unsigned alive = 0;
        for (int l = 0; l < 32 && first + l < threads; l++)
            alive |= (unsigned)!(gone && gone[first + l]) << l;
        for (unsigned left = alive; left;) {
            const unsigned mask = s.mask[first + __builtin_ctz(left)];
            unsigned same = 0;
            for (int l = 0; l < 32 && first + l < threads; l++)
                same |= (unsigned)(s.mask[first + l] == mask) << l;
            same &= left;
            int r = result(mask & alive, &value_in<int>(s, first));
            for (int l = 0; l < 32; l++)
                if (same >> l & 1) value_in<int>(s, first + l) = r;
            left &= ~same;
        }
    }
}

#define WBCPU_SHUFFLED(name, source_of, Lanes)                                           \
    namespace give                                                                       \
    {                                                                                    \
    template <class T>                                                                   \
    WBCPU_INLINE void name(                                                              \
        warp_slot &s, int thread, int threads, unsigned mask, T v, Lanes lanes,          \
        int width = 32)                                                                  \
    {                                                                                    \
        give_shuffle(s, thread, threads, mask, v, source_of(thread & 31, lanes, width)); \
    }                                                                                    \
    }                                                                                    \
    namespace exchange                                                                   \
    {                                                                                    \
    inline void name(warp_slot &s, int threads, const bool *gone)                        \
    {                                                                                    \
        if (gone) drop_sources(s, threads, gone);                                        \
    }                                                                                    \
    }                                                                                    \
    namespace take                                                                       \
    {                                                                                    \
    template <class V> WBCPU_INLINE std::decay_t<V> name(warp_slot &s, int thread)       \
    {                                                                                    \
        return value_in<std::decay_t<V>>(s, s.source[thread]);                           \
    }                                                                                    \
    }
WBCPU_SHUFFLED(__shfl_sync, wbcpu_source, int)
WBCPU_SHUFFLED(__shfl_up_sync, wbcpu_source_up, unsigned)
WBCPU_SHUFFLED(__shfl_down_sync, wbcpu_source_down, unsigned)
WBCPU_SHUFFLED(__shfl_xor_sync, wbcpu_source_xor, int)
#undef WBCPU_SHUFFLED

/* A value that all lanes have read before one of them writes (translate/lockstep.c) */
namespace give
{
template <class T>
WBCPU_INLINE void wbcpu_lockstep_sync(warp_slot &s, int thread, int, unsigned, T v)
{
    static_assert(sizeof(T) <= 8, "warp operation: only types of 1 to 8 bytes");
    value_in<T>(s, thread) = v;
}
}  // namespace give
namespace exchange
{
inline void wbcpu_lockstep_sync(warp_slot &, int, const bool *) {}
}  // namespace exchange
namespace take
{
template <class V>
WBCPU_INLINE std::decay_t<V> wbcpu_lockstep_sync(warp_slot &s, int thread)
{
    return value_in<std::decay_t<V>>(s, thread);
}
}  // namespace take

/* Votes and reductions of int or unsigned. start: the result without lanes */
#define WBCPU_VOTE(name, Type, given, start, combine)                                    \
    namespace give                                                                       \
    {                                                                                    \
    template <class V>                                                                   \
    WBCPU_INLINE void name(warp_slot &s, int thread, int, unsigned mask, V v)            \
    {                                                                                    \
        give_vote(s, thread, mask, (int)(given));                                        \
    }                                                                                    \
    }                                                                                    \
    namespace exchange                                                                   \
    {                                                                                    \
    inline void name(warp_slot &s, int threads, const bool *gone)                        \
    {                                                                                    \
        each_warp(s, threads, gone, [](unsigned lanes, const int *value) {               \
            unsigned r = start;                                                          \
            for (; lanes; lanes &= lanes - 1) {                                          \
                const unsigned l = (unsigned)__builtin_ctz(lanes),                       \
                               v = (unsigned)value[l];                                   \
                r = combine;                                                             \
            }                                                                            \
            return (int)r;                                                               \
        });                                                                              \
    }                                                                                    \
    }                                                                                    \
    namespace take                                                                       \
    {                                                                                    \
    template <class V> WBCPU_INLINE Type name(warp_slot &s, int thread)                  \
    {                                                                                    \
        return (Type)value_in<int>(s, thread);                                           \
    }                                                                                    \
    }
WBCPU_VOTE(__ballot_sync, unsigned, (int)v != 0, 0, r | v << l)
WBCPU_VOTE(__any_sync, int, (int)v != 0, 0, ((void)l, r | v))
WBCPU_VOTE(__all_sync, int, (int)v != 0, 1, ((void)l, r &v))
WBCPU_VOTE(__reduce_add_sync, decltype(+std::decay_t<V>()), v, 0, ((void)l, r + v))
WBCPU_VOTE(__reduce_and_sync, unsigned, v, ~0u, ((void)l, r &v))
WBCPU_VOTE(__reduce_or_sync, unsigned, v, 0, ((void)l, r | v))
WBCPU_VOTE(__reduce_xor_sync, unsigned, v, 0, ((void)l, r ^ v))
#undef WBCPU_VOTE
}  // namespace wbcpu

/* Statements with collectives use two sets in turn: a thread gives to one while others have
 * yet to take from the other. */
constexpr int wbcpu_warp_slots = 2 * 4;
extern WBCPU_THREAD_LOCAL wbcpu::warp_slot wbcpu_own_slots[wbcpu_warp_slots];
#define WBCPU_WARP_SLOTS ::wbcpu::warp_slot *const wbcpu_slots = wbcpu_own_slots;

#endif
