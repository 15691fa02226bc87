/* driver.h - what the driver API has to know before a call; runtime calls set it. */
#ifndef WBCPU_DRIVER_H
#define WBCPU_DRIVER_H

#include "include/cuda.h"

#include <atomic>

namespace wbcpu
{
extern std::atomic<bool> driver_initialized;
/* The number of contexts on this host thread's stack: all stand for the one device. */
extern __thread int contexts;

/* Runtime calls that need a context call this: it makes the device's current. */
inline void use_device()
{
    if (contexts) return;
    driver_initialized = true;
    contexts = 1;
}
}  // namespace wbcpu
#endif
