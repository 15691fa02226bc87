/* dynamic.cpp - kernels that launch kernels. What device code enqueues (launches, copies)
 * runs when all blocks of its grid have ended, in the order in which it was enqueued; what
 * it enqueued on cudaStreamTailLaunch runs last. A grid that was launched so runs its own
 * children before the next one begins. CUDA promises no earlier start. */
#include "check/hooks.h"
#include "graph.h"
#include "scheduler.h"

#include <mutex>

namespace wbcpu
{
/* The host's launch is at depth 0. CUDA limits the launches that have not ended
 * (cudaLimitDevRuntimePendingLaunchCount), and a parent ends after its children: a chain of
 * 2048 children runs on an H200, and the next launch fails. */
constexpr int max_depth = 2048;

struct children {
    node_list usual, tail;
};

static std::mutex children_lock; /* guards every job's list */
static thread_local int depth;   /* of the grid that this host thread launches */

int launch_depth()
{
    return depth;
}

cudaError_t check_child(wbcpu_launch *l)
{
    if (check::enabled)
        stop(
            nullptr,
            "%s:%d: kernel %s is launched from a kernel: not supported in check mode; "
            "launch it from the host there",
            l->file, l->line, l->name);
    if (self()->job->depth < max_depth) return cudaSuccess;
    note(
        "%s:%d: launch of %s failed: kernels that launch kernels are nested %d deep, which "
        "is the limit",
        l->file, l->line, l->name, max_depth);
    return cudaErrorLaunchPendingCountExceeded;
}

void refuse_child(const wbcpu_launch *l)
{
    stop(
        nullptr,
        "%s:%d: kernel %s is launched from a kernel, which nvcc compiles only with "
        "-rdc=true; in a lab the host launches all kernels",
        l->file, l->line, l->name);
}

void record_child(cudaStream_t stream, std::shared_ptr<node> work)
{
    std::lock_guard<std::mutex> hold(children_lock);
    children *&all = self()->job->children;
    if (!all) all = new children;
    (stream == cudaStreamTailLaunch ? all->tail : all->usual).push_back(std::move(work));
}

void run_children(children *all)
{
    if (!all) return;
    depth++;
    for (node_list *list : {&all->usual, &all->tail})
        for (std::shared_ptr<node> &n : *list) {
            if (!sticky_error()) n->run(n->work);
            n.reset(); /* a grid of many threads has as many children */
        }
    depth--;
    delete all;
}
}  // namespace wbcpu
