/* async.cpp - cp.async in check mode: the copy happens as late as the hardware allows,
 * when the thread that started it waits for it, or when any thread finds that the phase of
 * its barrier has ended. Until then any access to the destination is an error. For races
 * the destination is written twice: when the copy starts, because others may still read
 * the old data, and when it is waited for or arrives at a barrier, because others may not
 * read the new data before they have waited.
 */
#include "cluster.h"
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
    uint64_t block; /* and thread that started it */
    unsigned thread;
};
/* Of one thread: its copies, oldest first, and where its committed groups end. */
struct copy_queue {
    std::vector<async_copy> copies;
    std::vector<unsigned> ends;
};
copy_queue *copies_of[max_cluster]; /* by rank, then by thread */
static copy_queue &queue_of(unsigned thread)
{
    copy_queue *&all = copies_of[current.rank];
    if (!all) all = new copy_queue[max_threads];
    return all[thread];
}
/* Copies that arrive at a barrier in shared memory, by its address. */
struct arriving {
    async_copy copy;
    uint64_t phase;
};
static auto &at_barriers = *new std::map<const uint64_t *, std::vector<arriving>>;
/* Tiles that TMA loads; those that it stores, which may be read, but not written */
static auto &tiles = *new std::vector<async_copy>, &stores = *new std::vector<async_copy>;
constexpr uint16_t STORED = 0x8000; /* in block_memory::copying */
unsigned copies_pending;

static void mark_words(const async_copy &c, uint16_t mark)
{
    uint16_t *copying = memories[rank_of((uintptr_t)c.to)].copying;
    uintptr_t first = shared_offset((uintptr_t)c.to) / 4;
    for (unsigned i = 0; i < (c.bytes + 3) / 4; i++)
        copying[first + i] = mark;
}
static void mark(const async_copy &c)
{
    mark_words(c, (uint16_t)(c.thread + 1));
}
static void unmark(const async_copy &c)
{
    mark_words(c, 0);
}

/* --- findings ----------------------------------------------------------------------- */

