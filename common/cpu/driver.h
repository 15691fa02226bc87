/* driver.h - what the driver API has to know before a call; calls of the runtime set it. */
#ifndef WBCPU_DRIVER_H
#define WBCPU_DRIVER_H

#include "include/cuda.h"

#include <atomic>

namespace wbcpu
{
extern std::atomic<bool> driver_initialized;
/* On this host thread's stack of contexts. All contexts are the device. */
extern __thread int contexts;

/* By calls of the runtime that need a context: it makes its own current. */
inline void use_device()
{
    if (contexts) return;
    driver_initialized = true;
    contexts = 1;
}
}  // namespace wbcpu
#endif
