/* driver.h - the driver API's state, of which the runtime takes care. */
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
