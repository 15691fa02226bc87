/* run.cpp - check mode from the first launch to the exit of the program. */
#include "check.h"
#include "host.h"
#include "host_hooks.h"
#include "memory.h"
#include "order.h"
#include "report.h"
#include "watchdog.h"

namespace wbcpu::check
{
now current;

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
    reserve_shared();
    start_watchdog();
    atexit(run_everything);
    started = true;
    return true;
}

void begin_launch(const job &j)
{
    current.launch++;
    order_launch();
    count_launch(j);
}
void end_launch()
{
    settle_equal_writes();
    count_launch_end();
}

void begin_block(worker *w)
{
    current.block++;
    drop_copies();
    order_block(w);
}
void end_block(worker *w)
{
    settle_equal_writes();
    settle_early_reads();
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
    w->idle_count = 0; /* all stacks are free again */
    w->fibers = 0;
    delete_async(w);
    void *here;
    wbcpu_switch(&here, w->host_stack, 0);
    __builtin_unreachable();
}
}  // namespace wbcpu::check
