/* order.h - the events that order.cpp counts; internal to check mode. */
#ifndef WBCPU_CHECK_ORDER_H
#define WBCPU_CHECK_ORDER_H

#include "../scheduler.h"

namespace wbcpu::check
{
/* Has a thread of the grid (from 1) called fence_async since this time of its own? */
bool async_visible(worker *w, uint32_t number, uint32_t time);
void order_launch();
void order_block(worker *w);
void barrier_orders(worker *w);
/* The lanes of a collective, of those that have not exited the kernel. */
void collective_orders(unsigned warp_number, uint32_t lanes, uint32_t alive);
}  // namespace wbcpu::check

#endif
