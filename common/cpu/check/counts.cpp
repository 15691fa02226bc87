/* counts.cpp - the accesses of the threads of a warp become requests.
 *
 * On a GPU the lanes of a warp execute an instruction together: one request to the memory
 * system. Here they run one after another, so each lane keeps a log of its accesses and
 * basic blocks until the warp converges. While all lanes have logged the same, the n-th
 * entries of all logs form a request; from the first difference on, align.cpp finds what
 * belongs together.
 */
#include "counts.h"
#include "cluster.h"
#include "hooks.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

namespace wbcpu::check
{
std::vector<kernel_tally *> &kernels = *new std::vector<kernel_tally *>;
static kernel_tally *running; /* the kernel */
static lane_log logs[32];
static uint32_t logged;                /* lanes with entries */
static unsigned long long logged_warp; /* that the logs belong to: see warp_of */
constexpr unsigned long long no_warp = ~0ull;
static const worker *const nobody = (worker *)1;
writing_log writing = {nobody, 0, nullptr, nullptr, nullptr};
static uint8_t *special = new uint8_t[1 << 16](); /* access_kind of sites, 0: ordinary */
bool count_nothing;

/* --- logs --------------------------------------------------------------------------- */

static inline unsigned long long warp_of(const worker *w)
{
    return w->block * max_warps + w->thread / 32;
}

/* The lanes of a loop that runs for long without a collective fill their logs one after
 * another, so a log may become long: 4 M entries. Beyond, lanes are counted apart. */
static __attribute__((noinline)) bool grow(lane_log &l)
{
    constexpr unsigned most = 1 << 22, stagger = 8; /* not all in one set of the cache */
    if (l.used == most) return false;
    unsigned room = l.room ? l.room * 4 : 1024;
    uint64_t *old = l.entry ? l.entry - (&l - logs) * stagger : nullptr;
    void *p = realloc(old, (room + 32 * stagger) * sizeof *l.entry);
    if (!p) return false;
    l.entry = static_cast<uint64_t *>(p) + (&l - logs) * stagger;
    l.room = room;
    return true;
}

static bool gather(request *r, uint32_t lanes, unsigned i)
{
    uint64_t first = logs[__builtin_ctz(lanes)].entry[i], differ = 0;
    if (lanes == ~0u) {
        for (int l = 0; l < 32; l++) {
            uint64_t e = logs[l].entry[i];
            differ |= e ^ first;
            r->offset[l] = e & offset_bits;
        }
    } else {
        for (uint32_t m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            uint64_t e = logs[l].entry[i];
            differ |= e ^ first;
            r->offset[l] = e & offset_bits;
        }
    }
    r->lanes = lanes;
    unpack(r, first);
    return !(is_block(first) ? differ : differ & ~offset_bits);
}

static unsigned shortest(uint32_t lanes)
{
    unsigned n = ~0u;
    for (; lanes; lanes &= lanes - 1)
        if (logs[__builtin_ctz(lanes)].used < n) n = logs[__builtin_ctz(lanes)].used;
    return n;
}

/* The lanes, of these, that access memory at entry i or later */
static uint32_t with_accesses(uint32_t lanes, unsigned i)
{
    uint32_t some = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const lane_log &l = logs[__builtin_ctz(m)];
        unsigned e = i;
        while (e < l.used && is_block(l.entry[e]))
            e++;
        if (e < l.used) some |= m & -m;
    }
    return some;
}

static void stop_logging()
{
    if (writing.by != nobody)
        writing.of->used = (unsigned)(writing.next - writing.of->entry);
    writing.by = nobody;
}

static __attribute__((noinline)) void finish_warp()
{
    stop_logging();
    uint32_t lanes = logged;
    unsigned i = 0;
    request r;
    while (lanes) {
        for (unsigned end = shortest(lanes); i < end && gather(&r, lanes, i); i++)
            if (!is_block(logs[__builtin_ctz(lanes)].entry[i])) take(r);
        uint32_t left = with_accesses(lanes, i); /* the others have nothing to pair */
        if (left == lanes) align(logs, lanes, i);
        lanes = left == lanes ? 0 : left;
    }
    for (uint32_t m = logged; m; m &= m - 1)
        logs[__builtin_ctz(m)].used = 0;
    logged = 0;
}

__attribute__((noinline)) void log_first(worker *w, uint64_t entry)
{
    if (!w || count_nothing || !running) return;
    stop_logging();
    if (warp_of(w) != logged_warp) {
        finish_warp();
        logged_warp = warp_of(w);
    }
    unsigned lane = w->thread % 32;
    lane_log &l = logs[lane];
    if (l.used == l.room && !grow(l)) finish_warp();
    writing = {w, w->thread, l.entry + l.used, l.entry + l.room, &l};
    *writing.next++ = entry;
    logged |= 1u << lane;
}

/* The compiler calls this at the start of each basic block. */
extern "C" void __sanitizer_cov_trace_pc()
{
    log_entry(self(), (uintptr_t)__builtin_return_address(0) & offset_bits);
}
void pause_counts(bool begins)
{
    stop_logging();
    count_nothing = begins;
}
void for_all_lanes(bool begins)
{
    pause_counts(begins);
}

