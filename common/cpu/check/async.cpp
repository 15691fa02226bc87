/* async.cpp - cp.async in check mode: the copy happens as late as the hardware allows,
 * when the thread that started it waits for it, or when any thread finds that the phase of
 * its barrier has ended. Until then any access to the destination is an error. For races
 * the destination is written twice: when the copy starts, because others may still read
 * the old data, and when it is waited for or arrives at a barrier, because others may not
 * read the new data before they have waited.
 */
#include "counts.h"
#include "hooks.h"
#include "memory.h"

#include <map>
#include <set>
#include <string.h>

namespace wbcpu::check
{
struct async_copy {
    char *to;
    const char *from;
    unsigned bytes, zeros;
    const void *pc;
};
/* Of one thread: its copies, oldest first, and where its committed groups end. */
struct queue {
    std::vector<async_copy> copies;
    std::vector<unsigned> ends;
};
static queue *queues = new queue[max_threads];
/* Copies that arrive at a barrier in shared memory, by its address. */
struct arriving {
    async_copy copy;
    uint64_t phase;
};
static auto &at_barriers = *new std::map<const uint64_t *, std::vector<arriving>>;
/* Tiles that TMA loads */
static auto &tiles = *new std::vector<async_copy>;
static uint16_t *owner; /* per word of shared memory: thread + 1 of a pending copy */
unsigned copies_pending;

static void mark(const async_copy &c, uint16_t thread)
{
    if (!owner) owner = new uint16_t[thread_local_words()]();
    uintptr_t first = ((uintptr_t)c.to - thread_local_start()) / 4;
    for (unsigned i = 0; i < (c.bytes + 3) / 4; i++)
        owner[first + i] = thread;
}

/* --- findings ----------------------------------------------------------------------- */

static const async_copy *copy_to(unsigned thread, uintptr_t address)
{
    for (const async_copy &c : queues[thread].copies)
        if (address - (uintptr_t)c.to < c.bytes) return &c;
    return nullptr;
}
static const async_copy *arriving_copy_to(uintptr_t address)
{
    for (const auto &barrier : at_barriers)
        for (const arriving &a : barrier.second)
            if (address - (uintptr_t)a.copy.to < a.copy.bytes) return &a.copy;
    for (const async_copy &c : tiles)
        if (address - (uintptr_t)c.to < c.bytes) return &c;
    return nullptr;
}

/* Starts of copies that a finding names: what follows from it is not reported again. */
static std::set<const void *> &found = *new std::set<const void *>;

void forget_copies_found()
{
    found.clear();
}

static void accessed(worker *w, const access &a, unsigned thread)
{
    const async_copy *arrives = arriving_copy_to(a.address);
    const async_copy *c = arrives ? arrives : copy_to(thread, a.address);
    if (c) found.insert(c->pc);
    finding *f = find("async-copy", a.at->at(), c ? place_of(c->pc) : nullptr);
    if (!f) return;
    f->what = shared_element(a.address, a.bytes);
    f->other_block = blockIdx;
    f->other_thread = index_in_block(thread);
    f->other_access = "copies";
    f->message = format(
        "%s %s while the copy that %s started at %s is not finished",
        a.write ? "writes" : "reads", f->what.c_str(),
        thread == w->thread ? "it" : thread_text(blockIdx, f->other_thread).c_str(),
        f->other ? text_of(f->other).c_str() : "an unknown line");
    f->fix = arrives ? "first wait for the barrier at which the copy arrives"
                     : "commit the copies and wait for their group first, then "
                       "__syncthreads() if other threads use the data";
    publish(f);
}

bool check_pending(worker *w, const access &a)
{
    uintptr_t offset = a.address - thread_local_start();
    for (uintptr_t i = offset / 4; i <= (offset + a.bytes - 1) / 4; i++) {
        if (!owner[i]) continue;
        accessed(w, a, owner[i] - 1u);
        return true;
    }
    return false;
}

/* --- copies ------------------------------------------------------------------------- */

static void bad_size(worker *w, const async_copy &c)
{
    if (finding *f = find("async-copy", place_of(c.pc))) {
        f->message = c.zeros > c.bytes
                         ? format("fills %u of %u bytes with zeros", c.zeros, c.bytes)
                         : format("copies %u bytes with one cp.async", c.bytes);
        f->fix = "one cp.async copies 4, 8 or 16 bytes: let each thread start several";
        publish(f);
    }
    abandon(w, cudaErrorInvalidValue);
}

static void start(worker *w, const async_copy &c)
{
    if ((c.bytes != 4 && c.bytes != 8 && c.bytes != 16) || c.zeros > c.bytes)
        bad_size(w, c);
    count_as(site_of(c.pc, c.bytes, false), ASYNC);
    count_as(site_of(c.pc, c.bytes, true), ASYNC);
    if (c.zeros < c.bytes) note_access(c.from, c.bytes - c.zeros, false, c.pc);
    note_access(c.to, c.bytes, true, c.pc);
    if (!in_thread_local((uintptr_t)c.to)) return; /* reported */
    mark(c, (uint16_t)(w->thread + 1));
    queues[w->thread].copies.push_back(c);
    copies_pending++;
}

/* For races, the running thread writes the destination now. */
static void write_now(const async_copy &c)
{
    mark(c, 0);
    count_nothing = true;
    if (!found.count(c.pc)) note_access(c.to, c.bytes, true, c.pc);
    count_nothing = false;
}

static void copy_data(const async_copy &c)
{
    copies_pending--;
    memcpy(c.to, c.from, c.bytes - c.zeros);
    memset(c.to + (c.bytes - c.zeros), 0, c.zeros);
}

static void finish(const async_copy &c)
{
    write_now(c);
    copy_data(c);
}

/* The oldest n copies of the running thread */
static void finish_oldest(worker *w, unsigned n)
{
    std::vector<async_copy> &c = queues[w->thread].copies;
    for (unsigned i = 0; i < n; i++)
        finish(c[i]);
    c.erase(c.begin(), c.begin() + n);
}

void finish_copies(worker *w)
{
    if (!copies_pending) return;
    finish_oldest(w, (unsigned)queues[w->thread].copies.size());
    queues[w->thread].ends.clear();
}

void drop_copies()
{
    wgmmas_pending = 0;
    if (!copies_pending) return; /* only after a launch that was given up */
    for (int t = 0; t < max_threads; t++) {
        for (const async_copy &c : queues[t].copies)
            mark(c, 0);
        queues[t] = queue();
    }
    for (const auto &barrier : at_barriers)
        for (const arriving &a : barrier.second)
            mark(a.copy, 0);
    at_barriers.clear();
    for (const async_copy &c : tiles)
        mark(c, 0);
    tiles.clear();
    copies_pending = 0;
}

/* --- tiles that TMA loads ----------------------------------------------------------- */

void tile_leaves(worker *w, void *to, size_t bytes, const void *pc)
{
    async_copy c = {(char *)to, nullptr, (unsigned)bytes, 0, pc};
    count_nothing = true;
    note_range(to, bytes, true, pc);
    count_nothing = false;
    mark(c, (uint16_t)(w->thread + 1));
    tiles.push_back(c);
    copies_pending++;
}
void tile_arrives(void *to)
{
    for (size_t i = 0; i < tiles.size(); i++) {
        if (tiles[i].to != to) continue;
        mark(tiles[i], 0);
        forget_writes((uintptr_t)to, tiles[i].bytes);
        tiles.erase(tiles.begin() + (long)i);
        copies_pending--;
        return;
    }
}

/* The thread that arrives has written, for those that wait; the data comes at a wait. */
static void arrive(worker *w, const uint64_t *barrier, uint64_t phase)
{
    queue &q = queues[w->thread];
    for (const async_copy &c : q.copies) {
        write_now(c);
        mark(c, (uint16_t)(w->thread + 1));
        at_barriers[barrier].push_back({c, phase});
    }
    q = queue();
}

static void end_phases(const uint64_t *barrier, uint64_t phase)
{
    auto found_at = at_barriers.find(barrier);
    if (found_at == at_barriers.end()) return;
    std::vector<arriving> left;
    for (const arriving &a : found_at->second) {
        if (a.phase == phase) {
            left.push_back(a);
            continue;
        }
        mark(a.copy, 0);
        copy_data(a.copy);
    }
    found_at->second = left;
}
}  // namespace wbcpu::check

