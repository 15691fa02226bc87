/* cluster.cpp - how the cluster barrier orders accesses, and the lifetime of a block
 * whose shared memory other blocks access: they may do so once they know that it has
 * started, and it must not exit before it knows that they have finished.
 */
#include "cluster.h"
#include "../async.h"
#include "hooks.h"
#include "memory.h"
#include "order.h"

#include <algorithm>
#include <vector>

namespace wbcpu::check
{
/* --- the barrier -------------------------------------------------------------------- */

/* While some threads arrive for phase p, others still know only phase p - 2. */
enum { PHASES = 4 };
static uint32_t arrived[PHASES][max_cluster][max_threads];
static bool barrier_used;

static uint32_t *times_of(uint64_t phase, int rank)
{
    return arrived[phase % PHASES][rank];
}
uint32_t arrival_time(uint32_t phase, int rank, unsigned thread)
{
    return phase ? times_of(phase, rank)[thread] : 0;
}
int rank_in_cluster(uint64_t block)
{
    uint64_t rank = block - (self()->block - (unsigned)current.rank);
    return rank < (unsigned)current.size ? (int)rank : -1;
}

void cluster_arrives(worker *w, uint64_t phase)
{
    barrier_used = true;
    times_of(phase, current.rank)[w->thread] = advance(w->thread);
}
/* ended: all its threads have exited. A thread that has exited has arrived in all later
 * phases, too. */
void cluster_block_arrives(worker *w, uint64_t phase, bool ended)
{
    for (unsigned t = 0; t < w->threads; t++)
        if (ended || !(w->warp_table[t / 32].alive >> t % 32 & 1))
            times_of(phase, current.rank)[t] = time_of(t);
    share_lessons();
}
/* What a thread did before phase p, it also did before phase p + 1. */
void cluster_passed(uint64_t phase)
{
    for (int rank = 0; rank < current.size; rank++)
        for (unsigned t = 0; t < self()->threads; t++) {
            uint32_t &next = times_of(phase + 1, rank)[t];
            next = std::max(next, times_of(phase, rank)[t]);
        }
}
void cluster_waited(worker *w, uint64_t phase)
{
    learn_phase(w, (uint32_t)phase);
    take_lessons(w);
    settle_early_reads((uint32_t)phase);
}

/* --- accesses to the memory of other blocks ----------------------------------------- */

/* The last access of a thread of the cluster to a block's memory */
struct touch {
    uint32_t time;
    bool write, atomic;
    site *at;
    uintptr_t address;
    unsigned bytes;
};
static std::vector<touch> *touches = new std::vector<touch>[max_cluster]; /* by rank */
bool writing_tile;
static uint64_t running_cluster;
static uint32_t running_launch;

void begin_cluster(worker *w)
{
    touches[current.rank].clear();
    uint64_t first = w->block - (unsigned)current.rank;
    if (first == running_cluster && current.launch == running_launch) return;
    running_cluster = first;
    running_launch = current.launch;
    forget_shared_lessons();
    if (barrier_used) memset(arrived, 0, sizeof arrived);
    barrier_used = false;
}

static finding *life_finding(const char *kind, const touch &t)
{
    finding *f = find(kind, t.at->at());
    if (!f) return f;
    int rank = rank_of(t.address);
    f->what = shared_element(t.address, t.bytes);
    if (rank == current.rank) f->what += " of " + block_text(memories[rank].block);
    return f;
}
static const char *verb(const touch &t)
{
    return t.write ? "writes" : "reads";
}
static void not_begun(const touch &t)
{
    finding *f = life_finding("cluster-start", t);
    if (!f) return;
    f->message = format(
        "%s %s, and nothing says that this block has started", verb(t), f->what.c_str());
    f->fix =
        "call " CLUSTER_SYNC " in all blocks before the first access to another block's "
        "shared memory";
    publish(f);
}
static void not_alive(const touch &t, uint64_t block, unsigned thread)
{
    finding *f = life_finding("cluster-exit", t);
    if (!f) return;
    f->block = index_in_grid(block);
    f->thread = index_in_block(thread);
    f->message = format(
        "%s %s; that block does not wait for the access, and may have exited before it",
        verb(t), f->what.c_str());
    f->fix = "call " CLUSTER_SYNC " in all blocks after the last access to another block's "
             "shared memory";
    publish(f);
}

static bool lives(worker *w, const touch &t, int rank)
{
    uint64_t block = memories[rank].block;
    bool begun = knows_start_of(w->thread, block), ended = memories[rank].ended;
    if (!begun)
        not_begun(t);
    else if (ended)
        not_alive(t, w->block, w->thread);
    return begun && !ended;
}

/* For TMA: another block waits for the copy, not the one that starts it. */
bool reaches(worker *w, uintptr_t address, int rank, site *at)
{
    return lives(w, {0, true, false, at, address, 16}, rank);
}
bool reaches(worker *w, const access &a, int rank)
{
    touch now = {time_of(w->thread), a.write, a.atomic, a.at, a.address, a.bytes};
    if (!lives(w, now, rank)) return false;
    std::vector<touch> &all = touches[rank];
    all.resize(max_cluster * max_threads);
    all[(size_t)current.rank * max_threads + w->thread] = now;
    return true;
}

void check_last_touches()
{
    const std::vector<touch> &all = touches[current.rank];
    worker *w = self();
    for (size_t i = 0; i < all.size(); i++) {
        uint64_t block = w->block - (unsigned)current.rank + i / max_threads;
        unsigned thread = i % max_threads;
        const touch &t = all[i];
        if (t.time && !block_knows(block, thread, t.time, !t.write || t.atomic))
            not_alive(t, block, thread);
    }
}
}  // namespace wbcpu::check
