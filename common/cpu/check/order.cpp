/* order.cpp - what orders the accesses of two threads.
 *
 * Each thread of the running block has a clock, which advances whenever it synchronizes.
 * An access happens before what another thread does now if that thread has learned of its
 * time:
 *
 *     barrier       every thread learns the clocks of all
 *     cluster barrier   the same in all blocks of the cluster (cluster.cpp)
 *     collective    its lanes learn each other's clocks
 *     __threadfence, then an atomic (or volatile) write
 *                   The write publishes what this thread knew at the __threadfence; a
 *                   thread that reads the same address atomically learns it. This is the
 *                   only other order between blocks. Without __threadfence the write publishes
 *                   only that this thread has read: what it read cannot change any more.
 */
#include "order.h"
#include "cluster.h"
#include "hooks.h"
#include "lessons.h"

#include <algorithm>
#include <map>
#include <string.h>
#include <unordered_map>

namespace wbcpu::check
{
/* What a thread knew when it last wrote an address: if that is unchanged, there is nothing
 * to publish again. */
struct edition {
    unsigned thread;
    uint32_t fence, syncs, learned;
    bool operator==(const edition &e) const
    {
        return thread == e.thread && fence == e.fence && syncs == e.syncs &&
               learned == e.learned;
    }
};
struct signal_word {
    std::map<uint64_t, times_ptr> of_block; /* what an atomic read of it teaches */
    uint64_t block;                         /* that wrote last */
    edition last;
};
static bool signals;     /* the launch has a __threadfence or a volatile write */
static uint32_t learned; /* how often something was learned */
static auto &published = *new std::unordered_map<uintptr_t, signal_word>;

/* Of the running block */
struct block_order : block_clocks {
    uint32_t fence[max_threads]; /* at the last __threadfence */
    uint32_t async[max_threads]; /* at the last fence_async */
    uint32_t phase[max_threads]; /* of the cluster barrier that is known to have ended */
    uint32_t syncs, fence_syncs[max_threads]; /* of the block, and then */
    /* Collectives of a part of a warp: what lane l knows of lane k, [w][l][k] */
    uint32_t partial[max_warps][32][32];
    uint32_t partial_block[max_warps];   /* the block that it belongs to */
    std::map<uint64_t, lessons> learned; /* by block */
};
static block_order *orders[max_cluster]; /* by rank */
static WBCPU_THREAD_LOCAL block_order *here;
WBCPU_THREAD_LOCAL block_clocks *clocks; /* the same */

void order_launch()
{
    signals = false;
    published.clear();
}

void order_block(worker *w)
{
    block_order *&mine = orders[current.rank];
    if (!mine) mine = new block_order();
    here = mine;
    clocks = mine;
    for (unsigned t = 0; t < w->threads; t++)
        here->now[t] = 1;
    size_t bytes = w->threads * sizeof *here->now;
    memset(here->at_barrier, 0, bytes);
    memset(here->at_warp, 0, bytes);
    memset(here->async, 0, bytes);
    memset(here->phase, 0, bytes);
    here->learned.clear();
    if (!signals) return;
    memset(here->fence, 0, sizeof here->fence);
    for (auto i = published.begin();
         i != published.end();) /* shared memory starts again */
        i = rank_of(i->first) == current.rank ? published.erase(i) : std::next(i);
}

uint32_t advance(unsigned thread)
{
    return here->now[thread]++;
}

/* --- barriers and collectives ------------------------------------------------------- */

void barrier_orders(worker *w)
{
    here->syncs++;
    uint32_t *phase = here->phase, last = *std::max_element(phase, phase + w->threads);
    for (unsigned t = 0; t < w->threads; t++) {
        here->at_barrier[t] = advance(t);
        phase[t] = last;
    }
}

static void order_part(unsigned warp_number, uint32_t lanes)
{
    auto &known = here->partial[warp_number];
    if (here->partial_block[warp_number] != current.block) {
        memset(known, 0, sizeof known);
        here->partial_block[warp_number] = current.block;
    }
    uint32_t all[32] = {}, *clock = here->now + warp_number * 32;
    for (uint32_t m = lanes; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        for (int k = 0; k < 32; k++)
            all[k] = std::max(all[k], known[lane][k]);
    }
    for (uint32_t m = lanes; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        all[lane] = clock[lane]++;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
        memcpy(known[__builtin_ctz(m)], all, sizeof all);
}

void collective_orders(unsigned warp_number, uint32_t lanes, uint32_t alive)
{
    here->syncs++;
    uint32_t *phase = here->phase + warp_number * 32, last = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        last = std::max(last, phase[__builtin_ctz(m)]);
    for (uint32_t m = lanes; m; m &= m - 1)
        phase[__builtin_ctz(m)] = last;
    if (lanes != alive) {
        order_part(warp_number, lanes);
        return;
    }
    uint32_t *clock = here->now + warp_number * 32,
             *seen = here->at_warp + warp_number * 32;
    for (int lane = 0; lane < 32; lane++)
        seen[lane] = clock[lane]++;
}

/* The latest time of `before` that `thread` knows without __threadfence. */
static uint32_t known_time(unsigned thread, unsigned before)
{
    uint32_t time = std::max(
        here->at_barrier[before],
        arrival_time(here->phase[thread], current.rank, before));
    if (thread / 32 != before / 32) return time;
    time = std::max(time, here->at_warp[before]);
    if (here->partial_block[thread / 32] == current.block)
        time = std::max(time, here->partial[thread / 32][thread % 32][before % 32]);
    return time;
}

/* --- __threadfence and atomics ------------------------------------------------------ */

void fenced(worker *w)
{
    signals = true;
    here->fence[w->thread] = advance(w->thread);
    here->fence_syncs[w->thread] = here->syncs;
}

/* known_time of all threads of the block, together: with few branches */
static void known_times(worker *w, uint32_t *known)
{
    unsigned me = w->thread, first = me / 32 * 32;
    memcpy(known, here->at_barrier, w->threads * sizeof *known);
    if (uint32_t phase = here->phase[me])
        for (unsigned t = 0; t < w->threads; t++)
            known[t] = std::max(known[t], arrival_time(phase, current.rank, t));
    for (unsigned t = first; t < std::min(first + 32, w->threads); t++)
        known[t] = known_time(me, t);
}

/* What the running thread publishes of its own block, and what is published already */
static times_ptr own_times(worker *w, const times *before)
{
    auto mine = std::make_shared<times>();
    unsigned me = w->thread;
    bool fresh = here->fence[me] && here->fence_syncs[me] == here->syncs;
    mine->read.resize(w->threads);
    known_times(w, mine->read.data());
    mine->covered = mine->read;
    uint32_t *covered = mine->covered.data(), *read = mine->read.data();
    for (unsigned t = 0; !fresh && t < w->threads; t++)
        covered[t] = std::min(covered[t], here->fence[t]);
    covered[me] = here->fence[me];
    read[me] = advance(me);
    mine->phase = here->phase[me];
    if (before) mine->add(*before);
    return mine;
}

uint32_t known_phase(unsigned thread)
{
    return here->phase[thread];
}
void learn_phase(worker *w, uint32_t phase)
{
    if (here->phase[w->thread] >= phase) return;
    here->phase[w->thread] = phase;
    here->syncs++;
}
static void learn(worker *w, uint64_t block, const times_ptr &what)
{
    if (rank_in_cluster(block) >= 0) learn_phase(w, what->phase);
    lesson &known = here->learned[block].of(w->thread);
    if (known.what == what) return;
    known.what = joined(known.what, what);
    known.time = here->now[w->thread];
    learned++;
}

/* Which accesses in its block happened before what the running thread does now, by what it
 * learned, or a thread that it has synchronized with since. The same as learned_of for all
 * threads together, because publish asks for each: in a block of 384 threads that wait at an
 * mbarrier, that would be 384 times 384 steps. */
static std::vector<uint32_t> learned_times(worker *w)
{
    std::vector<uint32_t> known(w->threads);
    const times *last = nullptr; /* most threads learned the same */
    for (const lesson &from : here->learned[w->block].all) {
        if (from.what.get() == last) continue;
        if (from.thread != w->thread && from.time > known_time(w->thread, from.thread))
            continue;
        last = from.what.get();
        for (unsigned t = 0; t < w->threads; t++)
            known[t] = std::max(known[t], last->covered[t]);
    }
    return known;
}

static void publish(worker *w, signal_word *word)
{
    unsigned me = w->thread;
    std::vector<uint32_t> known = learned_times(w);
    for (auto &[block, lessons_of] : here->learned) {
        const times *last = nullptr;
        for (const lesson &from : lessons_of.all) {
            unsigned by = from.thread;
            if (from.what.get() == last) continue;
            if (by != me && from.time > std::max(known_time(me, by), known[by])) continue;
            last = from.what.get();
            times_ptr &taught = word->of_block[block];
            taught = joined(taught, from.what);
        }
    }
    times_ptr &own = word->of_block[w->block];
    own = own_times(w, own.get());
}

void order_atomic(worker *w, const access &a)
{
    if (a.polled && a.write) signals = true;
    if (!signals) return;
    signal_word &word = published[a.address];
    for (auto &of_block : word.of_block)
        learn(w, of_block.first, of_block.second);
    if (!a.write) return;
    edition now = {w->thread, here->fence[w->thread], here->syncs, learned};
    if (!word.of_block.empty() && word.block == w->block && now == word.last) return;
    word.last = now;
    word.block = w->block;
    publish(w, &word);
}

void async_fenced(worker *w)
{
    here->async[w->thread] = advance(w->thread);
}
bool async_visible(worker *w, uint32_t number, uint32_t time)
{
    int rank = rank_in_cluster((number - 1) / w->threads);
    return rank < 0 || time <= orders[rank]->async[(number - 1) % w->threads];
}
void arrives(worker *w, const void *barrier)
{
    fenced(w);
    order_atomic(w, {(uintptr_t)barrier, 8, true, true, false, nullptr});
}
void waited(worker *w, const void *barrier)
{
    order_atomic(w, {(uintptr_t)barrier, 8, false, true, false, nullptr});
}

static bool teaches(const lesson &l, unsigned before, uint32_t time, bool was_read)
{
    return time <= (was_read ? l.what->read : l.what->covered)[before];
}

static bool
learned_of(uint64_t block, unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    auto list = here->learned.find(block);
    if (list == here->learned.end()) return false;
    lessons &of = list->second;
    /* First what it learned itself: each thread that waits at an mbarrier learns. */
    auto own = of.find(thread);
    if (own != of.all.end() && own->thread == thread &&
        teaches(*own, before, time, was_read))
        return true;
    for (const lesson &from : of.all)
        if (from.time <= known_time(thread, from.thread) &&
            teaches(from, before, time, was_read))
            return true;
    return false;
}

bool ordered_otherwise(unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    if (time <= known_time(thread, before)) return true;
    return signals && learned_of(self()->block, thread, before, time, was_read);
}
bool ordered_block(
    unsigned thread, uint64_t block, unsigned before, uint32_t time, bool was_read)
{
    int rank = rank_in_cluster(block);
    if (rank >= 0 && time <= arrival_time(here->phase[thread], rank, before)) return true;
    return signals && learned_of(block, thread, before, time, was_read);
}

/* --- clusters ----------------------------------------------------------------------- */

bool knows_start_of(unsigned thread, uint64_t block)
{
    return here->phase[thread] || learned_of(block, thread, 0, 0, false);
}
bool block_knows(uint64_t block, unsigned before, uint32_t time, bool was_read)
{
    for (unsigned t = 0; t < self()->threads; t++)
        if (ordered_block(t, block, before, time, was_read)) return true;
    return false;
}

/* What threads of a cluster have learned of other clusters, they tell each other. */
static auto &told = *new std::map<uint64_t, times_ptr>;

void forget_shared_lessons()
{
    told.clear();
}
void share_lessons()
{
    for (auto &block : here->learned)
        for (const lesson &from : block.second.all)
            if (rank_in_cluster(block.first) < 0)
                told[block.first] = joined(told[block.first], from.what);
}
void take_lessons(worker *w)
{
    for (auto &block : told)
        learn(w, block.first, block.second);
}
}  // namespace wbcpu::check
