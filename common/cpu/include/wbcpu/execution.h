/* execution.h - threadIdx, blockIdx, the worker and warp collectives.
 *
 * A worker is a CPU thread. It runs one block at a time, one CUDA thread after another; a
 * CUDA thread gives up the CPU only where it must wait (a barrier, a warp collective).
 * threadIdx is therefore a thread-local variable that the scheduler updates.
 */
#ifndef WBCPU_EXECUTION_H
#define WBCPU_EXECUTION_H

#include "qualifiers.h"

#ifdef WBCPU_CHECKED
/* Check mode sees no read of a constant without a constructor: the compiler adds no call
 * there. A thread never sees a change: run_threads is not inlined, and changes threadIdx by its other name. */
struct wbcpu_constant_dim3 {
    unsigned x, y, z;
    operator dim3() const
    {
        return dim3(x, y, z);
    }
    operator uint3() const
    {
        return uint3{x, y, z};
    }
};
extern const WBCPU_THREAD_LOCAL uint3 threadIdx, blockIdx;
extern const WBCPU_THREAD_LOCAL wbcpu_constant_dim3 blockDim, gridDim;
extern WBCPU_THREAD_LOCAL uint3 wbcpu_thread_index __asm__("threadIdx");
#else
extern WBCPU_THREAD_LOCAL uint3 threadIdx, blockIdx;
extern WBCPU_THREAD_LOCAL dim3 blockDim, gridDim;
#define wbcpu_thread_index threadIdx
#endif
static constexpr int warpSize = 32;

/* The part of a worker that inlined code accesses; the rest is in scheduler.h. */
struct wbcpu_worker {
    unsigned thread;  /* the running thread's index in its block; lane thread % 32 */
    unsigned threads; /* per block */
    bool sequential;  /* no thread of this block has waited yet: all share one stack */
    int atomics;      /* executed since another thread last ran */
    int spins;        /* iterations of loops that only wait, since then */
    bool whole_block; /* all threads of the block run as loops (blocks.h) */
};
extern WBCPU_THREAD_LOCAL wbcpu_worker *wbcpu_self; /* NULL in host code */
/* A library (Thrust, cuFFT, …) works on device memory on this thread of the host, in place of
 * its kernels. Functors run in the device's version. */
extern WBCPU_THREAD_LOCAL bool wbcpu_in_library;
extern "C" void wbcpu_begin_library(void); /* sets it, and the indices of the one thread */
extern "C" void wbcpu_end_library(void);

/* Which version of a function for both runs (translate/architecture.c) */
WBCPU_INLINE constexpr bool wbcpu_on_device()
{
    return !__builtin_is_constant_evaluated() && (wbcpu_self || wbcpu_in_library);
}

/* While it exists, a library works on device memory. Check mode then treats the accesses of
 * this thread as those of a kernel, and reports mistakes at the program's call. */
class wbcpu_library
{
    const bool outermost = !wbcpu_self && !wbcpu_in_library;

  public:
    wbcpu_library()
    {
        if (outermost) wbcpu_begin_library();
    }
    ~wbcpu_library()
    {
        if (outermost) wbcpu_end_library();
    }
    wbcpu_library(const wbcpu_library &) = delete;
};

constexpr int WBCPU_DYNAMIC_SHARED_MAX = 227 * 1024; /* bytes per block, as on sm_90 */
extern "C" WBCPU_THREAD_LOCAL char wbcpu_dynamic_shared[WBCPU_DYNAMIC_SHARED_MAX];

WBCPU_INLINE unsigned wbcpu_tid()
{
    return wbcpu_self->thread;
}
WBCPU_INLINE unsigned wbcpu_lane()
{
    return wbcpu_self->thread & 31;
}

template <class T> WBCPU_UNCHECKED static T wbcpu_load_unchecked(const T *p)
{
    return *p;
}
template <class T> WBCPU_UNCHECKED static void wbcpu_store_unchecked(T *p, T v)
{
    *p = v;
}

/* Warp collectives. The last lane to arrive computes the results of all lanes. */
enum wbcpu_op {
    WBCPU_OP_SYNC,       /* only wait */
    WBCPU_OP_SHFL,       /* the value of lane arg */
    WBCPU_OP_BALLOT,     /* bit l: lane l's value & 1 */
    WBCPU_OP_ANY,        /* the OR of all values */
    WBCPU_OP_ALL,        /* the AND of all values */
    WBCPU_OP_REDUCE_ADD, /* sum, modulo 2^64 */
    WBCPU_OP_REDUCE_MIN, /* of int64_t */
    WBCPU_OP_REDUCE_MAX,
    WBCPU_OP_REDUCE_AND,
    WBCPU_OP_REDUCE_OR,
    WBCPU_OP_REDUCE_XOR,
    WBCPU_OP_MATCH_ANY, /* mask of the lanes with the same value */
    WBCPU_OP_MATCH_ALL, /* the mask if all values are equal, else 0 */
    WBCPU_OP_CALL,      /* arg is a wbcpu_together, called with every lane's value */
    WBCPU_OP_ACTIVE,    /* mask of the lanes that arrive before the warp has to wait */
    WBCPU_OP_LOOP,      /* + n: as WBCPU_OP_CALL, in place of n shuffles */
};

/* For WBCPU_OP_CALL: called once for the whole warp. value[l] is lane l's argument on
 * entry and its result on return, for every bit l of `lanes`. */
typedef void (*wbcpu_together)(uint64_t value[32], unsigned lanes);

extern "C" {
/* Waits for all lanes of the mask that have not exited; returns this lane's result. */
uint64_t wbcpu_collective(int op, unsigned mask, uint64_t value, uint64_t arg);
uint64_t wbcpu_barrier(void); /* __syncthreads */
/* __syncthreads_count, _or, _and: op 0, 1, 2 */
uint64_t wbcpu_barrier_reduce(int op, int predicate);
void wbcpu_yield(void); /* runs another thread of the block */
void wbcpu_grid_sync(void);
void wbcpu_block_grid_sync(void); /* of a block whose threads run as loops */
bool wbcpu_grid_is_valid(void);   /* a cooperative launch */
/* With WB_LOCKSTEP=1, and in programs from wbcc, waits for the other active lanes of the warp. */
void wbcpu_lockstep(void);
bool wbcpu_wants_lockstep(void);
void wbcpu_trap(void); /* ends the launch */
/* From now on kernels whose threads work alone are chosen, because those that share a row or
 * use mma are slower here: waits_are_cheap (cuda/device.cuh) is false, unless WBCPU_ARCH
 * names a GPU. */
void wbcpu_avoid_waits(void);
int wbcpu_avoids_waits(void);
}

/* Calls work once for the lanes of the mask; value[l] is `own` of lane l. */
WBCPU_INLINE void wbcpu_run_together(unsigned mask, const void *own, wbcpu_together work)
{
    wbcpu_collective(
        WBCPU_OP_CALL, mask, (uint64_t)(uintptr_t)own, (uint64_t)(uintptr_t)work);
}

/* The value, once the other active lanes have theirs (translate/lockstep.c) */
template <class T> WBCPU_INLINE T wbcpu_in_lockstep(T value)
{
    wbcpu_lockstep();
    return value;
}

#endif
