/* hopper.cpp - TMA and wgmma in check mode.
 *
 * A tile that TMA loads is pending until it arrives, which happens as late as possible:
 * any access before that is an error. For races, the thread that starts the load writes the
 * tile at that moment. What has arrived counts as written by no thread: the mbarrier
 * orders it.
 *
 * In device memory, the thread that starts a load reads the tile at that moment, and the
 * thread that waits for a store writes it then.
 *
 * What TMA stores and wgmma read, they read through the async proxy: a thread that wrote
 * it by ordinary stores must have called fence_async since, and the reader must be ordered
 * after that thread. The accumulators of a wgmma are pending until its warp waits. */
#include "../async.h"
#include "check.h"
#include "counts.h"
#include "hooks.h"
#include "memory.h"
#include "order.h"

namespace wbcpu::check
{
/* --- ordinary writes before reads through the async proxy --------------------------- */

static void
not_fenced(worker *w, const void *p, uint32_t number, site *wrote, const void *pc)
{
    finding *f = find("async-proxy", place_of(pc), wrote->at());
    if (!f) return;
    f->what = shared_element((uintptr_t)p, 16);
    f->other_block = index_in_grid((number - 1) / w->threads);
    f->other_thread = index_in_block((number - 1) % w->threads);
    f->other_access = "writes";
    f->message = format(
        "lets TMA or wgmma read %s, which %s wrote at %s without a fence_async() since",
        f->what.c_str(), thread_text(f->other_block, f->other_thread).c_str(),
        text_of(f->other).c_str());
    f->fix =
        "let each thread that writes such data call fence_async() before the barrier "
        "after which it is read";
    publish(f);
}

void async_reads(worker *w, const void *p, size_t bytes, const void *pc)
{
    pause_counts(true);
    note_range(p, bytes, false, pc);
    pause_counts(false);
    uint16_t site;
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t number, time = last_write((uintptr_t)p + at, &number, &site);
        if (!time || async_visible(w, number, time)) continue;
        not_fenced(w, (const char *)p + at, number, site_number(site), pc);
        return;
    }
}

/* --- tiles in device memory --------------------------------------------------------- */

void tile_begins(worker *, bool load, const void *pc)
{
    count_tile(site_of(pc, 16, !load));
}
void tile_row(void *gmem, size_t bytes, bool load, const void *pc)
{
    pause_counts(true);
    note_range(gmem, bytes, !load, pc);
    pause_counts(false);
    if (in_heap((uintptr_t)gmem))
        count_tile_row(site_of(pc, 16, !load), offset_of((uintptr_t)gmem), bytes);
}

/* --- accumulators ------------------------------------------------------------------- */

unsigned wgmmas_pending;

void wgmma_pends(int change)
{
    wgmmas_pending += (unsigned)change;
}

void check_accumulator(worker *w, uintptr_t address, bool write, const void *pc)
{
    const wgmma_queue &q = w->async->warps[w->thread / 32];
    for (const wgmma_op &op : q.ops) {
        uintptr_t start = (uintptr_t)op.d[w->thread % 32];
        if (address - start >= (uintptr_t)op.of.n * 2) continue;
        finding *f = find("async-copy", place_of(pc));
        if (!f) return;
        f->what = "an accumulator";
        f->message = format(
            "%s an accumulator while a wgmma is unfinished", write ? "writes" : "reads");
        f->fix = "commit the wgmma and call wgmma_wait with these accumulators first";
        publish(f);
        return;
    }
}
}  // namespace wbcpu::check
