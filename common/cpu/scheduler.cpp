/* scheduler.cpp - which thread of a block runs next.
 *
 * A block starts in sequential mode: its threads run one after another on one stack, and
 * the only state is the index of the running thread. The first thread that has to wait
 * ends this mode: its registers stay on its stack, the other threads get a bit each in
 * the masks of their warps, and the scheduler continues with the next thread on another
 * stack. When the last thread has arrived at a barrier or a collective, the first thread
 * continues. After its first collective since a barrier, a warp waits until the others have
 * completed theirs, too. So many programs that lack a barrier give the right result, as on
 * a GPU, where warps take turns all the time. Usually the missing barrier is the one that
 * keeps the next reduction from overwriting partial sums that others have not read yet.
 */
#include "scheduler.h"

#include "check/hooks.h"
#include "check/host_hooks.h"

#include <sched.h>
#include <vector>

WBCPU_THREAD_LOCAL uint3 threadIdx, blockIdx;
WBCPU_THREAD_LOCAL dim3 blockDim, gridDim;
WBCPU_THREAD_LOCAL wbcpu_worker *wbcpu_self;
WBCPU_THREAD_LOCAL bool wbcpu_in_library;
WBCPU_THREAD_LOCAL wbcpu::warp_slot wbcpu_own_slots[wbcpu_warp_slots];

extern "C" void wbcpu_begin_library()
{
    wbcpu::check::library_begins();
    wbcpu::open_device_memory();
    threadIdx = blockIdx = uint3{0, 0, 0};
    blockDim = gridDim = dim3(1);
    wbcpu_in_library = true;
}
extern "C" void wbcpu_end_library()
{
    wbcpu_in_library = false;
    wbcpu::close_device_memory();
}
extern "C" void *wbcpu_kept_arrays(int n, size_t bytes)
{
    static thread_local std::vector<max_align_t> arrays[8];
    const size_t words = bytes / sizeof(max_align_t) + 1;
    if (arrays[n].size() < words) arrays[n].resize(words);
    return arrays[n].data();
}
extern "C" {
__attribute__((aligned(1024)))
WBCPU_THREAD_LOCAL char wbcpu_dynamic_shared[WBCPU_DYNAMIC_SHARED_MAX] = {};
}

namespace wbcpu
{
static inline uint32_t bit(int i)
{
    return 1u << i;
}

/* --- leaving sequential mode -------------------------------------------------------- */

static void next_index(uint3 &i)
{
    if (++i.x < blockDim.x) return;
    i.x = 0;
    if (++i.y < blockDim.y) return;
    i.y = 0;
    i.z++;
}

/* Sets up the masks: thread w->thread runs, those before it have exited the kernel, those
 * after it have not started. */
void leave_sequential(worker *w)
{
    unsigned running = w->thread, threads = w->threads;
    uint3 index = threadIdx;
    if (__builtin_expect(w->whole_block, 0)) /* no kernel that does can run so */
        stop(nullptr, "a thread waits in a kernel whose threads run as loops");
    w->sequential = false;
    w->warps = (int)(threads + 31) / 32;
    w->warps_ready = 0;
    w->alive = (int)(threads - running);
    w->waiting = 0;
    w->after_barrier = 0;
    w->predicates = 0;
    for (int i = 0; i < w->warps; i++) {
        warp *q = &w->warp_table[i];
        unsigned first = (unsigned)i * 32;
        uint32_t left = 0; /* lanes that have not exited the kernel */
        for (unsigned lane = 0; lane < 32; lane++) {
            unsigned thread = first + lane;
            q->stack[lane] = not_started;
            if (thread < running || thread >= threads) continue;
            left |= bit((int)lane);
            q->index[lane] = index;
            next_index(index);
        }
        q->alive = q->ready = left;
        q->arrived = q->asking = q->parked = 0;
        if (left) w->warps_ready |= bit(i);
    }
    w->warp_number = (int)running / 32;
    w->warp = &w->warp_table[w->warp_number];
    w->lane = (int)running % 32;
}

/* --- picking the next thread -------------------------------------------------------- */

static uint32_t random_bits(worker *w)
{
    w->random ^= w->random << 13; /* xorshift64 */
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)(w->random >> 32);
}
static int random_set_bit(worker *w, uint32_t mask)
{
    unsigned count = (unsigned)__builtin_popcount(mask);
    unsigned skip = (unsigned)((uint64_t)random_bits(w) * count >> 32);
#ifdef __BMI2__
    return __builtin_ctz(__builtin_ia32_pdep_si(bit((int)skip), mask));
#else
    while (skip--)
        mask &= mask - 1;
    return __builtin_ctz(mask);
#endif
}

