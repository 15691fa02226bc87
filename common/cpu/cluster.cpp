/* cluster.cpp - the blocks of a cluster run at the same time: each on a CPU thread of its
 * own, so that its shared memory, which is thread-local, exists. All of them finish before
 * the next cluster begins. In check mode one runs until it cannot continue, then the next
 * one: reports repeat. So do all blocks of a cooperative launch there. */
#include "async.h"
#include "check/hooks.h"

#include <link.h>
#include <system_error>
#include <thread>

namespace wbcpu
{
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
    misuse("calls cluster_map or map_shared_rank with an address outside shared memory");
}
extern "C" unsigned wbcpu_cluster_rank_of(const void *p)
{
    gang *g = async_of(self())->of;
    size_t i = 0;
    for (const module &m : modules()) {
        for (size_t rank = 0; rank < g->memory.size(); rank++)
            if ((uintptr_t)p - (uintptr_t)g->memory[rank][i] < m.bytes)
                return (unsigned)rank;
        i++;
    }
    if (g->memory.empty() && in_shared(self(), p, 1)) return 0; /* without clusters */
    misuse("calls query_shared_rank with an address outside shared memory");
}

/* --- the cluster barrier ------------------------------------------------------------ */

static void happened(gang *g) /* with the lock */
{
    g->events++;
    g->idle = 0;
    if (!check::enabled) g->changed.notify_all(); /* else they look in their next turns */
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

extern "C" void wbcpu_cluster_sent()
{
    if (async_of(self())->of->size == 1)
        misuse("calls st_async in a kernel that was launched without clusters");
    wbcpu_cluster_touched();
}

typedef std::unique_lock<std::mutex> locked;

static void wait_for_turn(gang *g, int rank, locked &hold)
{
    g->turn_of[(size_t)rank].wait(hold, [&] { return g->turn == rank; });
    check::turn_begins();
}
static void next_turn(gang *g) /* with the lock */
{
    for (int i = 0; i < g->size; i++) {
        g->turn = (g->turn + 1) % g->size;
        if (!g->left[(size_t)g->turn]) break;
    }
    g->turn_of[(size_t)g->turn].notify_one();
}
/* The other blocks run, each until it cannot continue. */
static void let_others_run(worker *w, locked &hold)
{
    check::turn_ends();
    next_turn(w->gang);
    wait_for_turn(w->gang, w->rank, hold);
}
void let_others_run(worker *w)
{
    locked hold(w->gang->lock);
    let_others_run(w, hold);
    hold.unlock();
    if (w->gang->abandoned) check::give_up(w);
}
bool begin_together(worker *w)
{
    locked hold(w->gang->lock);
    let_others_run(w, hold);
    return !w->gang->abandoned;
}
void abandon_cluster(worker *w)
{
    if (w->gang) w->gang->abandoned = true;
}

bool wait_for_others(worker *w, uint64_t seen)
{
    gang *g = w->gang;
    locked hold(g->lock);
    if (g->events == seen) g->idle++;
    auto stuck = [&] { return g->idle + g->ended == g->size; };
    auto may_continue = [&] { return g->events != seen || stuck() || g->abandoned; };
    while (check::enabled && !may_continue())
        let_others_run(w, hold);
    g->changed.wait(hold, may_continue);
    bool happened = g->events != seen, give_up = g->abandoned && !stuck();
    hold.unlock();
    if (give_up) check::give_up(w);
    return happened;
}

/* No block can continue: a multicast copy arrives, unless one has in the meantime. */
bool run_multicast(gang *g, uint64_t seen)
{
    std::lock_guard<std::mutex> hold(g->lock);
    if (g->events != seen) return true;
    if (g->loads.empty()) return false;
    run_load(&g->loads);
    happened(g);
    return true;
}
bool awaits_multicast(worker *w)
{
    std::lock_guard<std::mutex> hold(w->async->of->lock);
    for (const tma_copy &c : w->async->of->loads)
        if (c.rank == w->async->rank) return true;
    return false;
}

/* A block arrives, once in a phase. Those that have ended need not arrive again. */
static void arrive(worker *w, bool ended) /* with the lock */
{
    async_block *a = w->async;
    gang *g = a->of;
    bool again = a->arrival == g->generation;
    check::cluster_block_arrives(w, g->generation + again, ended);
    if (again) return;
    a->arrival = g->generation;
    if (++g->arrived < g->size) return;
    g->arrived = g->ended;
    check::cluster_passed(g->generation);
    __atomic_add_fetch(&g->generation, 1, __ATOMIC_RELEASE);
    happened(g);
}

/* All threads of the block that have not exited have arrived. */
static void block_arrives(worker *w)
{
    async_block *a = w->async;
    a->cluster_arrived = 0;
    a->open = true;
    memset(a->arrived, 0, sizeof a->arrived);
    std::lock_guard<std::mutex> hold(a->of->lock);
    arrive(w, false);
}
bool open_to_cluster(const worker *w)
{
    return w->gang && w->async->open;
}

extern "C" int wbcpu_cluster_rank()
{
    return async_of(self())->rank;
}
extern "C" void wbcpu_cluster_dims(dim3 *blocks)
{
    *blocks = self()->job->launch.cluster;
}
extern "C" void wbcpu_cluster_arrive()
{
    worker *w = self();
    async_block *a = async_of(w);
    if (a->arrived[w->thread])
        misuse("calls cluster_arrive twice without cluster_wait between");
    a->arrived[w->thread] = true;
    a->cluster_token[w->thread] = a->of->generation;
    check::cluster_arrives(w, a->of->generation);
    if (++a->cluster_arrived == w->alive) block_arrives(w);
}
extern "C" void wbcpu_cluster_wait()
{
    worker *w = self();
    async_block *a = async_of(w);
    wait_until(
        w, {condition::CLUSTER, &a->of->generation, a->cluster_token[w->thread], 0,
            __builtin_extract_return_addr(__builtin_return_address(0))});
    check::cluster_waited(w, a->cluster_token[w->thread]);
}
void cluster_thread_exits(worker *w)
{
    async_block *a = w->async;
    if (a->arrived[w->thread]) a->arrived[w->thread] = false, a->cluster_arrived--;
    if (a->cluster_arrived && a->cluster_arrived == w->alive - 1) block_arrives(w);
}

/* --- the barrier of the grid, in check mode ----------------------------------------- */

void arrive_at_grid(worker *w, uint64_t syncs)
{
    gang *g = w->gang;
    std::lock_guard<std::mutex> hold(g->lock);
    uint64_t &mine = g->syncs[(size_t)w->rank];
    if (mine >= syncs) return; /* another thread of the block has arrived for it */
    mine = syncs;
    check::grid_block_arrives(w, syncs);
    if (++g->arrived < g->size) return;
    g->arrived = 0;
    __atomic_add_fetch(&g->generation, 1, __ATOMIC_RELEASE);
    happened(g);
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
    async_block *a = make_async(w);
    w->gang = g;
    w->rank = rank;
    memset(a->grid_syncs, 0, sizeof a->grid_syncs);
    if (!g->grid) become(a, g, rank);
    std::vector<char *> starts;
    for (const module &m : modules())
        starts.push_back(start_of(m));
    locked hold(g->lock);
    g->memory[(size_t)rank] = starts;
    g->grid ? check::joins_grid() : check::joins_cluster(rank, g->size);
    if (check::enabled) wait_for_turn(g, rank, hold);
}
static void leave_gang(worker *w, gang *g, int rank)
{
    if (w->async)
        become(w->async, &w->async->alone, 0); /* unless the launch was given up */
    w->gang = nullptr;
    locked hold(g->lock);
    if (g->grid) check::leaves_grid();
    g->left[(size_t)rank] = true;
    next_turn(g);
}

bool run_gangs(job *j, worker *first, void (*run)(void *job, worker *w))
{
    gang g;
    g.grid = runs_together(*j);
    g.size = g.grid ? (int)j->blocks : (int)j->launch.cluster_blocks();
    size_t size = (size_t)g.size;
    g.memory.resize(size), g.left.resize(size), g.syncs.resize(size);
    g.turn_of = std::vector<std::condition_variable>(size);
    std::vector<worker *> workers = {first};
    while (workers.size() < size && workers.back())
        workers.push_back(check::enabled ? try_new_worker() : new_worker());
    std::vector<std::thread> others;  /* they live as long as the launch */
    bool cancelled = !workers.back(); /* before the first turn ends */
    auto run_rank = [&](int rank) {
        worker *w = workers[(size_t)rank];
        join_gang(w, &g, rank);
        if (!cancelled) run(j, w);
        leave_gang(w, &g, rank);
    };
    try {
        for (int rank = 1; rank < g.size && !cancelled; rank++)
            others.emplace_back([=, &run_rank] {
                use_signal_stack();
                run_rank(rank);
            });
    } catch (const std::system_error &) {
        if (!check::enabled) throw;
        std::lock_guard<std::mutex> hold(g.lock);
        cancelled = true;
        for (size_t rank = others.size() + 1; rank < size; rank++)
            g.left[rank] = true;
    }
    if (!cancelled || !others.empty()) run_rank(0);
    for (std::thread &t : others)
        t.join();
    for (size_t i = 1; i < workers.size() && workers[i]; i++)
        delete_worker(workers[i]);
    return !cancelled;
}

/* A block has ended, or none has begun. Waits until all blocks of the cluster have. */
bool next_of_gang(worker *w)
{
    gang *g = w->gang;
    locked hold(g->lock);
    uint64_t round = g->round;
    if (w->last_block) { /* the block that ended takes part in no barrier any more */
        g->ended++;
        if (!g->grid) arrive(w, true);
        happened(g);
    }
    if (++g->waiting == g->size) {
        g->waiting = g->ended = g->arrived = g->idle = 0;
        g->round++;
        g->turn = g->size - 1; /* the next turn is rank 0's */
        g->changed.notify_all();
    }
    auto may_continue = [&] { return g->round != round || g->abandoned; };
    bool first = true; /* a new cluster begins with rank 0 */
    while (check::enabled && (first || !may_continue())) {
        first = false;
        let_others_run(w, hold);
    }
    g->changed.wait(hold, may_continue);
    if (g->abandoned) return false;
    w->block = w->last_block + (unsigned)w->rank;
    w->last_block += (unsigned)g->size;
    w->async->used = true;
    w->async->open = false;
    return w->block < w->job->blocks;
}
}  // namespace wbcpu
