/* blocks.h - the threads of a block as loops between barriers, which the translator writes
 * for kernels that it understands (translate/blocks_write.c). The first thread of a block
 * then runs all of them, in the natural order, without a switch of stacks.
 *
 * Programs run so. A debugger, sanitizers, check mode and the grader get a call per thread,
 * and so do blocks in a seeded order and blocks whose rows are no multiple of 16 threads.
 * With -DWBCPU_FIBERS all kernels do (tools/compile_blocks.sh). */
#ifndef WBCPU_BLOCKS_H
#define WBCPU_BLOCKS_H

#include "atomic.h"
#include "block_warps.h"

#if defined __OPTIMIZE__ && !defined WBCPU_FIBERS && !defined WBCPU_CHECKED &&           \
    !defined WBCPU_RED_ZONES && !defined __SANITIZE_ADDRESS__ &&                         \
    !defined __SANITIZE_THREAD__ && !defined WBCPU_VALGRIND
#define WBCPU_WHOLE_BLOCKS
#endif

/* Memory of this CPU thread for the arrays of a block's threads: the n-th such variable. It
 * stays the same until a call with more bytes. */
extern "C" void *wbcpu_kept_arrays(int n, size_t bytes);
/* Ends the program: a warp operation needs lanes that will not come. */
extern "C" [[noreturn]] void wbcpu_stop_missing(unsigned mask, unsigned missing);

namespace wbcpu
{
/* Rows of 16 threads are loops of constant length, which g++ makes vectors of. */
constexpr int block_step = 16;

WBCPU_INLINE bool begin_block()
{
    wbcpu_worker *w = wbcpu_self;
    return w->sequential && w->thread == 0 && blockDim.x % block_step == 0 &&
           (w->whole_block = true);
}
WBCPU_INLINE void end_block()
{
    wbcpu_self->whole_block = false;
    wbcpu_self->thread = wbcpu_self->threads - 1; /* the last thread exits */
}

/* The threads of a row take turns in a loop if their counters are neighbours and none has
 * exited (translate/blocks_phases.c). */
template <class T> WBCPU_INLINE bool is_row(const T *counter, const bool *gone)
{
    T differences = 0;
    bool exits = false;
    for (int i = 0; i < block_step; i++)
        differences |= (T)(counter[0] + (T)i) ^ counter[i];
    for (int i = 0; gone && i < block_step; i++)
        exits |= gone[i];
    return !differences && !exits;
}
template <class T> WBCPU_INLINE void set_row(T *counter)
{
    for (int i = 1; i < block_step; i++)
        counter[i] = (T)(counter[0] + (T)i);
}

/* 1 if all 16 threads of a row have exited: nothing is left to do. */
WBCPU_INLINE bool is_row_gone(const bool *gone)
{
    unsigned long long half[2];
    __builtin_memcpy(half, gone, sizeof half);
    return (half[0] & half[1]) == 0x0101010101010101u;
}

/* The index of thread i of a row, given that of the row's first thread: an unsigned index
 * can wrap around between the two (threadIdx.x - 1). */
template <class T> WBCPU_INLINE long long neighbour(T first, int i)
{
    bool wraps = std::is_unsigned_v<T> && sizeof(T) == 4 && first > T(-block_step);
    return (wraps ? (int)first : (long long)first) + i;
}

/* What a name from outside of a kernel must be: nothing volatile, and no class whose
 * operators could wait. classes: false if the program has operators of its own, perhaps for
 * CUDA's classes. float16_ops.h adds the 16-bit types. */
template <class T, class... Types>
constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);
template <class T>
constexpr bool is_plain_class = is_one_of<
    T, float2, float3, float4, double2, int2, int3, int4, uint2, uint3, uint4, uchar4,
    dim3>;

template <class T, bool classes> constexpr bool is_plain()
{
    using Value = std::remove_const_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_pointer_v<Value> && !std::is_volatile_v<Value>)
        return is_plain<std::remove_pointer_t<Value>, classes>();
    else
        return !std::is_volatile_v<Value> &&
               (std::is_arithmetic_v<Value> || std::is_void_v<Value> ||
                (classes && (std::is_enum_v<Value> || is_plain_class<Value>)));
}
template <class T, bool classes> constexpr bool is_plain_constant()
{
    return is_plain<T, classes>() && (std::is_const_v<T> || std::is_enum_v<T>);
}

/* The threads that do not take the branch of an `if`: until it ends they count as exited. */
struct left_out {
    bool threads[1024];
    unsigned lanes[32]; /* of each warp */
};
inline void count_lanes(left_out &off, int count)
{
    for (int w = 0; w * 32 < count; w++)
        off.lanes[w] = 0;
    for (int i = 0; i < count; i += 8)
        off.lanes[i / 32] |= mask_of_eight(off.threads + i) << i % 32;
}
/* `threads` holds those that do not take the branch, which the kernel has set. */
inline void leave_out(left_out &off, bool *gone, int count)
{
    for (int i = 0; i < count; i++) {
        off.threads[i] = off.threads[i] & !gone[i];
        gone[i] |= off.threads[i];
    }
    count_lanes(off, count);
}
/* Changes to the other threads, for `else`. */
inline void turn(left_out &off, bool *gone, int count)
{
    for (int i = 0; i < count; i++) {
        const bool before = off.threads[i];
        off.threads[i] = !gone[i];
        gone[i] = !before;
    }
    count_lanes(off, count);
}
inline void take_back(left_out &off, bool *gone, int count)
{
    for (int i = 0; i < count; i++)
        gone[i] &= !off.threads[i];
}
/* Returns the mask of a warp collective, if all its lanes arrive. */
WBCPU_INLINE unsigned present(const left_out &off, int thread, unsigned mask)
{
    const unsigned missing = mask & off.lanes[thread / 32];
    if (__builtin_expect(missing != 0, 0)) wbcpu_stop_missing(mask, missing);
    return mask;
}