/* The current warp has no ready lane. Lanes that wait in __activemask have converged as
 * far as they can: they are the active lanes. Otherwise the warp is not ready. */
static void no_lane_ready(worker *w)
{
    warp *q = w->warp;
    uint32_t asking = q->asking;
    if (!asking) {
        w->warps_ready &= ~bit(w->warp_number);
        return;
    }
    for (uint32_t m = asking; m; m &= m - 1)
        q->value[__builtin_ctz(m)] = asking;
    q->ready = asking;
    q->asking = 0;
}

/* The next thread in a seeded order. The one after it is chosen in advance, so that its
 * stack can be prefetched: no two stacks share a cache line or a page. Meanwhile, it may
 * run (wbcpu_spin) and then no longer be ready. */
static inline bool choose_shuffled(worker *w, warp **q, int *lane)
{
    if (!w->warps_ready) return false;
    if (w->next_warp && w->next_warp->ready & bit(w->next_lane)) {
        *q = w->next_warp;
        *lane = w->next_lane;
    } else {
        *q = &w->warp_table[random_set_bit(w, w->warps_ready)];
        *lane = random_set_bit(w, (*q)->ready);
    }
    uint32_t lanes = (*q)->ready & ~bit(*lane), warps = w->warps_ready;
    if (!lanes) warps &= ~bit((int)(*q - w->warp_table));
    w->next_warp = nullptr;
    if (!warps) return true;
    warp *next = &w->warp_table[random_set_bit(w, warps)];
    w->next_lane = random_set_bit(w, next == *q ? lanes : next->ready);
    w->next_warp = next;
    __builtin_prefetch(next->stack[w->next_lane]);
    return true;
}

/* Picks a ready thread, from the current warp if possible (its lanes run round robin, so
 * they stay close together), else from the next warp. False if every thread waits. */
static inline bool choose_ready(worker *w, warp **q, int *lane)
{
    if (!w->warp->ready) no_lane_ready(w);
    if (__builtin_expect(w->shuffled, 0)) return choose_shuffled(w, q, lane);
    *q = w->warp;
    if ((*q)->ready) {
        *lane = next_bit((*q)->ready, w->lane);
        return true;
    }
    if (!w->warps_ready) return false;
    *q = &w->warp_table[next_bit(w->warps_ready, w->warp_number)];
    *lane = __builtin_ctz((*q)->ready);
    return true;
}

bool choose(worker *w, warp **q, int *lane)
{
    if (choose_ready(w, q, lane)) return true;
    return __builtin_expect(w->async != nullptr, 0) && wake(w) &&
           choose_ready(w, q, lane);
}

static inline void make_current(worker *w, warp *q, int lane)
{
    w->warp = q;
    w->warp_number = (int)(q - w->warp_table);
    w->lane = lane;
    w->thread = (unsigned)(w->warp_number * 32 + lane);
    threadIdx = q->index[lane];
}

/* Makes a thread the current one and returns the stack to continue on. A thread that has
 * not started gets a fiber, whose loop in run_threads calls the kernel. */
void *stack_of(worker *w, warp *q, int lane)
{
    make_current(w, q, lane);
    void *stack = q->stack[lane];
    q->stack[lane] = on_cpu;
    return stack == not_started ? idle_fiber(w) : stack;
}

/* switch.S calls these functions for every wait. Their rare paths are separate functions
 * in tail position, so that the fast path saves no registers. */
#define RARE __attribute__((noinline, cold))

