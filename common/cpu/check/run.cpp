/* run.cpp - check mode from the first launch to the exit of the program. */
#include "../async.h"
#include "cluster.h"
#include "host.h"
#include "host_hooks.h"
#include "memory.h"
#include "order.h"
#include "report.h"
#include "watchdog.h"

namespace wbcpu::check
{
WBCPU_THREAD_LOCAL now current;
uint32_t blocks_begun;

static uint32_t launches;
static bool started;

/* Runs last: destructors of global objects may still free memory. A program that failed
 * has a good reason not to. */
static void at_exit(int status, void *)
{
    if (!started) return;
    end_of_program(status != 0);
    finish(0);
}
static __attribute__((constructor(101))) void register_first()
{
    on_exit(at_exit, nullptr);
}

/* Before the first cudaMalloc or launch. */
bool start(size_t bytes)
{
    if (!program_data) read_variables();
    bytes = 2 * bytes + program_data_bytes(); /* see offset_of() */
    if (!reserve_sectors(bytes) || !reserve_shadow(bytes)) return false;
    begin_variables();
    start_watchdog();
    atexit(run_everything);
    started = true;
    return true;
}

void begin_launch(const job &j)
{
    launches++;
    enter_thread_local(0, 1);
    watch_this_thread();
    drop_copies();
    order_launch();
    count_launch(j);
}
void end_launch(const job &j)
{
    settle_equal_writes();
    settle_compared();
    if (j.clusters) count_no_launch(j);
    count_launch_end();
}

void begin_block(worker *w)
{
    int rank = w->gang ? w->async->rank : 0;
    current = {
        launches, ++blocks_begun, rank, w->gang ? w->async->of->size : 1,
        (uint32_t)(w->block * w->threads) + 1};
    begin_shared(w);
    begin_cluster(w);
    drop_early_reads();
    order_block(w);
}
void end_block(worker *w)
{
    if (!w->last_block) return; /* none has begun */
    settle_equal_writes();
    settle_early_reads(UINT32_MAX);
    check_last_touches();
    end_shared();
    count_converged(w);
}
void thread_exits(worker *w)
{
    settle_equal_writes();
    finish_copies(w);
}

/* A thread that polls memory in a loop waits for another one of its block. */
void polled(const void *p)
{
    constexpr int limit = 256;
    static const void *last;
    static int times;
    if (!wbcpu_self) return;
    if (p != last) last = p, times = 0;
    if (++times % limit == 0) wbcpu_yield();
}

void abandon(worker *w, cudaError_t error)
{
    fail_sticky(error);
    abandon_cluster(w);
    leave_launch(w);
}

/* --- clusters and cooperative launches: the blocks take turns ----------------------- */

void joins_cluster(int rank, int size)
{
    enter_thread_local(rank, size);
}
void turn_ends()
{
    if (self()) settle_equal_writes();
    exchange_tables();
}
void turn_begins()
{
    watch_this_thread();
    exchange_tables();
}
void give_up(worker *w)
{
    abandon(w, sticky_error());
}
}  // namespace wbcpu::check
