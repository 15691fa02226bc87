/* hopper.cpp - TMA and wgmma in check mode.
 *
 * A tile that TMA loads is pending until it arrives, which happens as late as possible:
 * any access before that is an error. For races, the thread that starts the load writes the
 * tile at that moment. What has arrived counts as written by no thread: the mbarrier
 * orders it.
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
not_fenced(worker *w, const void *p, unsigned thread, site *wrote, const void *pc)
{
    (void)w;
    finding *f = find("async-proxy", place_of(pc), wrote->at());
    if (!f) return;
    f->what = shared_element((uintptr_t)p, 16);
    f->other_block = blockIdx;
    f->other_thread = index_in_block(thread);
    f->other_access = "writes";
    f->message = format(
        "lets TMA or wgmma read %s, which %s wrote at %s without a fence_async() since",
        f->what.c_str(), thread_text(blockIdx, f->other_thread).c_str(),
        text_of(f->other).c_str());
    f->fix =
        "let each thread that writes such data call fence_async() before the barrier "
        "after which it is read";
    publish(f);
}

void async_reads(worker *w, const void *p, size_t bytes, const void *pc)
{
    count_nothing = true;
    note_range(p, bytes, false, pc);
    count_nothing = false;
    uint16_t number;
    for (size_t at = 0; at < bytes; at += 4) {
        unsigned thread;
        uint32_t time = last_write((uintptr_t)p + at, &thread, &number);
        if (!time || async_visible(thread, time)) continue;
        not_fenced(w, (const char *)p + at, thread, site_number(number), pc);
        return;
    }
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
