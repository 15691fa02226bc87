/* hooks.h - what the back end tells check mode. Without it they do nothing. */
#ifndef WBCPU_HOOKS_H
#define WBCPU_HOOKS_H

#include "../scheduler.h"

namespace wbcpu::check
{
#ifdef WBCPU_CHECK
#define WBCPU_HOOK(declaration) declaration;
constexpr bool enabled = true;
bool start(
    size_t); /* before the first use of device memory of this size; false: no space */
#else
#define WBCPU_HOOK(declaration)                                                          \
    static inline declaration {}
constexpr bool enabled = false;
static inline bool start(size_t)
{
    return true;
}
#endif
/* Unnamed parameters: see the names in the comments. */
WBCPU_HOOK(void polled(const void *)) /* a volatile read */
WBCPU_HOOK(void begin_launch(const job &))
WBCPU_HOOK(void end_launch(const job &))
WBCPU_HOOK(void begin_block(worker *))
WBCPU_HOOK(void end_block(worker *))
WBCPU_HOOK(void thread_exits(worker *))
/* A thread arrives, saved at `stack`; the last one of the block releases the barrier. */
WBCPU_HOOK(void at_barrier(worker *, void *))
WBCPU_HOOK(void barrier_released(worker *))
WBCPU_HOOK(void at_reduced_barrier(worker *, const void *)) /* return address */
WBCPU_HOOK(void at_collective(worker *, unsigned, void *))  /* mask, stack */
WBCPU_HOOK(void for_all_lanes(bool)) /* one lane works for the others: begins, ends */
WBCPU_HOOK(void collective_complete(worker *, warp *, uint32_t)) /* lanes */
WBCPU_HOOK(void fenced(worker *))
/* The running thread arrives at a barrier with this address, or has waited there. The last
 * argument: the phase */
WBCPU_HOOK(void arrives(worker *, const void *, uint64_t))
WBCPU_HOOK(void waited(worker *, const void *, uint64_t))
/* TMA: the running thread starts a load into this range of shared memory; a load is
 * carried out. TMA or wgmma reads a range. The last argument: return address */
WBCPU_HOOK(void tile_leaves(worker *, void *, size_t, const void *))
WBCPU_HOOK(void tile_arrives(void *))
/* The running thread starts a store of this range; the oldest one from there has read it. */
WBCPU_HOOK(void store_leaves(worker *, void *, size_t, const void *))
WBCPU_HOOK(void store_has_read(void *))
/* TMA reads (true) or writes a tile of device memory, row by row: the bytes of a row */
WBCPU_HOOK(void tile_begins(worker *, bool, const void *))
WBCPU_HOOK(void tile_row(void *, size_t, bool, const void *))
WBCPU_HOOK(void async_reads(worker *, const void *, size_t, const void *))
WBCPU_HOOK(void async_fenced(worker *))
/* The cluster barrier: the running thread arrives, or has waited; the running block arrives
 * (true: because it has ended); all blocks have. The phase, from 1 */
WBCPU_HOOK(void cluster_arrives(worker *, uint64_t))
WBCPU_HOOK(void cluster_waited(worker *, uint64_t))
WBCPU_HOOK(void cluster_block_arrives(worker *, uint64_t, bool))
WBCPU_HOOK(void cluster_passed(uint64_t))
/* grid.sync(): the running thread arrives, from this return address; the running block
 * arrives at its n-th grid.sync() (n counts from 1); the running thread has waited there */
WBCPU_HOOK(void at_grid_barrier(worker *, const void *))
WBCPU_HOOK(void grid_block_arrives(worker *, uint64_t))
WBCPU_HOOK(void grid_waited(uint64_t))
/* A CPU thread of a cooperative launch: before its first turn, in its last one */
WBCPU_HOOK(void joins_grid())
WBCPU_HOOK(void leaves_grid())
/* Blocks that run together take turns. A CPU thread runs blocks of this rank and size */
WBCPU_HOOK(void joins_cluster(int, int))
WBCPU_HOOK(void turn_begins())
WBCPU_HOOK(void turn_ends())
WBCPU_HOOK(void give_up(worker *)) /* another block has ended the launch */
/* Ends the launch in check mode: what is wrong, a return address or NULL */
WBCPU_HOOK(void misused(worker *, const char *, const void *))
WBCPU_HOOK(void wgmma_pends(int))            /* so many more, or fewer, of a warp */
WBCPU_HOOK(void tensor_multiplies(unsigned)) /* multiply-adds of a warp */
WBCPU_HOOK(void deadlocked(worker *))        /* does not return in check mode */

WBCPU_HOOK(void host_wrote(const void *, size_t)) /* not necessarily device memory */
/* A load or store through a pointer of this type: name, alignment, address, return
 * address. Does not return from a kernel in check mode. */
WBCPU_HOOK(void misaligned_object(const char *, unsigned, const void *, const void *))
#undef WBCPU_HOOK
}  // namespace wbcpu::check
#endif
