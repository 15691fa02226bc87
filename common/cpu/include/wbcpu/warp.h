/* warp.h - block barriers and warp collectives. */
#ifndef WBCPU_WARP_H
#define WBCPU_WARP_H

#include "execution.h"

WBCPU_INLINE void __syncthreads()
{
    wbcpu_barrier();
}
WBCPU_INLINE int __syncthreads_count(int p)
{
    return (int)wbcpu_barrier_reduce(0, p);
}
WBCPU_INLINE int __syncthreads_or(int p)
{
    return (int)wbcpu_barrier_reduce(1, p);
}
WBCPU_INLINE int __syncthreads_and(int p)
{
    return (int)wbcpu_barrier_reduce(2, p);
}
WBCPU_INLINE void __syncwarp(unsigned mask = 0xffffffffu)
{
    wbcpu_collective(WBCPU_OP_SYNC, mask, 0, 0);
}

/* Collectives pass values of any type as 8 bytes. */
template <class T> WBCPU_INLINE uint64_t wbcpu_to_bits(T v)
{
    static_assert(
        sizeof(T) <= 8 && std::is_trivially_copyable<T>::value,
        "warp operation: only types of 1 to 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}
template <class T> WBCPU_INLINE T wbcpu_from_bits(uint64_t bits)
{
    T v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

/* The four shuffles differ in the lane they read. width divides the warp into segments; a
 * lane that would read outside its segment reads itself (xor can read an earlier one). */
WBCPU_INLINE unsigned wbcpu_source(unsigned lane, int source, int width)
{
    return (lane & ~(width - 1)) | (source & (width - 1));
}
WBCPU_INLINE unsigned wbcpu_source_up(unsigned lane, unsigned delta, int width)
{
    return delta > (lane & (width - 1)) ? lane : lane - delta;
}
WBCPU_INLINE unsigned wbcpu_source_down(unsigned lane, unsigned delta, int width)
{
    return (lane & (width - 1)) + delta >= (unsigned)width ? lane : lane + delta;
}
WBCPU_INLINE unsigned wbcpu_source_xor(unsigned lane, int lanes, int width)
{
    unsigned source = lane ^ lanes;
    return source / width > lane / width ? lane : source;
}
#define WBCPU_SHUFFLE(name, source, Lanes)                                               \
    template <class T>                                                                   \
    WBCPU_INLINE T name(unsigned mask, T v, Lanes lanes, int width = 32)                 \
    {                                                                                    \
        return wbcpu_from_bits<T>(wbcpu_collective(                                      \
            WBCPU_OP_SHFL, mask, wbcpu_to_bits(v), source(wbcpu_lane(), lanes, width))); \
    }
WBCPU_SHUFFLE(__shfl_sync, wbcpu_source, int)
WBCPU_SHUFFLE(__shfl_up_sync, wbcpu_source_up, unsigned)
WBCPU_SHUFFLE(__shfl_down_sync, wbcpu_source_down, unsigned)
WBCPU_SHUFFLE(__shfl_xor_sync, wbcpu_source_xor, int)
#undef WBCPU_SHUFFLE

WBCPU_INLINE unsigned __ballot_sync(unsigned mask, int p)
{
    return (unsigned)wbcpu_collective(WBCPU_OP_BALLOT, mask, p != 0, 0);
}
WBCPU_INLINE int __any_sync(unsigned mask, int p)
{
    return (int)wbcpu_collective(WBCPU_OP_ANY, mask, p != 0, 0);
}
WBCPU_INLINE int __all_sync(unsigned mask, int p)
{
    return (int)wbcpu_collective(WBCPU_OP_ALL, mask, p != 0, 0);
}
#define WBCPU_SCHEDULE_DEPENDENT                                                         \
    __attribute__((                                                                      \
        deprecated("which lanes are active together depends on the scheduler: "          \
                   "name the mask or compute it with __ballot_sync")))
WBCPU_SCHEDULE_DEPENDENT WBCPU_INLINE unsigned __activemask()
{
    return (unsigned)wbcpu_collective(WBCPU_OP_ACTIVE, 0, 0, 0);
}
template <class T> WBCPU_INLINE unsigned __match_any_sync(unsigned mask, T v)
{
    return (unsigned)wbcpu_collective(WBCPU_OP_MATCH_ANY, mask, wbcpu_to_bits(v), 0);
}
template <class T> WBCPU_INLINE unsigned __match_all_sync(unsigned mask, T v, int *all)
{
    unsigned r =
        (unsigned)wbcpu_collective(WBCPU_OP_MATCH_ALL, mask, wbcpu_to_bits(v), 0);
    *all = r != 0;
    return r;
}

#define WBCPU_REDUCE(type, name, op)                                                     \
    WBCPU_INLINE type __reduce_##name##_sync(unsigned mask, type v)                      \
    {                                                                                    \
        return (type)wbcpu_collective(op, mask, (uint64_t)(int64_t)v, 0);                \
    }
WBCPU_REDUCE(int, add, WBCPU_OP_REDUCE_ADD)
WBCPU_REDUCE(int, min, WBCPU_OP_REDUCE_MIN)
WBCPU_REDUCE(int, max, WBCPU_OP_REDUCE_MAX)
WBCPU_REDUCE(unsigned, add, WBCPU_OP_REDUCE_ADD)
WBCPU_REDUCE(unsigned, min, WBCPU_OP_REDUCE_MIN)
WBCPU_REDUCE(unsigned, max, WBCPU_OP_REDUCE_MAX)
WBCPU_REDUCE(unsigned, and, WBCPU_OP_REDUCE_AND)
WBCPU_REDUCE(unsigned, or, WBCPU_OP_REDUCE_OR)
WBCPU_REDUCE(unsigned, xor, WBCPU_OP_REDUCE_XOR)
#undef WBCPU_REDUCE

#endif
