/* cluster.h - the blocks of a cluster; internal to check mode.
 *
 * They take turns: one runs until it cannot continue. Each has its own CPU thread and its
 * own tables, indexed by its rank in the cluster. Blocks without a cluster have rank 0, and
 * so do the blocks of a cooperative launch, which take turns too (cooperative.cpp).
 */
#ifndef WBCPU_CHECK_CLUSTER_H
#define WBCPU_CHECK_CLUSTER_H

#include "cell.h"

/* The calls that order accesses between blocks of a cluster, as findings name them */
#define CLUSTER_SYNC "cluster_sync() or this_cluster().sync()"

namespace wbcpu::check
{
/* Shared memory lies in thread-local storage of the CPU thread that runs the block. These
 * functions run at each access. */
struct shared_storage {
    uintptr_t start[max_cluster], bytes; /* of each block's storage, by rank */
    int ranks;
    uint16_t *variable;         /* by word: 1 + index; 0: none */
    const struct variable *all; /* by index */
};
constexpr uint16_t internal_variable = 0xffff; /* of the back end */
extern shared_storage storage;

inline int rank_of(uintptr_t address) /* -1: not shared memory */
{
    int rank = storage.ranks - 1;
    while (rank >= 0 && address - storage.start[rank] >= storage.bytes)
        rank--;
    return rank;
}
inline bool in_thread_local(uintptr_t address)
{
    return rank_of(address) >= 0;
}
inline uintptr_t shared_offset(uintptr_t address) /* in that storage */
{
    return address - storage.start[rank_of(address)];
}
inline bool is_internal_offset(uintptr_t offset)
{
    return storage.variable[offset / 4] == internal_variable;
}
inline const variable *variable_at(uintptr_t offset) /* NULL: none */
{
    unsigned index = storage.variable[offset / 4];
    return index && index != internal_variable ? &storage.all[index - 1] : nullptr;
}
inline bool is_internal(uintptr_t address)
{
    return is_internal_offset(shared_offset(address));
}
inline const variable *shared_variable(uintptr_t address)
{
    return variable_at(shared_offset(address));
}
inline uintptr_t
shared_end(const worker *w, const variable *v) /* of it, for the launch */
{
    return v->start + (v->dynamic ? w->job->launch.shared_bytes : v->bytes);
}

/* The shared memory of a block; arrays: one element per word of thread-local storage */
struct block_memory {
    cell *cells;
    uint16_t *copying; /* 1 + the thread whose copy to it is unfinished; 0: none */
    uint32_t stamp;    /* of the block, as in `current` */
    uint64_t block;    /* in the grid */
    bool ended;
};
extern block_memory memories[max_cluster]; /* by rank */
std::string block_text(uint64_t block);    /* "block (1,0,0)" */

/* cluster.cpp */
void begin_cluster(worker *w); /* a block begins; it may be the first of its cluster */
/* May the running thread access the shared memory of this other block? Reports if not. */
bool reaches(worker *w, const access &a, int rank);
bool reaches(worker *w, uintptr_t address, int rank, site *at);
extern bool writing_tile;  /* TMA writes to another block, which waits for it */
void check_last_touches(); /* the running block ends: did it wait for all accesses? */
/* When a thread arrived at the cluster barrier in this phase, by its own clock; 0 in
 * phase 0, before the first barrier */
uint32_t arrival_time(uint32_t phase, int rank, unsigned thread);
/* Rank of a block of the grid in the running cluster; -1: it is in another cluster */
int rank_in_cluster(uint64_t block);

bool is_mbarrier(uintptr_t address); /* mbarrier.cpp: of a block that runs */

/* cooperative.cpp */
void exchange_tables(); /* a turn begins or ends */
/* Did the running block pass a barrier of the grid at which this was over? */
bool ordered_by_grid(uint64_t block, unsigned before, uint32_t time);

/* Copies by cp.async (async.cpp): by rank, then by thread */
struct copy_queue;
extern copy_queue *copies_of[max_cluster];
void delete_copies(copy_queue *all);

/* order.cpp, for cluster.cpp */
uint32_t advance(unsigned thread); /* advances its clock; returns the time before */
uint32_t known_phase(unsigned thread);
void learn_phase(worker *w, uint32_t phase);
bool knows_start_of(unsigned thread, uint64_t block);
/* Does any thread of the running block know of this access by a thread of another one? */
bool block_knows(uint64_t block, unsigned before, uint32_t time, bool was_read);
void share_lessons();         /* the running block arrives at the cluster barrier */
void take_lessons(worker *w); /* the running thread has waited there */
void forget_shared_lessons();
}  // namespace wbcpu::check

#endif
