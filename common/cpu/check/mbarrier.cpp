/* mbarrier.cpp - threads that may use a barrier in shared memory before it has its count.
 * Arrivals order everything else, but not the initialisation: in another order of threads
 * they come first. */
#include "cluster.h"
#include "lessons.h"
#include "memory.h"

#include <map>

namespace wbcpu::check
{
struct initialisation {
    uint32_t stamp;  /* of the block whose memory it is in */
    uint32_t number; /* thread in the grid, from 1 */
    uint32_t time;
    const void *pc;
};
static auto &made = *new std::map<const uint64_t *, initialisation>;

static void too_early(const uint64_t *barrier, const initialisation &m, const void *pc)
{
    finding *f = find("race-shared", place_of(pc), place_of(m.pc));
    if (!f) return;
    f->what = shared_element((uintptr_t)barrier, sizeof *barrier);
    unsigned threads = self()->threads;
    uint64_t block = (m.number - 1) / threads;
    f->other_block = index_in_grid(block);
    f->other_thread = index_in_block((m.number - 1) % threads);
    f->other_access = "initialises";
    f->message = format(
        "uses %s; %s initialises it at %s, and nothing orders the two", f->what.c_str(),
        thread_text(f->other_block, f->other_thread).c_str(), text_of(f->other).c_str());
    bool own = block == self()->block;
    f->fix = format("put %s between the two", own ? "a __syncthreads()" : CLUSTER_SYNC);
    publish(f);
}

static const initialisation *made_in_this_block(const uint64_t *barrier)
{
    auto at = made.find(barrier);
    int rank = rank_of((uintptr_t)barrier);
    if (rank < 0 || at == made.end() || at->second.stamp != memories[rank].stamp)
        return nullptr;
    return &at->second;
}
bool is_mbarrier(uintptr_t address)
{
    return made_in_this_block((const uint64_t *)address);
}
}  // namespace wbcpu::check

using namespace wbcpu::check;
#define PC __builtin_extract_return_addr(__builtin_return_address(0))

extern "C" void wbcpu_mbarrier_made(uint64_t *barrier)
{
    if (!wbcpu_self) return;
    wbcpu::worker *w = wbcpu::self();
    forget_barrier(barrier);
    made[barrier] = {
        current.block, (uint32_t)(w->block * w->threads) + w->thread + 1,
        time_of(w->thread), PC};
}

extern "C" void wbcpu_mbarrier_used(uint64_t *barrier)
{
    if (!wbcpu_self) return;
    const initialisation *m = made_in_this_block(barrier);
    if (m && !happens_before(wbcpu::self(), m->number, m->time, false))
        too_early(barrier, *m, PC);
}
