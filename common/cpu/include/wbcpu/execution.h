/* execution.h - where a kernel finds itself: threadIdx and its family, the worker.
 *
 * A worker is one CPU thread. It takes one block at a time and runs its CUDA threads in
 * turn; a CUDA thread gives the CPU away only where it must wait (a barrier, a warp
 * operation). So threadIdx is a variable of the CPU thread that the scheduler rewrites.
 */
#ifndef WBCPU_EXECUTION_H
#define WBCPU_EXECUTION_H

#include "qualifiers.h"

extern WBCPU_THREAD_LOCAL uint3 threadIdx, blockIdx;
extern WBCPU_THREAD_LOCAL dim3 blockDim, gridDim;
static constexpr int warpSize = 32;

/* The part of a worker that inlined code touches; the rest is in scheduler.h. */
struct wbcpu_worker {
    unsigned thread;  /* the running thread's number in its block: lane is thread % 32 */
    unsigned threads; /* of a block */
    bool straight;    /* no thread of this block has waited so far: all share one stack */
    int atomics;      /* done since another thread last had a turn */
};
extern WBCPU_THREAD_LOCAL wbcpu_worker *wbcpu_self; /* NULL in host code */

enum { WBCPU_DYNAMIC_SHARED_MAX = 227 * 1024 }; /* as on sm_90 */
extern "C" WBCPU_THREAD_LOCAL char wbcpu_dynamic_shared[WBCPU_DYNAMIC_SHARED_MAX];

WBCPU_INLINE unsigned wbcpu_tid()
{
    return wbcpu_self->thread;
}
WBCPU_INLINE unsigned wbcpu_lane()
{
    return wbcpu_self->thread & 31;
}

/* What a lane may ask of its warp. The result of an operation is computed by the lane
 * that arrives last, for all lanes of the mask. */
enum wbcpu_op {
    WBCPU_OP_SYNC,       /* nothing but waiting */
    WBCPU_OP_SHFL,       /* the value of lane arg */
    WBCPU_OP_BALLOT,     /* bit l: lane l's value & 1 */
    WBCPU_OP_ANY,        /* value of some lane */
    WBCPU_OP_ALL,        /* value of every lane */
    WBCPU_OP_REDUCE_ADD, /* sum, modulo 2^64 */
    WBCPU_OP_REDUCE_MIN, /* of int64_t */
    WBCPU_OP_REDUCE_MAX,
    WBCPU_OP_REDUCE_AND,
    WBCPU_OP_REDUCE_OR,
    WBCPU_OP_REDUCE_XOR,
    WBCPU_OP_MATCH_ANY, /* mask of the lanes with my value */
    WBCPU_OP_MATCH_ALL, /* the mask if all values are equal, else 0 */
    WBCPU_OP_CALL,      /* arg is a wbcpu_together: it gets every lane's value */
    WBCPU_OP_MMA = WBCPU_OP_CALL,
    WBCPU_OP_ACTIVE, /* mask of the lanes that come here before the warp has to wait */
};

/* For WBCPU_OP_CALL: called once per warp; value[l] is valid where lanes has bit l, and
 * what it leaves there is what lane l gets back. */
typedef void (*wbcpu_together)(uint64_t value[32], unsigned lanes);

extern "C" {
/* Waits until every living lane of the mask has come, then returns this lane's result. */
uint64_t wbcpu_collective(int op, unsigned mask, uint64_t value, uint64_t arg);
uint64_t wbcpu_barrier(void); /* __syncthreads */
/* __syncthreads_count, _or, _and: op 0, 1, 2 */
uint64_t wbcpu_barrier_reduce(int op, int predicate);
void wbcpu_yield(void); /* lets another thread of the block run */
}

#endif
