/* race.cpp - two accesses to the same bytes by different threads, at least one of them a
 * write, race unless something orders them. The order is computed, not observed: a race is
 * found whatever order the threads happen to run in.
 */
#include "cluster.h"
#include "memory.h"

#include <string.h>
#include <vector>

namespace wbcpu::check
{
static const char *
fix_of(const char *kind, unsigned thread, unsigned other, bool same_block)
{
    if (!strcmp(kind, "race-blocks"))
        return "blocks of one launch run in any order: use an atomic operation, or a second "
               "kernel";
    if (!strcmp(kind, "race-global"))
        return "give each thread an element of its own, use an atomic operation, or put a "
               "__syncthreads() between the two";
    if (!same_block)
        return "call " CLUSTER_SYNC " in all blocks of the cluster between the two";
    if (thread / 32 == other / 32)
        return "put a __syncthreads() between the two; a __syncwarp() is enough within a warp";
    return "put a __syncthreads() between the two";
}

static void
describe_race(finding *f, worker *w, const access &a, const earlier &e, bool shared)
{
    unsigned long long number = e.thread - 1;
    f->other_block = index_in_grid(number / w->threads);
    f->other_thread = index_in_block((unsigned)(number % w->threads));
    f->other_access = e.write ? "writes" : "reads";
    const buffer *b = shared ? nullptr : nearest_buffer(a.address);
    f->what = shared ? shared_element(a.address, a.bytes)
              : b    ? element_of(b, a.address, a.bytes)
                     : "memory";
    bool atomic = a.atomic && !a.polled;
    const char *how = !a.write ? "reads" : atomic ? "updates" : "writes";
    f->message = format(
        "%s %s%s; %s %s it at %s, and nothing orders the two", how, f->what.c_str(),
        atomic ? " atomically" : "",
        thread_text(f->other_block, f->other_thread).c_str(), f->other_access.c_str(),
        text_of(f->other).c_str());
    f->fix = fix_of(
        f->kind, w->thread, (unsigned)(number % w->threads),
        number / w->threads == w->block);
}

static const char *kind_of(worker *w, const earlier &e, bool shared)
{
    if (shared) return "race-shared";
    unsigned long long block = (e.thread - 1) / w->threads;
    return block == w->block ? "race-global" : "race-blocks";
}

/* --- writes of equal values --------------------------------------------------------- */

/* The second of two conflicting writes has not happened yet: its value is known only when
 * the next write is about to happen. A struct is one write, of several words. */
bool writes_pending;
struct pending {
    bool shared;
    unsigned thread;
    access at;
    earlier with;
    unsigned char before[16];
};
static std::vector<pending> &late = *new std::vector<pending>;

static void
report(worker *w, const char *kind, const access &a, const earlier &e, bool shared)
{
    finding *f = find(kind, a.at->at(), site_number(e.site)->at());
    if (!f) return;
    describe_race(f, w, a, e, shared);
    if (!strcmp(kind, "same-value")) {
        f->note = true;
        f->fix = "harmless while the values are equal; better let one thread write it";
    }
    if (!a.write && !a.atomic && e.atomic)
        publish_unless_compared(f, a.at);
    else if (!e.write && !e.atomic && a.atomic && !a.polled)
        publish_unless_compared(f, site_number(e.site));
    else
        publish(f);
}

void settle_equal_writes()
{
    if (!writes_pending) return;
    writes_pending = false;
    worker *w = self();
    if (!w) return;
    unsigned running = w->thread;
    for (const pending &p : late) {
        w->thread = p.thread;
        bool equal = !memcmp((void *)p.at.address, p.before, p.at.bytes);
        report(
            w, equal ? "same-value" : kind_of(w, p.with, p.shared), p.at, p.with,
            p.shared);
    }
    w->thread = running;
    late.clear();
}

void race(worker *w, const access &a, const earlier &e, bool shared)
{
    bool plain = !a.atomic || a.polled;
    if (!a.write || !plain || !e.write) {
        report(w, kind_of(w, e, shared), a, e, shared);
        return;
    }
    writes_pending = true;
    pending p = {shared, w->thread, a, e, {}};
    memcpy(p.before, (void *)a.address, a.bytes);
    late.push_back(p);
}
}  // namespace wbcpu::check
