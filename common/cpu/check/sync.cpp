/* sync.cpp - are barriers and warp collectives used as CUDA demands? */
#include "../async.h"
#include "cluster.h"
#include "counts.h"
#include "hooks.h"
#include "host.h"
#include "memory.h"
#include "order.h"
#include "watchdog.h"

#include <map>
#include <string.h>
#include <vector>

namespace wbcpu::check
{
/* Where a waiting thread called from: the return address in its saved registers. */
static const void *caller(void *stack)
{
#if defined(__x86_64__)
    constexpr int return_word = 6;
#else
    constexpr int return_word = 11;
#endif
    return static_cast<void **>(stack)[return_word];
}

static WBCPU_THREAD_LOCAL const void *waits_at[max_threads];
/* In a barrier whose line is known: __syncthreads_count, _or, _and, grid.sync() */
static WBCPU_THREAD_LOCAL bool reduced[max_threads];
static WBCPU_THREAD_LOCAL bool at_grid[max_threads]; /* in grid.sync() */

/* --- barriers ----------------------------------------------------------------------- */

void at_reduced_barrier(worker *w, const void *pc)
{
    waits_at[w->thread] = pc;
    reduced[w->thread] = true;
    at_grid[w->thread] = false;
}
void at_grid_barrier(worker *w, const void *pc)
{
    at_reduced_barrier(w, pc);
    at_grid[w->thread] = true;
}
void at_barrier(worker *w, void *stack)
{
    settle_equal_writes();
    if (!reduced[w->thread]) {
        waits_at[w->thread] = caller(stack);
        at_grid[w->thread] = false;
    }
    reduced[w->thread] = false;
}
static const char *barrier_name(unsigned thread)
{
    return at_grid[thread] ? "grid.sync()" : "__syncthreads";
}

static bool same_line(const place *a, const place *b)
{
    return a == b || (a->line == b->line && a->file == b->file);
}

static void diverged(worker *w, unsigned first, unsigned other)
{
    const place *here = place_of(waits_at[first]), *there = place_of(waits_at[other]);
    if (same_line(here, there)) return;
    if (finding *f = find("barrier-divergence", here, there)) {
        f->thread = index_in_block(first);
        f->other_block = blockIdx;
        f->other_thread = index_in_block(other);
        f->other_access = "waits";
        bool same = at_grid[first] == at_grid[other];
        f->message = format(
            "waits at this %s while %s waits at the %s at %s", barrier_name(first),
            thread_text(blockIdx, f->other_thread).c_str(),
            same ? "one" : barrier_name(other), text_of(there).c_str());
        f->fix = format(
            "all threads of a block must reach the same %s: put it where all of them pass, "
            "not in a branch that only some take",
            barrier_name(at_grid[other] ? other : first));
        publish(f);
    }
    (void)w;
}

void barrier_released(worker *w)
{
    int first = -1;
    settle_early_reads(0);
    for (unsigned t = 0; t < w->threads; t++) {
        if (!(w->warp_table[t / 32].alive >> t % 32 & 1)) continue;
        if (first < 0) first = (int)t;
        if (waits_at[t] == waits_at[first]) continue;
        diverged(w, (unsigned)first, t);
        break;
    }
    count_converged(w);
    if (first >= 0) count_barrier(waits_at[first]);
    barrier_orders(w);
}

/* The block arrives at grid.sync() for its threads that have not exited. */
void grid_barrier_entered(worker *w)
{
    int first = -1, gone = -1;
    for (unsigned t = w->threads; t--;)
        (w->warp_table[t / 32].alive >> t % 32 & 1 ? first : gone) = (int)t;
    if (gone < 0) return;
    finding *f = find("barrier-divergence", place_of(waits_at[first]));
    if (!f) return;
    f->thread = index_in_block((unsigned)first);
    f->message = format(
        "waits at this grid.sync(), and %s has exited the kernel",
        thread_text(blockIdx, index_in_block((unsigned)gone)).c_str());
    f->fix =
        "let all threads of the grid reach it: a thread without an element must skip the "
        "work, but must not return before the barrier";
    publish(f);
}

/* --- warp collectives --------------------------------------------------------------- */

static std::string lane_list(uint32_t lanes)
{
    std::string s;
    for (int i = 0; i < 32; i++) {
        if (!(lanes >> i & 1)) continue;
        int last = i;
        while (last < 31 && lanes >> (last + 1) & 1)
            last++;
        s += format(last > i ? "%s%d-%d" : "%s%d", s.empty() ? "" : ", ", i, last);
        i = last;
    }
    return s;
}

/* of each thread's last collective */
static WBCPU_THREAD_LOCAL const void *collective_at[max_threads];
static WBCPU_THREAD_LOCAL uint32_t collective_mask[max_threads],
    collective_block[max_threads];

void at_collective(worker *w, unsigned mask, void *stack)
{
    settle_equal_writes();
    const void *pc = caller(stack);
    collective_at[w->thread] = pc;
    collective_mask[w->thread] = mask;
    collective_block[w->thread] = current.block;
    unsigned lane = w->thread % 32;
    if (mask >> lane & 1 || w->warp->op[lane] == WBCPU_OP_ACTIVE) return;
    if (finding *f = find("bad-mask", place_of(pc))) {
        f->message = format(
            "calls %s with mask 0x%08x, which does not name lane %u itself",
            op_name(w->warp->op[lane]), mask, lane);
        f->fix = "every lane that calls it must be in the mask";
        publish(f);
    }
}

/* The lanes of one collective must call the same function, with the same mask. */
static void disagree(worker *w, warp *q, int lane, int other)
{
    unsigned base = (unsigned)(q - w->warp_table) * 32;
    const place *here = place_of(collective_at[base + (unsigned)lane]);
    const place *there = place_of(collective_at[base + (unsigned)other]);
    bool same_op = q->op[lane] == q->op[other];
    bool lines_matter = q->op[lane] != WBCPU_OP_SYNC || !same_op;
    bool same_mask = q->mask[lane] == q->mask[other];
    if (same_op && same_mask && (!lines_matter || same_line(here, there))) return;
    finding *f = find("bad-mask", here, same_line(here, there) ? nullptr : there);
    if (!f) return;
    f->thread = index_in_block(base + (unsigned)lane);
    f->other_block = blockIdx;
    f->other_thread = index_in_block(base + (unsigned)other);
    f->other_access = "waits";
    f->message = same_mask ? format(
                                 "lane %d is at %s here while lane %d is at %s at %s",
                                 lane, op_name(q->op[lane]), other, op_name(q->op[other]),
                                 text_of(there).c_str())
                           : format(
                                 "lane %d passes mask 0x%08x, lane %d passes 0x%08x",
                                 lane, q->mask[lane], other, q->mask[other]);
    f->fix = "all lanes of a mask must reach the same call with the same mask";
    publish(f);
}

static void absent_source(worker *w, warp *q, int lane, unsigned source, uint32_t lanes)
{
    unsigned base = (unsigned)(q - w->warp_table) * 32;
    finding *f = find("shuffle-source", place_of(collective_at[base + (unsigned)lane]));
    if (!f) return;
    f->thread = index_in_block(base + (unsigned)lane);
    bool exited = !(q->alive >> source & 1);
    f->message = format(
        "lane %d reads lane %u, which %s: the value is undefined (lanes that take part: %s)",
        lane, source,
        exited ? "has exited the kernel or does not exist" : "is not in the mask",
        lane_list(lanes).c_str());
    f->fix = "let every lane take part, with a neutral value where it has no data";
    publish(f);
}

/* Lanes of the mask that have exited do not take part, which is lawful. But if such a lane
 * made this call before with another mask, it was meant to make it together with these. */
static void parted_lanes(worker *w, warp *q, int lane)
{
    unsigned base = (unsigned)(q - w->warp_table) * 32;
    for (uint32_t gone = q->mask[lane] & ~q->alive; gone; gone &= gone - 1) {
        unsigned other = base + (unsigned)__builtin_ctz(gone);
        if (other >= w->threads ||
            collective_at[other] != collective_at[base + (unsigned)lane] ||
            collective_block[other] != current.block || !collective_mask[other] ||
            collective_mask[other] == q->mask[lane])
            continue;
        finding *f = find("bad-mask", place_of(collective_at[other]));
        if (!f) return;
        f->thread = index_in_block(base + (unsigned)lane);
        f->message = format(
            "lane %d passes mask 0x%08x, which names lane %u; that lane passed 0x%08x",
            lane, q->mask[lane], other % 32, collective_mask[other]);
        f->fix = "all lanes of a mask must reach the same call with the same mask";
        publish(f);
        return;
    }
}

void collective_complete(worker *w, warp *q, uint32_t lanes)
{
    if (!lanes) return;
    int first = __builtin_ctz(lanes);
    unsigned base = (unsigned)(q - w->warp_table) * 32;
    for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (q->mask[lane] != q->mask[first] || q->op[lane] != q->op[first] ||
            collective_at[base + (unsigned)lane] != collective_at[base + (unsigned)first])
            disagree(w, q, first, lane);
    }
    parted_lanes(w, q, first);
    if (q->op[first] == WBCPU_OP_SHFL)
        for (uint32_t m = lanes; m; m &= m - 1) {
            int lane = __builtin_ctz(m);
            unsigned source = q->arg[lane] & 31;
            if (!(lanes >> source & 1)) absent_source(w, q, lane, source, lanes);
        }
    count_collective(q->op[first], collective_at[base + (unsigned)first]);
    if (lanes == q->alive) count_converged(w);
    collective_orders((unsigned)(q - w->warp_table), lanes, q->alive);
}

