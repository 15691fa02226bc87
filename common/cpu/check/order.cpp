/* order.cpp - what orders the accesses of two threads.
 *
 * Each thread of the running block has a clock, which advances whenever it synchronizes.
 * An access happens before what another thread does now if that thread has learned of its
 * time:
 *
 *     barrier       every thread learns the clocks of all
 *     cluster barrier   the same in all blocks of the cluster (cluster.cpp)
 *     grid.sync()   the same in all blocks of a cooperative launch (cooperative.cpp)
 *     collective    its lanes learn each other's clocks
 *     __threadfence, then an atomic (or volatile) write
 *                   The write publishes what this thread knew at the __threadfence; a
 *                   thread that reads the same address atomically learns it. This is the
 *                   only other order between blocks. Without __threadfence the write publishes
 *                   only that this thread has read: what it read cannot change any more.
 *                   signals.cpp
 */
#include "order.h"
#include "cluster.h"
#include "hooks.h"
#include "lessons.h"

#include <algorithm>
#include <string.h>

namespace wbcpu::check
{
block_order *orders[max_cluster];
WBCPU_THREAD_LOCAL block_order *here;
WBCPU_THREAD_LOCAL block_clocks *clocks; /* the same */

void order_launch()
{
    forget_signals();
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
    forget_signals_of_block();
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

uint32_t known_time(unsigned thread, unsigned before)
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

/* --- __threadfence ------------------------------------------------------------------ */

void fenced(worker *w)
{
    signals = true;
    here->fence[w->thread] = advance(w->thread);
    here->fence_syncs[w->thread] = here->syncs;
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
void async_fenced(worker *w)
{
    here->async[w->thread] = advance(w->thread);
}
bool async_visible(worker *w, uint32_t number, uint32_t time)
{
    int rank = rank_in_cluster((number - 1) / w->threads);
    return rank < 0 || time <= orders[rank]->async[(number - 1) % w->threads];
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
    if (ordered_by_grid(block, before, time)) return true;
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
}  // namespace wbcpu::check
