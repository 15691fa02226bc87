/* launch.cpp - the host's side of a launch: the same for every kernel, so that no program is
 * compiled with a copy of it per kernel. */
#include "check/host_hooks.h"
#include "driver.h"
#include "dry.h"
#include "graph.h"
#include "launch_limits.h"
#include "paused.h"
#include "pool.h"
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

namespace wbcpu
{
static std::atomic<unsigned long long> launch_count; /* written by one launch at a time */
static std::atomic<uint64_t> shuffle_seed;

extern "C" void wbcpu_describe_launch(
    wbcpu_launch *l, const char *file, int line, const char *name, const config *c)
{
    next_launch next = take_next_launch();
    l->grid = c->grid, l->block = c->block;
    l->shared_bytes = c->shared_bytes;
    l->stream = c->stream;
    l->name = next.name ? next.name : name;
    l->file = file, l->line = line;
    l->cluster = next.cluster;
    l->cooperative = next.cooperative;
}

/* True if the launch is valid; otherwise sets the last error. */
static bool accepts(const wbcpu_launch *l)
{
    return fail(check_launch(l)) == cudaSuccess;
}
bool accept_launch(wbcpu_launch *l)
{
    if (wbcpu_self && fail(check_child(l))) return false;
    return accepts(l) && check::accept_launch(l);
}

struct outcome {
    children *made;    /* what the kernel has launched */
    uint64_t clusters; /* that the kernel needs, if it did not run; or 0 */
};

/* False: another thread's launch has paused in the meantime, so this one must be
 * queued. */
static bool
run_grid(const wbcpu_launch *l, cudaStream_t stream, bool may_pause, outcome *result)
{
    pool *p = get_pool();
    std::lock_guard<std::mutex> hold(p->launching);
    if (must_queue()) return false;
    static job j; /* stays while the launch is paused; launching is locked */
    j.most_threads = 0;
    j.clusters = 0;
    j.stopped = false;
    j.children = nullptr;
    j.stream = stream;
    j.may_pause = may_pause;
    j.launch = *l;
    j.threads = l->block.x * l->block.y * l->block.z;
    j.blocks = (unsigned long long)l->grid.x * l->grid.y * l->grid.z;
    size_t workers = p->workers.size();
    j.alone = workers == 1 || j.blocks == 1 || is_dry();
    j.first = 0;
    j.chunk = j.blocks;
    if (!j.alone) { /* small chunks, so that all workers finish together */
        j.chunk = j.blocks / (workers * 8);
        j.chunk = j.chunk < 1 ? 1 : j.chunk > 1024 ? 1024 : j.chunk;
    }
    j.id = launch_count.load(std::memory_order_relaxed) + 1;
    launch_count.store(j.id, std::memory_order_relaxed);
    j.next.store(0, std::memory_order_relaxed);
    j.seed = 0;
    j.depth = launch_depth();
    j.helpers = no_helpers();
    if (shuffle_seed && !check::enabled) seed_order(&j, shuffle_seed);
    open_device_memory();
    check::begin_kernel(*l);
    check::begin_launch(j);
    bool ran = true;
    if ((l->cluster_blocks() > 1 || runs_together(j)) && !is_dry())
        ran = run_gangs(&j, p->workers[0], run_blocks);
    else if (is_dry())
        dry_launch(&j, &p->workers[0], run_blocks);
    else
        run_on_workers(p, !j.alone, run_blocks, &j);
    join_helpers(&j);
    check::end_launch(j);
    check::end_kernel();
    close_device_memory();
    *result = {j.children, j.clusters};
    if (!ran) fail(refuse_for_threads(l));
    if (unsigned most = j.most_threads) {
        fail(refuse_launch(
            l, "blocks of " + std::to_string(j.threads) + " threads",
            ("__launch_bounds__ allows " + std::to_string(most)).c_str()));
    }
    return true;
}

extern "C" void wbcpu_refuse_launch(unsigned most)
{
    self()->job->most_threads = most;
}

constexpr int cluster_bits = 20; /* of a dimension; larger ones are refused */

extern "C" bool wbcpu_needs_clusters(unsigned x, unsigned y, unsigned z)
{
    job *j = self()->job;
    const dim3 &c = j->launch.cluster;
    if (c.x == x && c.y == y && c.z == z) return false;
    auto bits = [](unsigned n) {
        return (uint64_t)(n >> cluster_bits ? (1u << cluster_bits) - 1 : n);
    };
    j->clusters = bits(x) | bits(y) << cluster_bits | bits(z) << 2 * cluster_bits;
    j->stopped = true;
    return true;
}
/* The same launch in the clusters of the kernel's __cluster_dims__ */
static void run_in_clusters(wbcpu_launch l, uint64_t clusters)
{
    auto dimension = [=](int i) {
        return (unsigned)(clusters >> i * cluster_bits) & ((1u << cluster_bits) - 1);
    };
    const dim3 theirs(dimension(0), dimension(1), dimension(2));
    if (l.cluster_blocks() > 1)
        fail(refuse_other_clusters(&l, theirs));
    else
        l.cluster = theirs, run_launch(&l);
}

void read_shuffle()
{
    if (!shuffle_seed) shuffle_seed = number_from("WB_SHUFFLE", 0);
}
extern "C" void wbcpu_set_shuffle(uint64_t seed)
{
    check::run_everything();
    finish_paused_launch();
    get_pool(); /* reads WB_SHUFFLE */
    shuffle_seed = seed;
}
extern "C" unsigned long long wbcpu_launch_count()
{
    check::run_everything();
    finish_paused_launch();
    return launch_count;
}

/* A launch that waits, with a copy of its kernel. */
static void *keep(const wbcpu_launch *l)
{
    wbcpu_launch *kept = new wbcpu_launch(*l);
    kept->stream = cudaStreamPerThread; /* not a capturing one */
    kept->kernel = l->copy ? l->copy(l->kernel)
                           : memcpy(malloc(l->kernel_bytes), l->kernel, l->kernel_bytes);
    return kept;
}
static void run_kept(void *kept)
{
    run_launch(static_cast<wbcpu_launch *>(kept));
}
static void delete_kept(void *kept)
{
    wbcpu_launch *l = static_cast<wbcpu_launch *>(kept);
    void *kernel = const_cast<void *>(l->kernel);
    l->destroy ? l->destroy(kernel) : free(kernel);
    delete l;
}

/* The host may have to continue before its only thread does (paused.h). */
static bool may_pause(const wbcpu_launch *l)
{
    auto is_one = [](const dim3 &d) { return d.x == 1 && d.y == 1 && d.z == 1; };
    return WBCPU_FOREIGN && is_one(l->grid) && is_one(l->block) && !launch_depth() &&
           !shared_poisoned && !is_dry() && !check::enabled;
}
void run_launch(const wbcpu_launch *l)
{
    if (!accepts(l)) return;
    outcome result;
    std::shared_ptr<node> kept;
    const cudaStream_t stream = l->stream;
    if (may_pause(l)) {
        kept = std::make_shared<node>(run_kept, delete_kept, keep(l));
        l = static_cast<wbcpu_launch *>(kept->work);
    }
    if (!run_grid(l, stream, kept != nullptr, &result))
        run_after_paused(stream, run_kept, delete_kept, keep(l));
    else if (result.clusters)
        run_in_clusters(*l, result.clusters);
    else if (!kept || !keep_if_paused(kept))
        run_children(result.made);
}

extern "C" void
wbcpu_launch_kernel(wbcpu_launch *l, const void *const *pointers, int count)
{
    use_device();
    check_arguments(l, pointers, count);
    if (wbcpu_self && l->in_lab) refuse_child(l);
    if ((wbcpu_self || check::enabled) && !accept_launch(l)) return;
    if (wbcpu_defers(l->stream))
        wbcpu_record_work(l->stream, run_kept, delete_kept, keep(l));
    else
        run_launch(l);
}
}  // namespace wbcpu
