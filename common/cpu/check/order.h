/* order.h - which accesses happen before what the running thread does now; what runs at each
 * access, and the events that order.cpp counts. Internal to check mode.
 */
#ifndef WBCPU_CHECK_ORDER_H
#define WBCPU_CHECK_ORDER_H

#include "check.h"

namespace wbcpu::check
{
/* Of the running block: each thread's clock; time 0: never. */
struct block_clocks {
    uint32_t now[max_threads];
    uint32_t at_barrier[max_threads]; /* at the last barrier */
    uint32_t at_warp[max_threads];    /* at the last collective of the whole warp */
};
extern WBCPU_THREAD_LOCAL block_clocks *clocks;

inline uint32_t time_of(unsigned thread) /* of the running block */
{
    return clocks->now[thread];
}
/* Does everything that thread `before` of the running block did until `time` happen before
 * what `thread` does now? was_read: the earlier access is a read. */
bool ordered_otherwise(unsigned thread, unsigned before, uint32_t time, bool was_read);
inline bool ordered(unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    return thread == before || time <= clocks->at_barrier[before] ||
           (thread / 32 == before / 32 && time <= clocks->at_warp[before]) ||
           ordered_otherwise(thread, before, time, was_read);
}
bool ordered_block(
    unsigned thread, uint64_t block, unsigned before, uint32_t time, bool was_read);
void order_atomic(worker *w, const access &a); /* acquire and release */

/* Has a thread of the grid (from 1) called fence_async since this time of its own? */
bool async_visible(worker *w, uint32_t number, uint32_t time);
void grid_barrier_entered(worker *w); /* sync.cpp: have threads of the block exited? */
void order_launch();
void order_block(worker *w);
void barrier_orders(worker *w);
/* The lanes of a collective, of those that have not exited the kernel. */
void collective_orders(unsigned warp_number, uint32_t lanes, uint32_t alive);
}  // namespace wbcpu::check

#endif