using namespace wbcpu::check;

extern "C" void
wbcpu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros)
{
    if (!wbcpu_self) return;
    const void *pc = __builtin_extract_return_addr(__builtin_return_address(0));
    char *target = static_cast<char *>(to);
    start(wbcpu::self(), {target, static_cast<const char *>(from), bytes, zeros, pc});
}
extern "C" void wbcpu_copy_commit()
{
    if (!wbcpu_self) return;
    queue &q = queues[wbcpu_self->thread];
    q.ends.push_back((unsigned)q.copies.size());
}
extern "C" void wbcpu_copy_arrives(uint64_t *barrier, uint64_t phase)
{
    if (wbcpu_self) arrive(wbcpu::self(), barrier, phase);
}
extern "C" void wbcpu_copy_ended(uint64_t *barrier, uint64_t phase)
{
    if (wbcpu_self && copies_pending) end_phases(barrier, phase);
}
extern "C" void wbcpu_copy_wait(unsigned newest)
{
    if (!wbcpu_self) return;
    queue &q = queues[wbcpu_self->thread];
    if (q.ends.size() <= newest) return;
    size_t groups = q.ends.size() - newest;
    unsigned copies = q.ends[groups - 1];
    finish_oldest(wbcpu::self(), copies);
    q.ends.erase(q.ends.begin(), q.ends.begin() + (long)groups);
    for (unsigned &end : q.ends)
        end -= copies;
}
