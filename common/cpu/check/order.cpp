/* order.cpp - what orders the accesses of two threads.
 *
 * Each thread of the running block has a clock, which advances whenever it synchronizes.
 * An access happens before the present of another thread if that thread has learned of the
 * time at which it happened:
 *
 *     barrier       every thread learns the clocks of all
 *     collective    its lanes learn each other's clocks
 *     fence, then an atomic (or volatile) write: publishes what this thread knew at the
 *                   fence; a thread that reads the same address atomically learns it. This
 *                   is the only order between blocks. Without the fence it publishes only
 *                   that this thread has read: what it read cannot change any more.
 */
#include "check.h"
#include "hooks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string.h>
#include <unordered_map>
#include <vector>

namespace wbcpu::check
{
static uint32_t clock_of[max_threads];
static uint32_t at_barrier_time[max_threads]; /* clock at the last barrier */
static uint32_t at_warp_time[max_threads]; /* at the last collective of the whole warp */
static uint32_t fence_time[max_threads];   /* at the last fence; 0: none */
static uint32_t syncs, fence_syncs[max_threads]; /* of the block; at the last fence */

/* Collectives of a part of a warp: partial[w][l][k], what lane l knows of lane k. */
static uint32_t partial[max_warps][32][32];
static uint32_t partial_block[max_warps]; /* the block that it belongs to */

/* What a thread published: times of the threads of its block that happened before. */
struct release {
    uint64_t block;
    std::vector<uint32_t> covered;                 /* all accesses up to this time */
    std::vector<uint32_t> read;                    /* reads up to this time */
    std::vector<std::shared_ptr<release>> earlier; /* what its block had learned */
};
typedef std::shared_ptr<release> release_ptr;
struct acquired {
    release_ptr what;
    unsigned thread;
    uint32_t time;
};
static bool signals; /* the launch has executed a fence or a volatile write */
static auto &published =
    *new std::unordered_map<uintptr_t, std::map<uint64_t, release_ptr>>;
static auto &learned = *new std::map<uint64_t, std::vector<acquired>>; /* by block */

void order_launch()
{
    signals = false;
    published.clear();
    learned.clear();
}

void order_block(worker *w)
{
    for (unsigned t = 0; t < w->threads; t++)
        clock_of[t] = 1;
    memset(at_barrier_time, 0, w->threads * sizeof *at_barrier_time);
    memset(at_warp_time, 0, w->threads * sizeof *at_warp_time);
    if (!signals) return;
    memset(fence_time, 0, sizeof fence_time);
    learned.clear();
    for (auto i = published.begin();
         i != published.end();) /* shared memory starts anew */
        i = in_thread_local(i->first) ? published.erase(i) : std::next(i);
}

uint32_t time_of(unsigned thread)
{
    return clock_of[thread];
}

/* --- barriers and collectives ------------------------------------------------------- */

void barrier_orders(worker *w)
{
    syncs++;
    for (unsigned t = 0; t < w->threads; t++)
        at_barrier_time[t] = clock_of[t]++;
}

static void order_part(unsigned warp_number, uint32_t lanes)
{
    auto &known = partial[warp_number];
    if (partial_block[warp_number] != current.block) {
        memset(known, 0, sizeof known);
        partial_block[warp_number] = current.block;
    }
    uint32_t all[32] = {}, *clock = clock_of + warp_number * 32;
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
    syncs++;
    if (lanes != alive) {
        order_part(warp_number, lanes);
        return;
    }
    uint32_t *clock = clock_of + warp_number * 32,
             *seen = at_warp_time + warp_number * 32;
    for (int lane = 0; lane < 32; lane++)
        seen[lane] = clock[lane]++;
}

/* The latest time of `before` that `thread` knows without fences. */
static uint32_t known_time(unsigned thread, unsigned before)
{
    uint32_t time = at_barrier_time[before];
    if (thread / 32 != before / 32) return time;
    time = std::max(time, at_warp_time[before]);
    if (partial_block[thread / 32] == current.block)
        time = std::max(time, partial[thread / 32][thread % 32][before % 32]);
    return time;
}

/* --- fences and atomics ------------------------------------------------------------- */

void fenced(worker *w)
{
    signals = true;
    fence_time[w->thread] = clock_of[w->thread]++;
    fence_syncs[w->thread] = syncs;
}

static release_ptr new_release(worker *w)
{
    auto r = std::make_shared<release>();
    unsigned me = w->thread;
    bool fresh = fence_time[me] && fence_syncs[me] == syncs;
    r->block = w->block;
    r->covered.resize(w->threads);
    r->read.resize(w->threads);
    for (unsigned t = 0; t < w->threads; t++) {
        uint32_t known = known_time(me, t);
        r->covered[t] = fresh ? known : std::min(known, fence_time[t]);
        r->read[t] = known;
    }
    r->covered[me] = fence_time[me];
    r->read[me] = clock_of[me]++;
    for (auto &of_block : learned)
        for (acquired &l : of_block.second)
            if (ordered(me, l.thread, l.time, false)) r->earlier.push_back(l.what);
    return r;
}

static void learn(worker *w, const release_ptr &r)
{
    auto &list = learned[r->block];
    for (acquired &l : list)
        if (l.what == r && l.thread == w->thread) return;
    list.push_back({r, w->thread, clock_of[w->thread]});
    for (const release_ptr &earlier : r->earlier)
        learn(w, earlier);
}

void order_atomic(worker *w, const access &a)
{
    if (a.polled && a.write) signals = true;
    if (!signals) return;
    auto here = published.find(a.address);
    if (here != published.end())
        for (auto &of_block : here->second)
            learn(w, of_block.second);
    if (!a.write) return;
    release_ptr r = new_release(w);
    release_ptr &old = published[a.address][w->block];
    if (old) { /* a later release of the same block covers at least as much */
        for (unsigned t = 0; t < w->threads; t++) {
            r->covered[t] = std::max(r->covered[t], old->covered[t]);
            r->read[t] = std::max(r->read[t], old->read[t]);
        }
        r->earlier.insert(r->earlier.end(), old->earlier.begin(), old->earlier.end());
    }
    old = r;
}

static bool
learned_of(uint64_t block, unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    auto list = learned.find(block);
    if (list == learned.end()) return false;
    for (const acquired &l : list->second) {
        const release &r = *l.what;
        if (time <= (was_read ? r.read : r.covered)[before] &&
            (l.thread == thread || l.time <= known_time(thread, l.thread)))
            return true;
    }
    return false;
}

bool ordered(unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    if (thread == before || time <= known_time(thread, before)) return true;
    return signals && learned_of(self()->block, thread, before, time, was_read);
}
bool ordered_block(
    unsigned thread, uint64_t block, unsigned before, uint32_t time, bool was_read)
{
    return signals && learned_of(block, thread, before, time, was_read);
}
}  // namespace wbcpu::check