/* --- instructions used as no GPU allows --------------------------------------------- */

void misused(worker *w, const char *what, const void *pc)
{
    if (!pc && count_nothing) pc = collective_at[w->thread]; /* lane works for its warp */
    if (finding *f = find("misuse", pc ? place_of(pc) : program_call().at)) {
        f->message = what;
        publish(f);
    }
    abandon(w, cudaErrorLaunchFailure);
}

/* --- deadlock ----------------------------------------------------------------------- */

typedef std::pair<std::string, const place *> wait;

static std::string waits_for(worker *w, unsigned thread)
{
    char text[120];
    describe_condition(w, (int)thread, text, sizeof text);
    return text;
}

/* The waiting threads, by what they wait for. */
static std::map<wait, std::vector<unsigned>> waits(worker *w, unsigned *exited)
{
    std::map<wait, std::vector<unsigned>> groups;
    for (unsigned t = 0; t < w->threads; t++) {
        warp *q = &w->warp_table[t / 32];
        unsigned lane = t % 32;
        if (!(q->alive >> lane & 1))
            ++*exited;
        else if (q->arrived >> lane & 1)
            groups[{format("%s with mask 0x%08x", op_name(q->op[lane]), q->mask[lane]),
                    place_of(collective_at[t])}]
                .push_back(t);
        else if (q->parked >> lane & 1)
            groups[{waits_for(w, t), place_of(w->async->waits[t].pc)}].push_back(t);
        else if (!(q->ready >> lane & 1))
            groups[{"__syncthreads", place_of(waits_at[t])}].push_back(t);
    }
    return groups;
}

