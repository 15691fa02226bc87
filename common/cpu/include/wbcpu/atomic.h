/* atomic.h - atomicAdd and its family: blocks run on several CPU threads in parallel.
 *
 * All are relaxed, as on the device, except atomicCAS and atomicExch, which acquire and
 * release locks. After many atomics without a wait another thread of the block runs, so a
 * thread that spins on a lock cannot starve the thread that holds it.
 */
#ifndef WBCPU_ATOMIC_H
#define WBCPU_ATOMIC_H

#include "warp.h"

constexpr int WBCPU_ATOMICS_PER_YIELD = 1024;

WBCPU_INLINE void wbcpu_count_atomic()
{
    wbcpu_worker *w = wbcpu_self;
    if (w && __builtin_expect(++w->atomics >= WBCPU_ATOMICS_PER_YIELD, 0)) wbcpu_yield();
}

/* An iteration of a loop that only waits */
WBCPU_INLINE void wbcpu_spin()
{
    constexpr int SPINS_PER_YIELD = 64;
    if (wbcpu_self) {
        wbcpu_self->atomics += WBCPU_ATOMICS_PER_YIELD / SPINS_PER_YIELD - 1;
        wbcpu_self->spins++;
    }
    wbcpu_count_atomic();
}

#ifdef WBCPU_CHECKED
/* Tells check mode of an atomic operation on `bytes` bytes. */
extern "C" void wbcpu_checked_atomic(const void *p, size_t bytes, bool floating);
#endif

namespace wbcpu
{
/* *p = op(*p), atomically; returns the old value. Word: an unsigned type of T's size. */
template <class Word, class T, class Op> WBCPU_INLINE T atomic_update(T *p, Op op)
{
    static_assert(sizeof(T) == sizeof(Word), "atomic_update: Word and T differ in size");
    wbcpu_count_atomic();
#ifdef WBCPU_CHECKED
    wbcpu_checked_atomic(p, sizeof(T), !std::is_integral<T>::value);
    T before = wbcpu_load_unchecked(p); /* check mode has one worker */
    wbcpu_store_unchecked(p, op(before));
    return before;
#endif
    Word *word = (Word *)p, old_word = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
        T old = wbcpu_from_bits<T>(old_word), next = op(old);
        Word next_word = (Word)wbcpu_to_bits(next);
        if (__atomic_compare_exchange_n(
                word, &old_word, next_word, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return old;
    }
}
}  // namespace wbcpu

#define WBCPU_FETCH(T, name, builtin)                                                    \
    WBCPU_INLINE T name(T *p, T v)                                                       \
    {                                                                                    \
        wbcpu_count_atomic();                                                            \
        return builtin(p, v, __ATOMIC_RELAXED);                                          \
    }
#define WBCPU_COMPUTE(T, name, Word, result)                                             \
    WBCPU_INLINE T name(T *p, T v)                                                       \
    {                                                                                    \
        return wbcpu::atomic_update<Word>(p, [v](T old) -> T { return result; });        \
    }
#define WBCPU_CAS(T)                                                                     \
    WBCPU_INLINE T atomicCAS(T *p, T expected, T v)                                      \
    {                                                                                    \
        wbcpu_count_atomic();                                                            \
        __atomic_compare_exchange_n(                                                     \
            p, &expected, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                 \
        return expected;                                                                 \
    }
#define WBCPU_EXCHANGE(T)                                                                \
    WBCPU_INLINE T atomicExch(T *p, T v)                                                 \
    {                                                                                    \
        wbcpu_count_atomic();                                                            \
        T old;                                                                           \
        __atomic_exchange(p, &v, &old, __ATOMIC_ACQ_REL);                                \
        return old;                                                                      \
    }

#define WBCPU_INTEGER(T, Word)                                                           \
    WBCPU_FETCH(T, atomicAdd, __atomic_fetch_add)                                        \
    WBCPU_FETCH(T, atomicSub, __atomic_fetch_sub)                                        \
    WBCPU_FETCH(T, atomicAnd, __atomic_fetch_and)                                        \
    WBCPU_FETCH(T, atomicOr, __atomic_fetch_or)                                          \
    WBCPU_FETCH(T, atomicXor, __atomic_fetch_xor)                                        \
    WBCPU_COMPUTE(T, atomicMax, Word, old < v ? v : old)                                 \
    WBCPU_COMPUTE(T, atomicMin, Word, v < old ? v : old)                                 \
    WBCPU_EXCHANGE(T)                                                                    \
    WBCPU_CAS(T)
WBCPU_INTEGER(int, uint32_t)
WBCPU_INTEGER(unsigned int, uint32_t)
WBCPU_INTEGER(long long, uint64_t)
WBCPU_INTEGER(unsigned long long, uint64_t)

/* atomicInc counts 0, 1, ..., v and wraps to 0; atomicDec counts down. */
WBCPU_COMPUTE(unsigned int, atomicInc, uint32_t, old >= v ? 0 : old + 1)
WBCPU_COMPUTE(unsigned int, atomicDec, uint32_t, old == 0 || old > v ? v : old - 1)

WBCPU_COMPUTE(float, atomicAdd, uint32_t, old + v)
WBCPU_COMPUTE(double, atomicAdd, uint64_t, old + v)
WBCPU_EXCHANGE(float)
WBCPU_CAS(unsigned short)

namespace wbcpu
{
/* *p = v if *p is `expected`; returns the old value. g++'s built-in calls libatomic. */
WBCPU_INLINE __int128 cas_16_bytes(__int128 *p, __int128 expected, __int128 v)
{
    wbcpu_count_atomic();
#ifdef WBCPU_CHECKED
    wbcpu_checked_atomic(p, sizeof *p, false);
    const __int128 before = wbcpu_load_unchecked(p); /* check mode has one worker */
    if (before == expected) wbcpu_store_unchecked(p, v);
    return before;
#elif defined(__x86_64__)
    uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*p), "+a"(low), "+d"(high)
                     : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
                     : "cc", "memory");
    return (__int128)high << 64 | low;
#else
    return __sync_val_compare_and_swap(p, expected, v);
#endif
}
template <class T> struct is_16_bytes {
    static constexpr bool value =
        sizeof(T) == 16 && alignof(T) >= 16 && std::is_trivially_copyable<T>::value;
};
}  // namespace wbcpu

