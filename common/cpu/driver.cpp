/* driver.cpp - what the driver API needs before a call: cuInit, then a current context. The
 * runtime's calls bring both. */
#include "driver.h"

namespace wbcpu
{
std::atomic<bool> driver_initialized;
__thread int contexts;

extern "C" int wbcpu_driver_needs(int context)
{
    if (!driver_initialized) return CUDA_ERROR_NOT_INITIALIZED;
    return context && !contexts ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
extern "C" void wbcpu_driver_init(void)
{
    driver_initialized = true;
}
extern "C" int wbcpu_contexts(int change)
{
    return contexts += change;
}
}  // namespace wbcpu
