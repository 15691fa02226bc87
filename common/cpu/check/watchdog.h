/* watchdog.h - finds blocks that do not end; internal to check mode. */
#ifndef WBCPU_CHECK_WATCHDOG_H
#define WBCPU_CHECK_WATCHDOG_H

#include "../scheduler.h"

#include <string>

namespace wbcpu::check
{
extern volatile bool block_expired; /* the running block has used up its time */
void watch_this_thread();           /* it runs blocks now */
void start_watchdog();              /* WB_CHECK_SECONDS=20: CPU time of a block */
[[noreturn]] void report_endless(worker *w, const void *pc);
/* Lines that say what the other threads of the block wait for; "" if none waits. */
std::string waiting_threads(worker *w);
}  // namespace wbcpu::check

#endif
