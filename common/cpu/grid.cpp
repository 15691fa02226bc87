/* grid.cpp - a grid as a whole: blocks that wait for blocks, and launches that a thread
 * ends (assert, __trap).
 *
 * A worker runs one block at a time. If that block waits for one that has not begun, another
 * CPU thread takes over the blocks that the worker has not begun. That thread does the same
 * if its block waits, until all blocks of the grid run. */
#include "async.h"
#include "check/hooks.h"
#include "dry.h"
#include "include/wbcpu.h"
#include "scheduler.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace wbcpu
{
struct helpers {
    std::mutex lock;
    std::vector<std::thread> threads;
    /* the barrier of the grid */
    std::condition_variable released;
    unsigned long long arrived = 0, generation = 0;
};

/* One launch runs at a time, so that all can use the same: a launch allocates nothing. */
helpers *no_helpers()
{
    static helpers *all = new helpers;
    all->arrived = 0; /* the last launch may have been stopped in its barrier */
    return all;
}

/* Takes the blocks [from, to), which no worker will run, from w or from the grid. */
static bool take_blocks(worker *w, unsigned long long *from, unsigned long long *to)
{
    job *j = w->job;
    *from = w->block + 1;
    *to = w->last_block;
    if (*from < *to) {
        w->last_block = *from;
        if (j->alone) j->next = j->blocks;
        j->alone = false;
        return true;
    }
    if (j->alone) return false;
    *from = j->next.fetch_add(1);
    *to = *from + 1;
    return *from < j->blocks;
}

void need_another_block(worker *w)
{
    job *j = w->job;
    unsigned long long from, to;
    static const bool wanted = number_from("WBCPU_HELPERS", 1) != 0;
    if (!wanted || w->gang || is_dry() || check::enabled) return;
    std::lock_guard<std::mutex> hold(j->helpers->lock);
    if (!take_blocks(w, &from, &to)) return;
    j->helpers->threads.emplace_back([=] {
        use_signal_stack();
        worker *helper = new_worker();
        helper->without_guards = true; /* a process has 65,530 mappings */
        run_blocks_of(j, helper, from, to);
        delete_worker(helper);
    });
}

void join_helpers(job *j)
{
    for (;;) { /* one of them may start another */
        std::unique_lock<std::mutex> hold(j->helpers->lock);
        if (j->helpers->threads.empty()) break;
        std::thread last = std::move(j->helpers->threads.back());
        j->helpers->threads.pop_back();
        hold.unlock();
        last.join();
    }
}

/* --- the barrier of the grid -------------------------------------------------------- */

bool runs_together(const job &j)
{
    return check::enabled && j.launch.cooperative;
}
extern "C" bool wbcpu_grid_is_valid()
{
    return self()->job->launch.cooperative;
}

/* In check mode all blocks take turns. A barrier of the block comes first; its first
 * thread after that arrives for the block, and all wait. */
static void sync_and_take_turns(worker *w, const void *pc)
{
    if (!w->gang || !w->gang->grid)
        misuse_at(
            pc, "calls grid.sync(), but the launch is not cooperative: use "
                "cudaLaunchCooperativeKernel");
    async_block *a = async_of(w);
    uint64_t syncs = ++a->grid_syncs[w->thread];
    check::at_grid_barrier(w, pc);
    wbcpu_barrier();
    arrive_at_grid(w, syncs);
    wait_until(w, {condition::GRID, &w->gang->generation, syncs, 0, pc});
    check::grid_waited(syncs);
}
void describe_grid_sync(const worker *w, uint64_t syncs, char *text, size_t size)
{
    const std::vector<uint64_t> &of = w->gang->syncs;
    size_t there = 0, first = of.size();
    for (size_t rank = of.size(); rank--;)
        of[rank] < syncs ? first = rank : there++;
    unsigned x = (unsigned)first % gridDim.x, yz = (unsigned)first / gridDim.x;
    snprintf(
        text, size,
        "grid.sync(): %zu of %zu blocks have reached it; block (%u,%u,%u) has not", there,
        of.size(), x, yz % gridDim.y, yz / gridDim.y);
}

extern "C" void wbcpu_block_grid_sync()
{
    worker *w = self();
    helpers *h = w->job->helpers;
    need_another_block(w);
    std::unique_lock<std::mutex> hold(h->lock);
    unsigned long long now = h->generation;
    if (++h->arrived == w->job->blocks) {
        h->arrived = 0;
        h->generation++;
        h->released.notify_all();
    }
    h->released.wait(hold, [&] { return h->generation != now || w->job->stopped; });
}

extern "C" void wbcpu_grid_sync()
{
    worker *w = self();
    if (check::enabled) {
        sync_and_take_turns(
            w, __builtin_extract_return_addr(__builtin_return_address(0)));
        return;
    }
    wbcpu_barrier();
    if (w->thread == 0) wbcpu_block_grid_sync();
    wbcpu_barrier();
}

/* --- ending a launch ---------------------------------------------------------------- */

void leave_launch(worker *w)
{
    w->idle_count = 0; /* all stacks are free again */
    w->fibers = 0;
    delete_async(w);
    void *here;
    wbcpu_switch(&here, w->host_stack, 0);
    __builtin_unreachable();
}

[[noreturn]] static void stop_launch(worker *w, cudaError_t error)
{
    if (w->gang && !check::enabled) abort(); /* other blocks wait for this one */
    fail_sticky(error);
    abandon_cluster(w);
    {
        std::lock_guard<std::mutex> hold(w->job->helpers->lock);
        w->job->stopped = true;
        w->job->helpers->released.notify_all();
    }
    leave_launch(w);
    abort();
}

extern "C" void wbcpu_trap()
{
    char where[300];
    if (!wbcpu_where(where, sizeof where)) abort();
    note("__trap() in %s", where);
    stop_launch(self(), cudaErrorLaunchFailure);
}

/* Instead of glibc's, which assert calls */
extern "C" void __assert_fail(
    const char *assertion, const char *file, unsigned line, const char *function) noexcept
{
    if (!wbcpu_self) {
        note(
            "%s: %s:%u: %s: Assertion `%s' failed.", program_invocation_short_name, file,
            line, function, assertion);
        abort();
    }
    note(
        "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.", file,
        line, function, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
        threadIdx.z, assertion);
    stop_launch(self(), cudaErrorAssert);
}
}  // namespace wbcpu
