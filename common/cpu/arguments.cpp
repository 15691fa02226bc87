/* arguments.cpp - are a kernel's pointers to device memory? Here a kernel could read host
 * memory; on a GPU it cannot. */
#include "check/hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"

#include <dlfcn.h>

namespace wbcpu
{
/* Pointers that a GPU accepts, or that are not used: NULL plus an offset, a little before
 * the first buffer, memory that the runtime knows, variables of the program. */
static bool acceptable(const void *p)
{
    constexpr size_t small = (size_t)1 << 32, before = (size_t)1 << 20;
    Dl_info about;
    cudaPointerAttributes known;
    if ((uintptr_t)p < small || wbcpu_in_device_memory((const char *)p + before))
        return true;
    if (wbcpu_in_device_memory(p)) return true;
    cudaPointerGetAttributes(&known, p);
    return known.type != cudaMemoryTypeUnregistered || dladdr(p, &about);
}

void check_arguments(const wbcpu_launch *l, const void *const *pointers, int count)
{
    if (check::enabled) return; /* it looks at each access */
#ifdef __SANITIZE_ADDRESS__
    (void)acceptable; /* device memory has no range of its own */
    count = 0;
#endif
    for (int i = 0; i < count; i++) {
        if (acceptable(pointers[i])) continue;
        if (wbcpu_self)
            stop(
                pointers[i],
                "%s:%d: kernel %s is launched from a kernel: pointer argument %d is local or "
                "shared memory of the parent, which a child cannot access: use global memory",
                l->file, l->line, l->name, i + 1);
        stop(
            pointers[i],
            "kernel %s (%s:%d): pointer argument %d is host memory, which kernels cannot "
            "access: use cudaMalloc and cudaMemcpy",
            l->name, l->file, l->line, i + 1);
    }
}
}  // namespace wbcpu