static const async_copy *copy_to(unsigned thread, uintptr_t address)
{
    for (const async_copy &c : queue_of(thread).copies)
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
static const async_copy *store_from(uintptr_t address)
{
    for (const async_copy &c : stores)
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
    const async_copy *arrives = arriving_copy_to(a.address),
                     *stored = store_from(a.address);
    const async_copy *c = stored    ? stored
                          : arrives ? arrives
                                    : copy_to(thread, a.address);
    if (c) found.insert(c->pc);
    finding *f = find("async-copy", a.at->at(), c ? place_of(c->pc) : nullptr);
    if (!f) return;
    f->what = shared_element(a.address, a.bytes);
    uint64_t block = c ? c->block : w->block;
    f->other_block = index_in_grid(block);
    f->other_thread = index_in_block(thread);
    f->other_access = "copies";
    bool same = block == w->block && thread == w->thread;
    f->message = format(
        "%s %s while the copy that %s started at %s is not finished",
        a.write ? "writes" : "reads", f->what.c_str(),
        same ? "it" : thread_text(f->other_block, f->other_thread).c_str(),
        f->other ? text_of(f->other).c_str() : "an unknown line");
    f->fix = stored ? "let the thread that has started the store call tma_wait_read<0>() "
                      "first, then __syncthreads() if others write"
             : arrives ? "first wait for the barrier at which the copy arrives"
                       : "commit the copies and wait for their group first, then "
                         "__syncthreads() if other threads use the data";
    publish(f);
}

bool check_pending(worker *w, const access &a)
{
    const uint16_t *copying = memories[rank_of(a.address)].copying;
    uintptr_t offset = shared_offset(a.address);
    for (uintptr_t i = offset / 4; i <= (offset + a.bytes - 1) / 4; i++) {
        if (!copying[i] || (copying[i] & STORED && !a.write)) continue;
        accessed(w, a, (copying[i] & ~STORED) - 1u);
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
    mark(c);
    queue_of(w->thread).copies.push_back(c);
    copies_pending++;
}

/* For races, the running thread writes the destination now. */
static void write_now(const async_copy &c)
{
    unmark(c);
    pause_counts(true);
    if (!found.count(c.pc)) note_access(c.to, c.bytes, true, c.pc);
    pause_counts(false);
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
    std::vector<async_copy> &c = queue_of(w->thread).copies;
    for (unsigned i = 0; i < n; i++)
        finish(c[i]);
    c.erase(c.begin(), c.begin() + n);
}

void finish_copies(worker *w)
{
    if (!copies_pending) return;
    copy_queue &q = queue_of(w->thread);
    finish_oldest(w, (unsigned)q.copies.size());
    q.ends.clear();
}

void delete_copies(copy_queue *all)
{
    delete[] all;
}

/* A launch begins; the one before it may have been given up. */
void drop_copies()
{
    wgmmas_pending = 0;
    if (!copies_pending) return;
    for (copy_queue *all : copies_of)
        for (int t = 0; all && t < max_threads; t++)
            all[t] = copy_queue();
    for (int rank = 0; rank < max_cluster; rank++)
        if (uint16_t *copying = memories[rank].copying)
            memset(copying, 0, thread_local_words() * sizeof *copying);
    at_barriers.clear();
    tiles.clear(), stores.clear();
    copies_pending = 0;
}

/* --- tiles that TMA loads ----------------------------------------------------------- */

void tile_leaves(worker *w, void *to, size_t bytes, const void *pc)
{
    async_copy c = {(char *)to, nullptr, (unsigned)bytes, 0, pc, w->block, w->thread};
    int rank = rank_of((uintptr_t)to);
    bool own = rank == current.rank;
    if (!own && !reaches(w, (uintptr_t)to, rank, site_of(pc, 16, true))) return;
    writing_tile = !own;
    pause_counts(true);
    note_range(to, bytes, true, pc);
    pause_counts(false);
    writing_tile = false;
    mark(c);
    tiles.push_back(c);
    copies_pending++;
}

/* The oldest copy of the list at this address ends. Returns its bytes, 0 if there is none. */
static unsigned end_copy(std::vector<async_copy> &copies, const void *at)
{
    for (size_t i = 0; i < copies.size(); i++) {
        if (copies[i].to != at) continue;
        unsigned bytes = copies[i].bytes;
        unmark(copies[i]);
        copies.erase(copies.begin() + (long)i);
        copies_pending--;
        return bytes;
    }
    return 0;
}
void tile_arrives(void *to)
{
    if (unsigned bytes = end_copy(tiles, to)) forget_writes((uintptr_t)to, bytes);
}

void store_leaves(worker *w, void *from, size_t bytes, const void *pc)
{
    async_copy c = {(char *)from, nullptr, (unsigned)bytes, 0, pc, w->block, w->thread};
    mark_words(c, (uint16_t)(STORED | (w->thread + 1)));
    stores.push_back(c);
    copies_pending++;
}
void store_has_read(void *from)
{
    end_copy(stores, from);
}

/* The thread that arrives has written, for those that wait; the data comes at a wait. */
static void arrive(worker *w, const uint64_t *barrier, uint64_t phase)
{
    copy_queue &q = queue_of(w->thread);
    for (const async_copy &c : q.copies) {
        write_now(c);
        mark(c);
        at_barriers[barrier].push_back({c, phase});
    }
    q = copy_queue();
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
        unmark(a.copy);
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
    wbcpu::worker *w = wbcpu::self();
    start(
        w,
        {target, static_cast<const char *>(from), bytes, zeros, pc, w->block, w->thread});
}
extern "C" void wbcpu_copy_commit()
{
    if (!wbcpu_self) return;
    copy_queue &q = queue_of(wbcpu_self->thread);
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
    copy_queue &q = queue_of(wbcpu_self->thread);
    if (q.ends.size() <= newest) return;
    size_t groups = q.ends.size() - newest;
    unsigned copies = q.ends[groups - 1];
    finish_oldest(wbcpu::self(), copies);
    q.ends.erase(q.ends.begin(), q.ends.begin() + (long)groups);
    for (unsigned &end : q.ends)
        end -= copies;
}
