/* waiting.cpp - threads that wait for a condition: the phase of an mbarrier, a named
 * barrier, the other blocks of the cluster. A waiting thread is parked. When no thread of
 * the block is ready, the conditions are tested; if none holds, one copy by TMA is carried
 * out, the oldest; if there is none, another block of the cluster may help; if no block can
 * continue, one multicast copy is carried out. */
#include "async.h"
#include "check/hooks.h"
#include "include/wbcpu.h"
#include "include/wbcpu/atomic.h"
#include "include/wbcpu/mbarrier.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

#define PC __builtin_extract_return_addr(__builtin_return_address(0))

namespace wbcpu
{
async_block *make_async(worker *w)
{
    if (!w->async) {
        w->async = new async_block();
        w->async->of = &w->async->alone;
    }
    return w->async;
}
async_block *async_of(worker *w)
{
    make_async(w);
    if (w->sequential) leave_sequential(w);
    w->async->used = true;
    return w->async;
}

void delete_async(worker *w)
{
    delete w->async;
    w->async = nullptr;
}

void misuse_at(const void *pc, const char *format, ...)
{
    char where[300], what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    check::misused(self(), what, pc);
    wbcpu_where(where, sizeof where);
    stop(nullptr, "%s %s", where, what);
}

void park(worker *w)
{
    warp *here = w->warp, *q;
    int lane = w->lane, next;
    here->ready &= ~(1u << lane);
    here->parked |= 1u << lane;
    if (!choose(w, &q, &next)) report_deadlock(w);
    if (q == here && next == lane) return;
    void *there = stack_of(w, q, next);
    wbcpu_switch(&here->stack[lane], there, q->value[next]);
}

/* --- waiting ------------------------------------------------------------------------ */

bool holds(const condition &c)
{
    uint64_t now = __atomic_load_n(c.word, __ATOMIC_ACQUIRE);
    if (c.what == condition::MBARRIER) return (wbcpu_mbarrier_phase(now) & 1) != c.value;
    return now != c.value;
}

void describe_condition(const worker *w, int thread, char *text, size_t size)
{
    const condition &c = w->async->waits[thread];
    uint64_t now = *c.word;
    if (c.what == condition::CLUSTER)
        snprintf(text, size, "cluster_wait, for other blocks");
    else if (c.what == condition::GRID)
        describe_grid_sync(w, c.value, text, size);
    else if (c.what == condition::NAMED)
        snprintf(
            text, size, "named barrier %d, which has %d of %d threads", c.id,
            w->async->named[c.id].arrived, w->async->named[c.id].expected);
    else
        snprintf(
            text, size,
            "an mbarrier for the end of parity %d: %u arrivals and %ld bytes are missing",
            (int)c.value, (unsigned)(now & WBCPU_MBARRIER_MAX),
            (long)wbcpu_mbarrier_bytes(now));
}

static bool any_parked(const worker *w)
{
    for (int i = 0; i < w->warps; i++)
        if (w->warp_table[i].parked) return true;
    return false;
}
static bool wake_threads(worker *w)
{
    bool any = false;
    for (int i = 0; i < w->warps; i++) {
        warp *q = &w->warp_table[i];
        for (uint32_t m = q->parked; m; m &= m - 1) {
            int lane = __builtin_ctz(m);
            if (!holds(w->async->waits[i * 32 + lane])) continue;
            q->parked &= ~(1u << lane);
            q->ready |= 1u << lane;
            w->warps_ready |= 1u << i;
            any = true;
        }
    }
    return any;
}

bool wake(worker *w)
{
    async_block *a = w->async;
    if (!a->used || !any_parked(w)) return false;
    gang *g = w->gang ? w->gang : a->of;
    for (;;) {
        uint64_t seen;
        {
            std::lock_guard<std::mutex> hold(g->lock);
            seen = g->events;
        }
        if (wake_threads(w)) return true;
        if (!a->loads.empty()) {
            run_load(&a->loads);
            continue;
        }
        bool others = g->size > 1 && wait_for_others(w, seen);
        if (!others && !run_multicast(g, seen)) return false;
    }
}

void wait_until(worker *w, const condition &c)
{
    if (holds(c)) return;
    w->async->waits[w->thread] = c;
    park(w);
}

extern "C" void wbcpu_mbarrier_park(uint64_t *barrier, int parity)
{
    worker *w = self();
    async_of(w);
    wait_until(w, {condition::MBARRIER, barrier, (uint64_t)(parity != 0), 0, PC});
}
extern "C" void wbcpu_mbarrier_misused(const char *what)
{
    misuse("uses an mbarrier that %s", what);
}
void count_bytes(uint64_t *barrier, long change)
{
    uint64_t old = __atomic_load_n(barrier, __ATOMIC_RELAXED), next;
    do
        next = wbcpu_mbarrier_word(
            old & WBCPU_MBARRIER_MAX, old >> 20 & WBCPU_MBARRIER_MAX,
            wbcpu_mbarrier_phase(old), wbcpu_mbarrier_bytes(old) + change);
    while (!__atomic_compare_exchange_n(
        barrier, &old, next, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* --- named barriers ----------------------------------------------------------------- */

static void named(int id, int threads, bool wait, const void *pc)
{
    worker *w = self();
    async_block *a = async_of(w);
    named_barrier *b = &a->named[id];
    if (threads <= 0 || threads % 32)
        misuse(
            "uses named barrier %d with %d threads: use a multiple of 32", id, threads);
    if (b->arrived && b->expected != threads)
        misuse(
            "uses named barrier %d with %d threads, another thread with %d", id, threads,
            b->expected);
    b->expected = threads;
    uint64_t generation = b->generation;
    check::arrives(w, b, generation);
    if (++b->arrived == threads) b->arrived = 0, b->generation++;
    if (!wait) return;
    wait_until(w, {condition::NAMED, &b->generation, generation, id, pc});
    check::waited(w, b, generation);
}
extern "C" void wbcpu_named_barrier(int id, int threads, bool wait)
{
    if (id < 0 || id > 15) misuse("uses named barrier %d: use 0 to 15", id);
    named(id, threads, wait, PC);
}
/* Barriers 16 to 45: 2 for tiles of 512 threads, 4 for 256, 8 for 128, 16 for 64 */
extern "C" void wbcpu_tile_barrier(int tile, int threads)
{
    named(16 + 1024 / threads - 2 + tile, threads, true, PC);
}

/* --- yield -------------------------------------------------------------------------- */

/* Another block may need the core. In check mode none runs at the same time. */
static void yield_core(worker *w)
{
    if (!check::enabled)
        sched_yield();
    else if (w->gang)
        let_others_run(w);
}

/* After so many, the block probably waits for another one. */
constexpr int YIELDS_UNTIL_HELP = 256;

/* The only thread of a launch that waits for memory waits for the host. */
static void wait_for_host(worker *w, bool spins)
{
    constexpr double SECONDS = 30, PAUSE = 1e-3;
    static thread_local double since;
    const double now = (double)wbcpu_nanoseconds() * 1e-9;
    if (w->yields == 1) since = now;
    if (check::enabled) return; /* it has a limit of CPU time (WB_CHECK_SECONDS) */
    if (spins && now - since > PAUSE) pause_launch(w);
    if (now - since < SECONDS) return;
    char where[300];
    wbcpu_where(where, sizeof where);
    stop(
        nullptr,
        "%s has waited %g s for memory that no other thread writes, and the host waits "
        "for the kernel",
        where, SECONDS);
}

/* The current thread spins on memory that another one will write. It stays ready; another
 * lane of its warp continues, and every 32nd time a lane of another warp. All threads may
 * be waiting for another block, whose worker needs a core: every 8th call therefore
 * yields to the OS. */
extern "C" void wbcpu_yield()
{
    worker *w = self();
    if (!w) return;
    const bool spins = w->spins != 0;
    w->atomics = w->spins = 0;
    if (w->whole_block) return; /* its kernel never waits for memory */
    if (++w->yields == YIELDS_UNTIL_HELP) need_another_block(w);
    if (w->threads == 1 && w->job->blocks == 1) wait_for_host(w, spins);
    if (w->job->stopped && !w->gang) leave_launch(w);
    if (w->threads == 1) {
        yield_core(w); /* only another block can make progress */
        return;
    }
    if (w->sequential) leave_sequential(w);
    warp *here = w->warp;
    int lane = w->lane, next;
    static thread_local unsigned yields;
    if (++yields % 8 == 0) yield_core(w);
    uint32_t lanes = here->ready & ~(1u << lane);
    uint32_t warps = w->warps_ready & ~(1u << w->warp_number);
    warp *q = here;
    if (lanes && (!warps || yields % 32)) {
        next = next_bit(lanes, lane);
    } else if (warps) {
        q = &w->warp_table[next_bit(warps, w->warp_number)];
        next = __builtin_ctz(q->ready);
    } else {
        yield_core(w);
        return;
    }
    void *there = stack_of(w, q, next);
    wbcpu_switch(&here->stack[lane], there, q->value[next]);
}

/* Between statements that need lanes in lockstep (translate/lockstep.c). wbcc runs programs
 * that were written for GPUs, which run such statements in lockstep; a lab must not need it. */
extern "C" bool wbcpu_wants_lockstep()
{
    static const bool wanted = number_from("WB_LOCKSTEP", WBCPU_FOREIGN) != 0;
    return wanted;
}
extern "C" void wbcpu_lockstep()
{
    if (wbcpu_wants_lockstep() && self()) wbcpu_collective(WBCPU_OP_ACTIVE, 0, 0, 0);
}

/* --- the end of threads and blocks -------------------------------------------------- */

void async_thread_exits(worker *w)
{
    async_block *a = w->async;
    if (!a->used) return;
    const std::vector<tma_copy> &stores = a->stores[w->thread].copies;
    if (!stores.empty())
        misuse_at(
            stores[0].pc,
            "exits before its tma_store has read shared memory: tma_commit and "
            "tma_wait_read<0> must come first");
    const wgmma_queue &q = a->warps[w->thread / 32];
    if (!q.ops.empty())
        misuse("exits while a wgmma is unfinished: wgmma_commit and wgmma_wait<0> must "
               "come first");
    cluster_thread_exits(w);
}

void async_block_ends(worker *w)
{
    async_block *a = w->async;
    if (!a->used) return;
    if (!a->loads.empty() || awaits_multicast(w))
        misuse_at(
            a->loads.empty() ? nullptr : a->loads[0].pc,
            "is the last one to exit, and a tma_load is unfinished: no thread has waited "
            "for it");
    for (named_barrier &b : a->named)
        b = named_barrier();
    for (int i = 0; i < max_warps; i++)
        a->warps[i].fenced = 0;
    a->used = false;
}
}  // namespace wbcpu
