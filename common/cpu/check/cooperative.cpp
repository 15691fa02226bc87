/* cooperative.cpp - the blocks of a cooperative launch, which take turns until all have
 * ended, and how grid.sync() orders their accesses.
 *
 * Each block has its own CPU thread. The one that runs uses the tables of rank 0, as a
 * block without a cluster does: at each turn they are exchanged with its own.
 */
#include "../async.h"
#include "cluster.h"
#include "hooks.h"
#include "lessons.h"
#include "memory.h"

#include <stdlib.h>
#include <utility>
#include <vector>

namespace wbcpu::check
{
/* --- the tables of a block ---------------------------------------------------------- */

struct block_tables {
    uintptr_t storage;
    block_memory memory;
    block_order *order;
    copy_queue *copies;
};
static thread_local block_tables mine;
static thread_local bool joined_grid;

void exchange_tables()
{
    if (!joined_grid) return;
    std::swap(mine.storage, storage.start[0]);
    std::swap(mine.memory, memories[0]);
    std::swap(mine.order, orders[0]);
    std::swap(mine.copies, copies_of[0]);
}

/* --- the barrier -------------------------------------------------------------------- */

/* What each thread of the grid had done when its block arrived at the last two barriers:
 * a block may arrive again while others have not left the one before. */
static std::vector<uint32_t> times_at[2];
static thread_local uint64_t passed; /* barriers, by this block */

void joins_grid()
{
    mine = {};
    mine.storage = own_storage();
    joined_grid = true;
    passed = 0;
}
void leaves_grid()
{
    exchange_tables();
    joined_grid = false;
    free(mine.memory.cells);
    free(mine.memory.copying);
    delete mine.order;
    delete_copies(mine.copies);
}

void grid_block_arrives(worker *w, uint64_t syncs)
{
    std::vector<uint32_t> &times = times_at[syncs % 2];
    times.resize(w->job->blocks * w->threads);
    for (unsigned t = 0; t < w->threads; t++)
        times[w->block * w->threads + t] = clocks->at_barrier[t];
    grid_barrier_entered(w);
}
void grid_waited(uint64_t syncs)
{
    passed = syncs;
}
bool ordered_by_grid(uint64_t block, unsigned before, uint32_t time)
{
    return passed && time <= times_at[passed % 2][block * self()->threads + before];
}
}  // namespace wbcpu::check
