/* mbarrier.cpp - threads that may use a barrier in shared memory before it has its count.
 * Arrivals order everything else, but not the initialisation: in another order of threads
 * they come first. */
#include "check.h"
#include "memory.h"

#include <map>

namespace wbcpu::check
{
struct initialisation {
    uint64_t block;
    unsigned thread;
    uint32_t time;
    const void *pc;
};
static auto &made = *new std::map<const uint64_t *, initialisation>;

static void too_early(const uint64_t *barrier, const initialisation &m, const void *pc)
{
    finding *f = find("race-shared", place_of(pc), place_of(m.pc));
    if (!f) return;
    f->what = shared_element((uintptr_t)barrier, sizeof *barrier);
    f->other_block = blockIdx;
    f->other_thread = index_in_block(m.thread);
    f->other_access = "initialises";
    f->message = format(
        "uses %s; %s initialises it at %s, and nothing orders the two", f->what.c_str(),
        thread_text(blockIdx, f->other_thread).c_str(), text_of(f->other).c_str());
    f->fix = "put a __syncthreads() between the two";
    publish(f);
}
}  // namespace wbcpu::check

using namespace wbcpu::check;
#define PC __builtin_extract_return_addr(__builtin_return_address(0))

extern "C" void wbcpu_mbarrier_made(uint64_t *barrier)
{
    if (!wbcpu_self) return;
    unsigned thread = wbcpu_self->thread;
    made[barrier] = {current.block, thread, time_of(thread), PC};
}

extern "C" void wbcpu_mbarrier_used(uint64_t *barrier)
{
    if (!wbcpu_self) return;
    auto at = made.find(barrier);
    if (at == made.end() || at->second.block != current.block) return;
    const initialisation &m = at->second;
    if (!ordered(wbcpu_self->thread, m.thread, m.time, false)) too_early(barrier, m, PC);
}