/* Any aligned type of 16 bytes; a GPU needs compute capability 9.0. */
template <class T>
WBCPU_INLINE typename std::enable_if<wbcpu::is_16_bytes<T>::value, T>::type
atomicCAS(T *p, T expected, T v)
{
    return wbcpu_bit_cast<T>(wbcpu::cas_16_bytes(
        (__int128 *)p, wbcpu_bit_cast<__int128>(expected), wbcpu_bit_cast<__int128>(v)));
}
template <class T>
WBCPU_INLINE typename std::enable_if<wbcpu::is_16_bytes<T>::value, T>::type
atomicExch(T *p, T v)
{
    const __int128 next = wbcpu_bit_cast<__int128>(v);
    for (__int128 seen = 0, old;; seen = old) {
        old = wbcpu::cas_16_bytes((__int128 *)p, seen, next);
        if (old == seen) return wbcpu_bit_cast<T>(old);
    }
}

/* Block and system scope are the same as device scope here. */
#define WBCPU_SCOPED(name)                                                               \
    template <class T, class... V> WBCPU_INLINE T name##_block(T *p, V... v)             \
    {                                                                                    \
        return name(p, (T)v...);                                                         \
    }                                                                                    \
    template <class T, class... V> WBCPU_INLINE T name##_system(T *p, V... v)            \
    {                                                                                    \
        return name(p, (T)v...);                                                         \
    }
WBCPU_SCOPED(atomicAdd)
WBCPU_SCOPED(atomicSub)
WBCPU_SCOPED(atomicMin)
WBCPU_SCOPED(atomicMax)
WBCPU_SCOPED(atomicExch)
WBCPU_SCOPED(atomicCAS)
WBCPU_SCOPED(atomicAnd)
WBCPU_SCOPED(atomicOr)
WBCPU_SCOPED(atomicXor)
WBCPU_SCOPED(atomicInc)
WBCPU_SCOPED(atomicDec)
#undef WBCPU_SCOPED
#undef WBCPU_INTEGER
#undef WBCPU_FETCH
#undef WBCPU_COMPUTE
#undef WBCPU_EXCHANGE
#undef WBCPU_CAS

/* The compiler's atomic functions (CUDA 12.8). Every scope is that of the whole system. */
enum {
    __NV_ATOMIC_RELAXED = __ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME = __ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE = __ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE = __ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL = __ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST = __ATOMIC_SEQ_CST
};
enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM
};
template <class T>
WBCPU_INLINE T __nv_atomic_load_n(const T *p, int order, int = __NV_THREAD_SCOPE_SYSTEM)
{
    wbcpu_spin();
    return __atomic_load_n(p, order);
}
template <class T, class V>
WBCPU_INLINE void
__nv_atomic_store_n(T *p, V v, int order, int = __NV_THREAD_SCOPE_SYSTEM)
{
    wbcpu_count_atomic();
    __atomic_store_n(p, (T)v, order);
}
template <class T, class V>
WBCPU_INLINE T
__nv_atomic_exchange_n(T *p, V v, int order, int = __NV_THREAD_SCOPE_SYSTEM)
{
    wbcpu_count_atomic();
    return __atomic_exchange_n(p, (T)v, order);
}
template <class T, class V>
WBCPU_INLINE bool __nv_atomic_compare_exchange_n(
    T *p, T *expected, V v, bool weak, int order, int failure,
    int = __NV_THREAD_SCOPE_SYSTEM)
{
    wbcpu_count_atomic();
    (void)weak, (void)order, (void)failure;
    return __atomic_compare_exchange_n(
        p, expected, (T)v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#define WBCPU_NV_FETCH(name, f)                                                          \
    template <class T, class V>                                                          \
    WBCPU_INLINE T __nv_atomic_fetch_##name(                                             \
        T *p, V v, int, int = __NV_THREAD_SCOPE_SYSTEM)                                  \
    {                                                                                    \
        return f(p, (T)v);                                                               \
    }                                                                                    \
    template <class T, class V>                                                          \
    WBCPU_INLINE void __nv_atomic_##name(T *p, V v, int, int = __NV_THREAD_SCOPE_SYSTEM) \
    {                                                                                    \
        f(p, (T)v);                                                                      \
    }
WBCPU_NV_FETCH(add, atomicAdd)
WBCPU_NV_FETCH(sub, atomicSub)
WBCPU_NV_FETCH(and, atomicAnd)
WBCPU_NV_FETCH(or, atomicOr)
WBCPU_NV_FETCH(xor, atomicXor)
WBCPU_NV_FETCH(max, atomicMax)
WBCPU_NV_FETCH(min, atomicMin)
#undef WBCPU_NV_FETCH

/* Fences order memory between blocks. A loop that polls memory contains one, so a fence
 * counts as an atomic and lets the other thread run. */
WBCPU_INLINE void __threadfence()
{
    wbcpu_count_atomic();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
WBCPU_INLINE void __threadfence_system()
{
    __threadfence();
}
WBCPU_INLINE void __threadfence_block()
{
    wbcpu_count_atomic();
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* a block runs on one CPU thread */
}
WBCPU_INLINE void __nanosleep(unsigned)
{
    wbcpu_yield();
}

#endif