RARE static resume search_and_go(worker *w)
{
    warp *q;
    int lane;
    if (!choose(w, &q, &lane)) report_deadlock(w);
    void *there = stack_of(w, q, lane);
    return {there, q->value[lane]};
}

/* The current thread, saved at `stack`, waits: picks the next thread. */
static inline resume wait_here(worker *w, void *stack)
{
    warp *q = w->warp;
    int lane = w->lane, next = lane + 1;
    q->ready &= ~bit(lane);
    q->stack[lane] = stack;
    /* Nearly always the next lane, already started: predictable, unlike the search. */
    if (__builtin_expect(
            lane < 31 && (q->ready >> next & 1) && q->stack[next] > on_cpu &&
                !w->shuffled,
            1)) {
        void *there = q->stack[next];
        /* The stacks of a block do not fit into the L1 cache: get one in advance. */
        __builtin_prefetch(q->stack[(next + 2) & 31]);
        q->stack[next] = on_cpu;
        w->lane = next;
        w->thread++;
        threadIdx = q->index[next];
        return {there, q->value[next]};
    }
    return search_and_go(w);
}

/* --- barriers ----------------------------------------------------------------------- */

static void release_barrier(worker *w)
{
    check::barrier_released(w);
    w->waiting = 0;
    w->predicates_released = w->predicates;
    w->predicates = 0;
    w->warps_ready = 0;
    for (int i = 0; i < w->warps; i++) {
        warp *q = &w->warp_table[i];
        q->ready = q->alive;
        if (q->alive) w->warps_ready |= bit(i);
    }
    w->after_barrier = w->warps_ready;
}

extern "C" resume wbcpu_at_barrier(void *stack);

RARE static resume first_barrier(worker *w, void *stack)
{
    if (w->threads == 1) return {stack, 0};
    leave_sequential(w);
    return wbcpu_at_barrier(stack);
}
/* The current thread, saved at `stack`, is ready, and so is every lane in `lanes` of warp q:
 * continues with the first of these. */
static inline resume continue_with_first(worker *w, void *stack, warp *q, uint32_t lanes)
{
    if (__builtin_expect(!w->shuffled, 1)) {
        w->warp->stack[w->lane] = stack;
        stack = stack_of(w, q, __builtin_ctz(lanes));
    }
    return {stack, w->warp->value[w->lane]};
}
__attribute__((noinline)) static resume last_at_barrier(worker *w, void *stack)
{
    release_barrier(w);
    warp *first = &w->warp_table[__builtin_ctz(w->warps_ready)];
    return continue_with_first(w, stack, first, first->ready);
}
extern "C" resume wbcpu_at_barrier(void *stack)
{
    worker *w = self();
    if (__builtin_expect(w->sequential, 0)) return first_barrier(w, stack);
    check::at_barrier(w, stack);
    if (++w->waiting == w->alive) return last_at_barrier(w, stack);
    return wait_here(w, stack);
}

extern "C" uint64_t wbcpu_barrier_reduce(int op, int predicate)
{
    enum { COUNT, OR, AND };
    worker *w = self();
    if (w->sequential) leave_sequential(w);
    check::at_reduced_barrier(w, __builtin_return_address(0));
    w->predicates += op == AND ? !predicate : !!predicate;
    wbcpu_barrier();
    uint64_t n = w->predicates_released;
    return op == COUNT ? n : op == OR ? n != 0 : n == 0;
}

/* --- collectives -------------------------------------------------------------------- */

extern "C" resume
wbcpu_at_collective(int op, unsigned mask, uint64_t value, uint64_t arg, void *stack);