/* A value that is kept from one barrier to the next. If its type is not plain, the
 * kernel runs as fibers, but this must still compile. */
struct not_plain {
    template <class T> operator T() const
    {
        __builtin_trap();
    }
    template <class T> not_plain &operator=(const T &)
    {
        return *this;
    }
};
template <class T>
using kept = std::conditional_t<
    std::is_trivially_default_constructible_v<std::decay_t<T>> &&
        std::is_trivially_copyable_v<std::decay_t<T>>,
    std::decay_t<T>, not_plain>;

/* atomicAdd and its family on shared memory, which only this CPU thread accesses while a
 * block runs so */
namespace alone
{
/* Sums of integers wrap around. */
template <class T> WBCPU_INLINE T sum(T a, T b)
{
    if constexpr (std::is_integral_v<T>)
        return (T)((unsigned long long)a + (unsigned long long)b);
    else
        return a + b;
}
template <class T> WBCPU_INLINE T difference(T a, T b)
{
    if constexpr (std::is_integral_v<T>)
        return (T)((unsigned long long)a - (unsigned long long)b);
    else
        return a - b;
}
#define WBCPU_ALONE(name, result)                                                        \
    template <class T, class V> WBCPU_INLINE T name(T *p, V value)                       \
    {                                                                                    \
        T old = *p, v = (T)value;                                                        \
        *p = result;                                                                     \
        return old;                                                                      \
    }
WBCPU_ALONE(atomicAdd, sum(old, v))
WBCPU_ALONE(atomicSub, difference(old, v))
WBCPU_ALONE(atomicAnd, old &v)
WBCPU_ALONE(atomicOr, old | v)
WBCPU_ALONE(atomicXor, old ^ v)
WBCPU_ALONE(atomicMax, old < v ? v : old)
WBCPU_ALONE(atomicMin, v < old ? v : old)
WBCPU_ALONE(atomicExch, v)
WBCPU_ALONE(atomicInc, old >= v ? 0 : old + 1)
WBCPU_ALONE(atomicDec, old == 0 || old > v ? v : old - 1)
#undef WBCPU_ALONE
}  // namespace alone
}  // namespace wbcpu

#define WBCPU_UNUSED __attribute__((unused))
/* The indices are copies, because a store through a pointer could change the variables. */
#define WBCPU_BLOCK_BEGIN                                                                \
    const uint3 wbcpu_block_index = blockIdx;                                            \
    const dim3 wbcpu_threads = blockDim, wbcpu_blocks = gridDim;                         \
    const WBCPU_UNUSED int wbcpu_count = (int)wbcpu_self->threads;                       \
    const WBCPU_UNUSED uint3 blockIdx = wbcpu_block_index;                               \
    const WBCPU_UNUSED dim3 blockDim = wbcpu_threads, gridDim WBCPU_UNUSED = wbcpu_blocks;

/* Of each thread: has it exited? */
#define WBCPU_EXITS                                                                      \
    static __thread bool wbcpu_gone[1024];                                               \
    __builtin_memset(wbcpu_gone, 0, sizeof wbcpu_gone);

/* WBCPU_EACH_ROW WBCPU_EACH_LANE runs what follows once for each thread; wbcpu_at is its
 * index in the block. w->thread says which threads run, for the report of a crash. The
 * counters are signed, so that the compiler knows that addresses do not wrap around. */
#define WBCPU_EACH_LINE                                                                  \
    for (int wbcpu_z = 0, wbcpu_line = 0; wbcpu_z < (int)blockDim.z; wbcpu_z++)          \
        for (int wbcpu_y = 0; wbcpu_y < (int)blockDim.y;                                 \
             wbcpu_y++, wbcpu_line += (int)blockDim.x)
#define WBCPU_ROWS                                                                       \
    for (int wbcpu_x = 0, wbcpu_row = wbcpu_line;                                        \
         wbcpu_x < (int)blockDim.x && (wbcpu_self->thread = (unsigned)wbcpu_row, true);  \
         wbcpu_x += ::wbcpu::block_step, wbcpu_row += ::wbcpu::block_step)               \
        if (const WBCPU_UNUSED uint3                                                     \
                threadIdx = {(unsigned)wbcpu_x, (unsigned)wbcpu_y, (unsigned)wbcpu_z};   \
            true)
#define WBCPU_EACH_ROW WBCPU_EACH_LINE WBCPU_ROWS
#define WBCPU_EACH_LANE                                                                  \
    for (int wbcpu_i = 0; wbcpu_i < ::wbcpu::block_step; wbcpu_i++)                      \
        if (const WBCPU_UNUSED uint3 threadIdx =                                         \
                {(unsigned)(wbcpu_x + wbcpu_i), (unsigned)wbcpu_y, (unsigned)wbcpu_z};   \
            true)                                                                        \
            if (const WBCPU_UNUSED int wbcpu_at = wbcpu_row + wbcpu_i; true)
/* Threads that do not access the same memory: the compiler may mix them. */
#define WBCPU_EACH_LANE_PARALLEL _Pragma("GCC ivdep") WBCPU_EACH_LANE

#define WBCPU_BLOCK_END                                                                  \
    ::wbcpu::end_block();                                                                \
    return;

#endif
