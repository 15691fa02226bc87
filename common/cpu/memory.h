/* memory.h - what device_range.cpp, memory.cpp and host_memory.cpp share. */
#ifndef WBCPU_MEMORY_H
#define WBCPU_MEMORY_H
#include "check/host_hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"

#include <mutex>
#include <unistd.h>

namespace wbcpu
{
constexpr size_t alignment = 256;
/* Between buffers, so that equal offsets into large ones map to different cache sets. */
constexpr size_t gap = check::enabled ? 64 << 10 : 512;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool checked_by_asan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool checked_by_asan = true;
#else
constexpr bool checked_by_asan = false;
#endif
#else
constexpr bool checked_by_asan = false;
#endif

inline size_t physical_memory()
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

extern std::recursive_mutex memory_lock; /* of all that follows */

/* device_range.cpp */
struct address_range {
    char *base; /* NULL: not reserved yet */
    size_t size;
    size_t low_water;  /* nothing has been allocated before this offset */
    size_t high_water; /* nor beyond this one */
};
extern address_range device_range;
char *extend_device_range(size_t bytes); /* above high_water; NULL: it is full */
void leave_device_range(); /* in check mode: what is allocated so far is not used again */

/* memory.cpp */
char *device_block(const void *p);       /* the allocation that p points into, or NULL */
cudaError_t out_of_memory(size_t bytes); /* an allocation fails */

/* host_memory.cpp */
cudaError_t free_host_block(void *p, cudaMemoryType type); /* the memory_lock is held */
bool in_host_block(const void *p); /* in pinned or managed memory */
/* Host memory that the runtime does not know; with variables, those of the program, too */
bool is_pageable(const void *p, bool variables);
}  // namespace wbcpu

#endif
