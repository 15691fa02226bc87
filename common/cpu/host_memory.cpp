/* host_memory.cpp - memory that the host may access: pinned and managed memory. */
#include "driver.h"
#include "memory.h"

#include <dlfcn.h>
#include <map>

namespace wbcpu
{
static std::map<const char *, std::pair<size_t, cudaMemoryType>> &blocks()
{
    /* never destroyed: static destructors may free */
    static auto *b = new std::map<const char *, std::pair<size_t, cudaMemoryType>>;
    return *b;
}

/* In check mode managed memory follows device memory, with a gap before each allocation,
 * and is never reused. Host writes are not tracked: all of it counts as initialized. */
static void *checked_managed(size_t bytes)
{
    static size_t used;
    size_t whole = (bytes + gap + alignment - 1) / alignment * alignment;
    if (!reserve_device_memory() || whole > device_range.size - used) return nullptr;
    void *p = device_range.base + device_range.size + used + gap;
    used += whole;
    return p;
}

static cudaError_t host_malloc(void **p, size_t bytes, cudaMemoryType type)
{
    use_device();
    if (!p) return fail(cudaErrorInvalidValue);
    *p = nullptr;
    if (!bytes)
        return type == cudaMemoryTypeManaged ? fail(cudaErrorInvalidValue) : cudaSuccess;
    if (bytes > physical_memory()) return out_of_memory(bytes);
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    if (check::enabled && type == cudaMemoryTypeManaged)
        *p = checked_managed(bytes);
    else
        *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!*p) return out_of_memory(bytes);
    blocks()[static_cast<char *>(*p)] = {bytes, type};
    check::allocated(*p, bytes, type);
    check::host_wrote(*p, bytes);
    return cudaSuccess;
}
extern "C" cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned)
{
    return host_malloc(p, bytes, cudaMemoryTypeManaged);
}
extern "C" cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return host_malloc(p, bytes, cudaMemoryTypeHost);
}
extern "C" cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    return host_malloc(p, bytes, cudaMemoryTypeHost);
}

/* The size and type of the block that p points into, or NULL; the memory_lock is held */
static const std::pair<size_t, cudaMemoryType> *host_block(const void *p)
{
    const char *q = static_cast<const char *>(p);
    auto after = blocks().upper_bound(q);
    if (after == blocks().begin()) return nullptr;
    auto block = std::prev(after);
    return q < block->first + block->second.first ? &block->second : nullptr;
}
bool in_host_block(const void *p)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    return host_block(p);
}
bool is_pageable(const void *p, bool variables)
{
    Dl_info about;
    return !wbcpu_in_device_memory(p) && !in_host_block(p) &&
           (variables || !dladdr(p, &about));
}
cudaError_t free_host_block(void *p, cudaMemoryType type)
{
    auto block = blocks().find(static_cast<char *>(p));
    if (block == blocks().end() || block->second.second != type) {
        check::bad_free(p);
        return fail(cudaErrorInvalidValue);
    }
    check::freed(p);
    blocks().erase(block);
    if (!check::enabled || type != cudaMemoryTypeManaged) free(p);
    return cudaSuccess;
}
extern "C" cudaError_t cudaFreeHost(void *p)
{
    if (!p) return cudaSuccess;
    check::device_synchronized();
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    return free_host_block(p, cudaMemoryTypeHost);
}
extern "C" cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    use_device();
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    blocks()[static_cast<char *>(p)] = {bytes, cudaMemoryTypeHost};
    check::allocated(p, bytes, cudaMemoryTypeHost);
    return cudaSuccess;
}
extern "C" cudaError_t cudaHostUnregister(void *p)
{
    check::device_synchronized();
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    blocks().erase(static_cast<char *>(p));
    check::freed(p);
    return cudaSuccess;
}
extern "C" cudaError_t cudaHostGetDevicePointer(void **p, void *host_pointer, unsigned)
{
    *p = host_pointer;
    return cudaSuccess;
}
extern "C" cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int)
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    *a = cudaPointerAttributes{
        cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void *>(p)};
    if (device_block(p))
        *a = cudaPointerAttributes{
            cudaMemoryTypeDevice, 0, const_cast<void *>(p), nullptr};
    if (auto *block = host_block(p)) {
        a->type = block->second;
        a->devicePointer = const_cast<void *>(p);
    }
    return cudaSuccess;
}
}  // namespace wbcpu