void count_access(worker *w, const access &a, bool shared)
{
    uint64_t offset = shared ? shared_offset(a.address) : offset_of(a.address);
    log_entry(w, access_entry(a.at, a.bytes, shared, offset));
}
void count_float_atomic()
{
    running->float_atomics++;
}
void tensor_multiplies(unsigned multiply_adds)
{
    running->tensor += multiply_adds;
}
void count_atomic(worker *w, const access &a)
{
    if (a.write && !a.polled) special[a.at->number] = ATOMIC;
    count_access(w, a, in_thread_local(a.address));
}
void count_as(const site *at, access_kind kind)
{
    special[at->number] = kind;
}
access_kind kind_of(const site *at)
{
    uint8_t kind = special[at->number];
    return kind ? (access_kind)kind : at->write ? WRITE : READ;
}

/* --- events ------------------------------------------------------------------------- */

void count_converged(worker *)
{
    finish_warp();
}

static void add_launches(int n, const job &j)
{
    running->launches += n;
    running->blocks += n * j.blocks;
    running->warps += n * j.blocks * ((j.threads + 31) / 32);
}
void count_launch(const job &j)
{
    count_launch_end();
    const wbcpu_launch &l = j.launch;
    running = nullptr;
    static const bool apart = getenv("WB_CHECK_LAUNCHES"); /* an object per launch */
    for (kernel_tally *k : kernels)
        if (!apart && k->name == l.name) running = k;
    if (!running) kernels.push_back(running = new kernel_tally());
    running->name = l.name;
    running->file = l.file;
    running->line = l.line;
    running->grid = l.grid;
    running->block = l.block;
    running->shared_bytes = l.shared_bytes;
    add_launches(1, j);
    begin_sectors();
}
/* The launch did nothing, and begins again in clusters. */
void count_no_launch(const job &j)
{
    add_launches(-1, j);
}
void count_launch_end()
{
    if (running) finish_warp();
    running = nullptr;
    logged_warp = no_warp;
}

void forget_counts()
{
    for (kernel_tally *k : kernels) {
        for (site_tally *s : k->sites)
            delete s;
        delete k;
    }
    kernels.clear();
}

void count_barrier(const void *pc)
{
    if (!running) return;
    finish_warp();
    running->barriers++;
    running->events[pc].barriers++;
}

static int group_of(int op)
{
    switch (op) {
    case WBCPU_OP_SYNC:
        return SYNC;
    case WBCPU_OP_SHFL:
        return SHUFFLE;
    case WBCPU_OP_BALLOT:
    case WBCPU_OP_ANY:
    case WBCPU_OP_ALL:
        return VOTE;
    case WBCPU_OP_MATCH_ANY:
    case WBCPU_OP_MATCH_ALL:
        return MATCH;
    case WBCPU_OP_CALL:
        return MATRIX_OP;
    }
    return op >= WBCPU_OP_LOOP ? SHUFFLE : REDUCE;
}

void count_collective(int op, const void *pc)
{
    if (!running || op == WBCPU_OP_ACTIVE) return;
    unsigned events = op >= WBCPU_OP_LOOP ? (unsigned)(op - WBCPU_OP_LOOP) : 1;
    running->collectives[group_of(op)] += events;
    running->events[pc].collectives[group_of(op)] += events;
}

/* --- sums --------------------------------------------------------------------------- */

static site_tally *tally_of(const site *at, bool shared)
{
    size_t index = 2 * (size_t)at->number + shared;
    if (index >= running->sites.size()) running->sites.resize(index + 1);
    site_tally *&s = running->sites[index];
    if (!s) s = new site_tally();
    return s;
}

void take(const request &r)
{
    site_tally *s = tally_of(r.at, r.shared);
    access_kind kind = kind_of(r.at);
    passes p = r.shared ? count_wavefronts(r, kind) : count_sectors(running, s, r, kind);
    s->sum.requests++;
    s->sum.count += p.count;
    s->sum.ideal += p.ideal;
    s->sum.bytes += p.bytes;
    if (p.count * s->worst_cost.ideal <= s->worst_cost.count * p.ideal &&
        s->sum.requests > 1)
        return;
    s->worst_cost = p;
    s->worst = r;
}

/* One request per tile: no lane takes part. */
void count_tile(const site *at)
{
    if (!running) return;
    count_as(at, at->write ? TMA_STORE : TMA_LOAD);
    site_tally *s = tally_of(at, false);
    s->sum.requests++;
    s->worst.at = const_cast<site *>(at);
}
void count_tile_row(const site *at, uint64_t offset, size_t bytes)
{
    if (!running) return;
    site_tally *s = tally_of(at, false);
    passes p = count_range(running, s, offset, bytes, at->write);
    s->sum.count += p.count;
    s->sum.bytes += p.bytes;
    s->sum.ideal = (s->sum.bytes + 31) / 32;
}
}  // namespace wbcpu::check
