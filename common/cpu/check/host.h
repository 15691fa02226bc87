/* host.h - check mode's view of host code; internal to the library. */
#ifndef WBCPU_CHECK_HOST_H
#define WBCPU_CHECK_HOST_H

#include <stddef.h>
#include <stdint.h>

namespace wbcpu::check
{
/* Host code of a checked source loads or stores. */
void host_access(uintptr_t address, size_t bytes, bool write, const void *pc);
/* Is this pinned or managed memory, which kernels may access? */
bool mapped_for_device(uintptr_t address, size_t bytes);
}  // namespace wbcpu::check

#endif
