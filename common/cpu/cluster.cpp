/* cluster.cpp - the blocks of a cluster run at the same time: each on a CPU thread of its
 * own, so that its shared memory, which is thread-local, exists. All of them finish before
 * the next cluster begins. */
#include "async.h"
#include "check/hooks.h"

#include <link.h>
#include <thread>

namespace wbcpu
{
static thread_local uint8_t next_cluster = 1;

extern "C" void wbcpu_cluster_next_launch(int blocks)
{
    next_cluster = blocks < 1 ? 1 : blocks > 255 ? 255 : (uint8_t)blocks;
}
extern "C" uint8_t wbcpu_cluster_of_launch()
{
    uint8_t blocks = next_cluster;
    next_cluster = 1;
    return blocks;
}

/* --- shared memory ------------------------------------------------------------------ */

struct tls_index { /* what the compiler passes to __tls_get_addr */
    unsigned long module, offset;
};
extern "C" void *__tls_get_addr(tls_index *);

struct module {
    size_t number, bytes;
};
static int add_module(dl_phdr_info *about, size_t, void *list)
{
    if (!about->dlpi_tls_modid) return 0;
    for (int i = 0; i < about->dlpi_phnum; i++)
        if (about->dlpi_phdr[i].p_type == PT_TLS)
            ((std::vector<module> *)list)
                ->push_back({about->dlpi_tls_modid, about->dlpi_phdr[i].p_memsz});
    return 0;
}
static std::vector<module> modules()
{
    std::vector<module> list;
    dl_iterate_phdr(add_module, &list);
    return list;
}
static char *start_of(const module &m) /* on this CPU thread */
{
    tls_index start = {m.number, 0};
    return (char *)__tls_get_addr(&start);
}

bool in_shared(const worker *w, const void *p, size_t bytes)
{
    uintptr_t at = (uintptr_t)p;
    uintptr_t dynamic = at - (uintptr_t)wbcpu_dynamic_shared;
    if (dynamic < WBCPU_DYNAMIC_SHARED_MAX)
        return dynamic + bytes <= w->job->launch.shared_bytes;
    static thread_local uintptr_t start, size; /* the module of the last variable */
    if (at - start < size) return at - start + bytes <= size;
    for (const module &m : modules())
        if (at - (uintptr_t)start_of(m) < m.bytes) {
            start = (uintptr_t)start_of(m), size = m.bytes;
            return at - start + bytes <= size;
        }
    return false;
}

extern "C" void *wbcpu_cluster_map(void *p, int rank)
{
    worker *w = self();
    async_block *a = async_of(w);
    if (rank < 0 || rank >= a->of->size)
        misuse("names block %d of a cluster of %d", rank, a->of->size);
    if (rank == a->rank) return p;
    static thread_local size_t bytes, i; /* the module of the last variable */
    const auto &mine = a->of->memory[(size_t)a->rank],
               &there = a->of->memory[(size_t)rank];
    if ((uintptr_t)p - (uintptr_t)mine[i] < bytes)
        return there[i] + ((char *)p - mine[i]);
    i = 0;
    for (const module &m : modules()) {
        uintptr_t offset = (uintptr_t)p - (uintptr_t)mine[i];
        bytes = m.bytes;
        if (offset < bytes) return there[i] + offset;
        i++;
    }
    misuse("calls cluster_map with an address outside shared memory");
}

/* --- the cluster barrier ------------------------------------------------------------ */

static void happened(gang *g) /* with the lock */
{
    g->events++;
    g->idle = 0;
    g->changed.notify_all();
}
void something_happened(gang *g)
{
    std::lock_guard<std::mutex> hold(g->lock);
    happened(g);
}
extern "C" void wbcpu_cluster_touched()
{
    something_happened(async_of(self())->of);
}

bool wait_for_others(gang *g, uint64_t seen)
{
    std::unique_lock<std::mutex> hold(g->lock);
    if (g->events == seen) g->idle++;
    g->changed.wait(
        hold, [&] { return g->events != seen || g->idle + g->ended == g->size; });
    return g->events != seen;
}

/* A block arrives, once in a phase. Those that have ended need not arrive again. */
static void arrive(gang *g, async_block *a) /* with the lock */
{
    if (a->arrival == g->generation) return;
    a->arrival = g->generation;
    if (++g->arrived < g->size) return;
    g->arrived = g->ended;
    __atomic_add_fetch(&g->generation, 1, __ATOMIC_RELEASE);
    happened(g);
}

/* All threads of the block that have not exited have arrived. */
static void block_arrives(async_block *a)
{
    a->cluster_arrived = 0;
    a->open = true;
    memset(a->arrived, 0, sizeof a->arrived);
    std::lock_guard<std::mutex> hold(a->of->lock);
    arrive(a->of, a);
}
bool open_to_cluster(const worker *w)
{
    return w->gang && w->async->open;
}

extern "C" int wbcpu_cluster_rank()
{
    return async_of(self())->rank;
}
extern "C" void wbcpu_cluster_arrive()
{
    worker *w = self();
    async_block *a = async_of(w);
    if (a->arrived[w->thread])
        misuse("calls cluster_arrive twice without cluster_wait between");
    a->arrived[w->thread] = true;
    a->cluster_token[w->thread] = a->of->generation;
    check::arrives(w, &a->of->generation);
    if (++a->cluster_arrived == w->alive) block_arrives(a);
}
extern "C" void wbcpu_cluster_wait()
{
    worker *w = self();
    async_block *a = async_of(w);
    wait_until(
        w, {condition::CLUSTER, &a->of->generation, a->cluster_token[w->thread], 0,
            __builtin_extract_return_addr(__builtin_return_address(0))});
    check::waited(w, &a->of->generation);
}
void cluster_thread_exits(worker *w, async_block *a)
{
    if (a->arrived[w->thread]) a->arrived[w->thread] = false, a->cluster_arrived--;
    if (a->cluster_arrived && a->cluster_arrived == w->alive - 1) block_arrives(a);
}

/* --- running ------------------------------------------------------------------------ */

static void become(async_block *a, gang *of, int rank)
{
    a->of = of;
    a->rank = rank;
    a->arrival = 0;
}
static void join_gang(worker *w, gang *g, int rank)
{
    become(make_async(w), g, rank);
    w->gang = g;
    std::vector<char *> starts;
    for (const module &m : modules())
        starts.push_back(start_of(m));
    std::lock_guard<std::mutex> hold(g->lock);
    g->memory[(size_t)rank] = starts;
}
static void leave_gang(worker *w)
{
    become(w->async, &w->async->alone, 0);
    w->gang = nullptr;
}

void run_clusters(job *j, worker *first, void (*run)(void *job, worker *w))
{
    gang g;
    g.size = j->launch.cluster;
    g.memory.resize((size_t)g.size);
    std::vector<std::thread> others; /* they live as long as the launch */
    auto run_rank = [&](worker *w, int rank) {
        join_gang(w, &g, rank);
        run(j, w);
        leave_gang(w);
    };
    for (int rank = 1; rank < g.size; rank++)
        others.emplace_back([=, &run_rank] {
            worker *w = new_worker();
            run_rank(w, rank);
            delete_worker(w);
        });
    run_rank(first, 0);
    for (std::thread &t : others)
        t.join();
}

/* A block has ended, or none has begun. Waits until all blocks of the cluster have. */
bool next_of_gang(worker *w)
{
    gang *g = w->gang;
    std::unique_lock<std::mutex> hold(g->lock);
    uint64_t round = g->round;
    if (w->last_block) { /* the block that ended takes part in no barrier any more */
        g->ended++;
        arrive(g, w->async);
        happened(g);
    }
    if (++g->waiting == g->size) {
        g->waiting = g->ended = g->arrived = g->idle = 0;
        g->round++;
        g->changed.notify_all();
    }
    g->changed.wait(hold, [&] { return g->round != round; });
    w->block = w->last_block + (unsigned)w->async->rank;
    w->last_block += (unsigned)g->size;
    w->async->used = true;
    w->async->open = false;
    return w->block < w->job->blocks;
}
}  // namespace wbcpu