static std::string
described(const std::map<wait, std::vector<unsigned>> &groups, unsigned exited)
{
    std::string text;
    for (auto &g : groups)
        text += format(
            "        %zu thread%s (first: %u) at %s, %s\n", g.second.size(),
            g.second.size() == 1 ? "" : "s", g.second[0], g.first.first.c_str(),
            text_of(g.first.second).c_str());
    if (exited)
        text += format("        %u thread%s exited\n", exited, exited == 1 ? "" : "s");
    return text;
}

std::string waiting_threads(worker *w)
{
    unsigned exited = 0;
    if (w->sequential) return "";
    auto groups = waits(w, &exited);
    return described(groups, exited);
}

static const char *fix_of_deadlock(const std::string &waits)
{
    if (waits.find("an mbarrier") == 0)
        return "compare the bytes that mbarrier_expect names with those of the copies, the "
               "arrivals with the count of mbarrier_init, and the parity with the phase";
    if (waits.find("cluster_wait") == 0)
        return "let all threads of all blocks of the cluster call " CLUSTER_SYNC
               " the same number of times";
    if (waits.find("grid.sync") == 0)
        return "let all threads of all blocks call grid.sync() the same "
               "number of times";
    return "let all threads named in a mask, and all threads of the block, reach the same "
           "call";
}

void deadlocked(worker *w)
{
    unsigned exited = 0;
    auto groups = waits(w, &exited);
    if (groups.empty()) return;
    const place *at = groups.begin()->first.second;
    if (finding *f = find("deadlock", at)) {
        f->thread = index_in_block(groups.begin()->second[0]);
        f->message = "waits here, and no thread of the block can continue";
        f->detail = described(groups, exited);
        f->fix = fix_of_deadlock(groups.begin()->first.first);
        publish(f);
    }
    abandon(w, cudaErrorLaunchFailure);
}
}  // namespace wbcpu::check
