/* race.cpp - two accesses to the same bytes by different threads, at least one of them a
 * write, race unless something orders them. The order is computed, not observed: a race is
 * found whatever order the threads happen to run in.
 */
#include "check.h"
#include "memory.h"

#include <string.h>
#include <vector>

namespace wbcpu::check
{
struct conflict {
    uint32_t thread; /* in the grid, from 1 */
    unsigned site;
    bool write;
};

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
        return "put a cluster_sync(), which all blocks of the cluster call, between the two";
    if (thread / 32 == other / 32)
        return "put a __syncwarp() or a __syncthreads() between the two";
    return "put a __syncthreads() between the two";
}

static void
describe_race(finding *f, worker *w, const access &a, const conflict &c, bool shared)
{
    unsigned long long number = c.thread - 1;
    f->other_block = index_in_grid(number / w->threads);
    f->other_thread = index_in_block((unsigned)(number % w->threads));
    f->other_access = c.write ? "writes" : "reads";
    const buffer *b = shared ? nullptr : nearest_buffer(a.address);
    f->what = shared ? shared_element(a.address, a.bytes)
              : b    ? element_of(b, a.address, a.bytes)
                     : "memory";
    const char *how = a.atomic  ? (a.write ? "updates" : "reads")
                      : a.write ? "writes"
                                : "reads";
    f->message = format(
        "%s %s%s; %s %s it at %s, and nothing orders the two", how, f->what.c_str(),
        a.atomic ? " atomically" : "",
        thread_text(f->other_block, f->other_thread).c_str(), f->other_access.c_str(),
        text_of(f->other).c_str());
    f->fix = fix_of(
        f->kind, w->thread, (unsigned)(number % w->threads),
        number / w->threads == w->block);
}

static const char *kind_of(worker *w, const conflict &c, bool shared)
{
    if (shared) return "race-shared";
    unsigned long long block = (c.thread - 1) / w->threads;
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
    conflict with;
    unsigned char before[16];
};
static std::vector<pending> &late = *new std::vector<pending>;

static void
report(worker *w, const char *kind, const access &a, const conflict &c, bool shared)
{
    finding *f = find(kind, a.at->at(), site_number(c.site)->at());
    if (!f) return;
    describe_race(f, w, a, c, shared);
    if (!strcmp(kind, "same-value")) {
        f->note = true;
        f->fix = "harmless while the values are equal; better let one thread write it";
    }
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

static __attribute__((noinline)) void
race(worker *w, const access &a, const conflict &c, bool shared)
{
    if (!a.write || a.atomic || !c.write) {
        report(w, kind_of(w, c, shared), a, c, shared);
        return;
    }
    writes_pending = true;
    pending p = {shared, w->thread, a, c, {}};
    memcpy(p.before, (void *)a.address, a.bytes);
    late.push_back(p);
}

/* --- cells -------------------------------------------------------------------------- */

bool happens_before(worker *w, uint32_t number, uint32_t time, bool was_read)
{
    uint32_t first = (uint32_t)(w->block * w->threads) + 1;
    if (number - first < w->threads)
        return ordered(w->thread, number - first, time, was_read);
    return ordered_block(
        w->thread, (number - 1) / w->threads, (number - 1) % w->threads, time, was_read);
}

static inline void
add_reader(cell &c, uint32_t me, uint32_t time, const access &a, uint8_t mask)
{
    if (c.reader[0] != me) { /* the older one moves to the second place */
        c.reader[1] = c.reader[0];
        c.read_time[1] = c.read_time[0];
        c.read_site[1] = c.read_site[0];
        c.read_mask[1] = c.read_mask[0];
        c.atomic_read[1] = c.atomic_read[0];
    }
    c.reader[0] = me;
    c.read_time[0] = time;
    c.read_site[0] = a.at->number;
    c.read_mask[0] = mask;
    c.atomic_read[0] = a.atomic;
}

static inline bool unordered(
    worker *w, uint32_t me, uint8_t mask, uint32_t other, uint32_t time,
    uint8_t other_mask, bool was_read)
{
    return other && other != me && other_mask & mask &&
           !happens_before(w, other, time, was_read);
}

/* Do two atomic or volatile accesses tolerate each other? Volatile ones of one warp do
 * not: nothing orders its lanes. */
static inline bool tolerated(worker *w, const access &a, uint32_t other)
{
    uint32_t first = (uint32_t)(w->block * w->threads) + 1;
    return a.atomic && !(a.polled && (other - first) / 32 == w->thread / 32);
}

void check_cell(
    worker *w, cell &c, uint32_t stamp, const access &a, uint8_t mask, bool shared)
{
    if (c.stamp != stamp) {
        memset(&c, 0, sizeof c);
        c.stamp = stamp;
    }
    uint32_t me = (uint32_t)(w->block * w->threads) + w->thread + 1;
    uint32_t time = time_of(w->thread);
    for (int i = 0; i < 2; i++)
        if (unordered(
                w, me, mask, c.writer[i], c.write_time[i], c.write_mask[i], false) &&
            !(i == 1 && tolerated(w, a, c.writer[i])))
            race(w, a, {c.writer[i], c.write_site[i], true}, shared);
    if (!a.write) {
        add_reader(c, me, time, a, mask);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (unordered(w, me, mask, c.reader[i], c.read_time[i], c.read_mask[i], true) &&
            !(c.atomic_read[i] && tolerated(w, a, c.reader[i]))) {
            race(w, a, {c.reader[i], c.read_site[i], false}, shared);
            break;
        }
    int i = a.atomic;
    bool again = c.writer[i] == me && c.write_time[i] == time;
    c.write_mask[i] = again ? c.write_mask[i] | mask : mask;
    c.writer[i] = me;
    c.write_time[i] = time;
    c.write_site[i] = a.at->number;
}
}  // namespace wbcpu::check