RARE static resume
first_collective(int op, unsigned mask, uint64_t value, uint64_t arg, void *stack)
{
    leave_sequential(self());
    return wbcpu_at_collective(op, mask, value, arg, stack);
}
RARE static resume ask_active(worker *w, void *stack)
{
    w->warp->asking |= bit(w->lane);
    return wait_here(w, stack);
}
/* All lanes of the mask have arrived. After a barrier, warps take turns. */
__attribute__((noinline)) static resume
last_at_collective(worker *w, uint32_t lanes, void *stack)
{
    warp *q = w->warp;
    int lane = w->lane;
    check::collective_complete(w, q, lanes);
    complete(q, lanes, q->op[lane], q->arg[lane]);
    q->arrived &= ~lanes;
    q->ready |= lanes;
    lanes |= bit(lane); /* a wrong mask lacks the lane itself */
    if (w->after_barrier & bit(w->warp_number)) {
        w->after_barrier &= ~bit(w->warp_number);
        uint32_t others = w->after_barrier & w->warps_ready;
        q = &w->warp_table[__builtin_ctz(others ? others : w->warps_ready)];
        lanes = q->ready;
    }
    return continue_with_first(w, stack, q, lanes);
}
extern "C" resume
wbcpu_at_collective(int op, unsigned mask, uint64_t value, uint64_t arg, void *stack)
{
    worker *w = self();
    if (__builtin_expect(w->sequential, 0))
        return first_collective(op, mask, value, arg, stack);
    if (__builtin_expect(op == WBCPU_OP_ACTIVE, 0)) return ask_active(w, stack);
    warp *q = w->warp;
    int lane = w->lane;
    q->value[lane] = value;
    q->arg[lane] = arg;
    q->mask[lane] = mask;
    q->op[lane] = (uint8_t)op;
    q->arrived |= bit(lane);
    check::at_collective(w, mask, stack);
    uint32_t lanes = mask & q->alive; /* exited lanes do not count */
    if ((q->arrived & lanes) == lanes) return last_at_collective(w, lanes, stack);
    return wait_here(w, stack);
}

/* --- thread exit -------------------------------------------------------------------- */

/* A lane has exited: completes the collectives that waited only for it. */
static void complete_without(worker *w, warp *q)
{
    for (uint32_t waiting = q->arrived; waiting; waiting &= waiting - 1) {
        int lane = __builtin_ctz(waiting);
        uint32_t lanes = q->mask[lane] & q->alive;
        if ((q->arrived & lanes) != lanes) continue;
        check::collective_complete(w, q, lanes);
        complete(q, lanes, q->op[lane], q->arg[lane]);
        q->arrived &= ~lanes;
        q->ready |= lanes;
        w->warps_ready |= bit((int)(q - w->warp_table));
        waiting &= ~lanes | bit(lane);
    }
}

extern "C" bool wbcpu_next_thread(wbcpu_worker *public_part)
{
    worker *w = static_cast<worker *>(public_part);
    unsigned long long id = w->job->id;
    bool more = true;
    check::thread_exits(w);
    if (w->async) async_thread_exits(w);
    if (!w->sequential) {
        warp *q = w->warp;
        int lane = w->lane;
        q->alive &= ~bit(lane);
        q->ready &= ~bit(lane);
        w->alive--;
        if (w->waiting && w->waiting == w->alive) release_barrier(w);
        if (q->arrived) complete_without(w, q);
        if (choose(w, &q, &lane)) {
            if (q->stack[lane] == not_started) {
                make_current(w, q, lane); /* runs here, on this stack */
                q->stack[lane] = on_cpu;
                return true;
            }
            /* This fiber is idle now. When a thread of this or a later launch gets it, it
             * continues after wbcpu_switch. */
            void *there = stack_of(w, q, lane);
            wbcpu_switch(&w->idle[w->idle_count++], there, q->value[lane]);
            return w->job->id == id;
        }
        if (w->alive) report_deadlock(w);
    }
    more = next_block(w);
    if (more) return true;
    wbcpu_switch(&w->idle[w->idle_count++], w->host_stack, 0);
    return w->job->id == id;
}

/* --- a seeded order ----------------------------------------------------------------- */

static uint64_t mix(uint64_t x) /* splitmix64: adjacent seeds give unrelated orders */
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The order depends only on the seed and the block, not on the worker. */
void begin_shuffled_block(worker *w)
{
    w->random = mix(w->job->seed ^ mix(w->block)) | 1;
    w->next_warp = nullptr;
    leave_sequential(w);
    warp *q = w->warp;
    int lane = 0;
    choose(w, &q, &lane);
    make_current(w, q, lane);
    q->stack[lane] = on_cpu;
}
}  // namespace wbcpu
