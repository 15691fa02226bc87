/* overlap.cpp - programmatic dependent launch: a kernel that launch_pdl starts may run
 * while the previous kernel of its stream still does, until pdl_wait() returns.
 *
 * Before the wait, the previous kernel may be unfinished, and if that one was started in
 * the same way, so may the kernels before it. After the wait the previous kernel has
 * finished; but if none of its threads waited, those before it may not have.
 */
#include "host.h"
#include "host_hooks.h"
#include "order.h"

#include <limits.h>
#include <map>

namespace wbcpu::check
{
struct kernel {
    const place *at; /* of the launch; NULL: not in this program */
    std::string name;
    footprint touched;
    bool overlaps;   /* launched by launch_pdl */
    unsigned number; /* of its operation */
    bool in_graph;
    bool waited = false;
    std::vector<std::shared_ptr<kernel>> unfinished, unfinished_after_wait;
};
typedef std::shared_ptr<kernel> kernel_ptr;

bool overlaps_used;
static const void *next_kernel; /* that launch_pdl or launch_cluster is about to launch */
static bool next_overlaps;
static kernel_ptr &current_kernel = *new kernel_ptr;
static kernel_ptr &earlier_kernel = *new kernel_ptr; /* wbcpu_check_written_earlier */
static auto &previous = *new std::map<unsigned, kernel_ptr>; /* of each stream */
constexpr size_t chain_limit = 16, waiters_kept = 64;

/* Threads of the running block that have called pdl_wait: the others may follow one of
 * them through a barrier. */
struct waiter {
    unsigned thread;
    uint32_t time;
};
static thread_local std::vector<waiter> waiters;
static thread_local uint32_t waiters_block; /* its stamp */
WBCPU_THREAD_LOCAL uint32_t passed_wait[max_threads];
bool open_before_wait, open_after_wait;

extern "C" void wbcpu_checked_next_launch(const void *kernel, bool overlaps)
{
    next_kernel = kernel;
    next_overlaps = overlaps;
    overlaps_used |= overlaps;
}
/* The launch is in one of these functions: it gets the line of the call. */
void take_overlap(wbcpu_launch *l)
{
    if (!next_kernel) return;
    const place *at = running_call().at;
    l->overlaps = next_overlaps;
    l->file = at->file.c_str();
    l->line = at->line;
    next_kernel = nullptr;
}

extern "C" void wbcpu_checked_pdl_wait()
{
    if (!current_kernel || !wbcpu_self) return;
    worker *w = wbcpu::self();
    current_kernel->waited = true;
    if (waiters_block != current.block) waiters.clear();
    waiters_block = current.block;
    passed_wait[w->thread] = current.block;
    if (waiters.size() < waiters_kept) waiters.push_back({w->thread, time_of(w->thread)});
}

static bool has_passed_wait(worker *w)
{
    if (passed_wait[w->thread] == current.block) return true;
    if (waiters_block != current.block) return false;
    for (const waiter &t : waiters)
        if (ordered(w->thread, t.thread, t.time, false)) {
            passed_wait[w->thread] = current.block;
            return true;
        }
    return false;
}

extern "C" void wbcpu_check_written_earlier(const void *p, size_t bytes)
{
    if (!earlier_kernel) {
        earlier_kernel = std::make_shared<kernel>();
        earlier_kernel->name = "an earlier kernel of the stream";
        earlier_kernel->number = UINT_MAX;
    }
    footprint more;
    more.of[WRITES].push_back({(uintptr_t)p, (uintptr_t)p + bytes});
    if (bytes) add_footprint(earlier_kernel->touched, more);
}

void begin_kernel(const wbcpu_launch &l)
{
    kernel_ptr before = std::move(earlier_kernel);
    open_before_wait = open_after_wait = false;
    if (!overlaps_used || !running) return;
    if (!before) before = previous[running->stream];
    add_footprint(running->touched, take_record()); /* of copies before it */
    current_kernel = std::make_shared<kernel>();
    kernel *k = current_kernel.get();
    k->at = place_at(l.file, l.line);
    k->name = l.name;
    k->overlaps = l.overlaps;
    k->number = running->number;
    k->in_graph = running->name == "cudaGraphLaunch";
    if (!k->overlaps || !before || before->number <= running->waited_for) return;
    bool same = before->number == k->number; /* a graph starts after the one before it */
    if ((k->in_graph || before->in_graph) && !same) return;
    k->unfinished = before->unfinished;
    k->unfinished.push_back(before);
    if (k->unfinished.size() > chain_limit) k->unfinished.erase(k->unfinished.begin());
    k->unfinished_after_wait =
        before->waited ? before->unfinished_after_wait : before->unfinished;
    before->unfinished.clear(); /* of no use to later kernels, which would keep them */
    before->unfinished_after_wait.clear();
    open_before_wait = !k->unfinished.empty();
    open_after_wait = !k->unfinished_after_wait.empty();
}

/* What is not a kernel starts when the previous kernel has finished. */
void end_overlap()
{
    earlier_kernel = nullptr;
    if (overlaps_used && running) previous.erase(running->stream);
}

void end_kernel()
{
    if (!current_kernel || !running) return;
    current_kernel->touched = take_record();
    add_footprint(running->touched, current_kernel->touched);
    previous[running->stream] = current_kernel;
    current_kernel = nullptr;
    open_before_wait = open_after_wait = false;
}

static void report(const access &a, const kernel &before, bool writes)
{
    finding *f = find("pdl", a.at->at(), before.at);
    if (!f) return;
    f->what = name_at(a.address);
    f->other_access = writes ? "writes" : "reads";
    std::string launch = before.at ? " (launched at " + text_of(before.at) + ")" : "";
    f->message = format(
        "%s %s before pdl_wait(), while %s%s, which %s it, may still run",
        a.write ? "writes" : "reads", element_at(a.address, a.bytes).c_str(),
        before.name.c_str(), launch.c_str(), f->other_access.c_str());
    f->fix =
        "call pdl_wait() before you read what the previous kernel writes, or write what "
        "it accesses; each kernel in a chain of dependent launches must call pdl_wait()";
    publish(f);
}

void check_overlap(worker *w, const access &a)
{
    const kernel *k = current_kernel.get();
    if (!k || nothing_open(w)) return;
    const auto &open = has_passed_wait(w) ? k->unfinished_after_wait : k->unfinished;
    uintptr_t end = a.address + a.bytes;
    for (const kernel_ptr &before : open)
        if (range_in(before->touched.of[WRITES], a.address, end) ||
            range_in(before->touched.of[ATOMICS], a.address, end))
            report(a, *before, true);
        else if (a.write && range_in(before->touched.of[READS], a.address, end))
            report(a, *before, false);
}
}  // namespace wbcpu::check
