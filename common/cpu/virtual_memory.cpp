/* virtual_memory.cpp - reserved addresses and allocations (wbcpu/virtual_memory.h). A
 * reservation is ordinary device memory; an allocation is a file in memory, which the system
 * maps over a part of it. */
#include "include/cuda.h"
#include "memory.h"
#include "scheduler.h"

#include <map>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace wbcpu
{
namespace
{
struct allocation {
    int file;
    size_t bytes;
    CUmemAllocationProp about;
    bool used = false; /* it has been mapped once */

    ~allocation()
    {
        close(file);
    }
};
struct mapping {
    size_t bytes;
    std::shared_ptr<allocation> what;
};
struct reservation {
    size_t bytes;
    void *memory; /* with room for the alignment */
};
constexpr size_t granularity = 2 << 20;

/* memory_lock protects these. */
std::map<CUdeviceptr, reservation> reserved;
std::map<CUdeviceptr, mapping> mappings;
std::map<CUmemGenericAllocationHandle, std::shared_ptr<allocation>> handles;

bool is_whole(size_t bytes)
{
    return bytes && bytes % granularity == 0;
}
/* 1 if [p, p + bytes) lies in a reservation */
bool is_reserved(CUdeviceptr p, size_t bytes)
{
    auto after = reserved.upper_bound(p);
    return after != reserved.begin() &&
           p + bytes <= std::prev(after)->first + std::prev(after)->second.bytes;
}
/* 1 if [p, p + bytes) has an address of a mapping */
bool is_mapped(CUdeviceptr p, size_t bytes)
{
    auto after = mappings.lower_bound(p + bytes);
    return after != mappings.begin() &&
           std::prev(after)->first + std::prev(after)->second.bytes > p;
}
/* Other pages for [p, p + bytes): those of the file, or new ones (-1) */
bool change_pages(CUdeviceptr p, size_t bytes, int file)
{
    open_device_memory();
    int kind = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *memory = mmap(
        (void *)(uintptr_t)p, bytes, PROT_READ | PROT_WRITE, kind | MAP_FIXED, file, 0);
    close_device_memory();
    return memory != MAP_FAILED;
}
}  // namespace

extern "C" CUresult cuMemGetAllocationGranularity(
    size_t *bytes, const CUmemAllocationProp *, CUmemAllocationGranularity_flags)
{
    *bytes = granularity;
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemAddressReserve(
    CUdeviceptr *p, size_t bytes, size_t, CUdeviceptr, unsigned long long flags)
{
    if (!is_whole(bytes) || flags) return CUDA_ERROR_INVALID_VALUE;
    void *memory = nullptr;
    if (cudaError_t error = cudaMalloc(&memory, bytes + granularity))
        return (CUresult)error;
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    *p = ((CUdeviceptr)(uintptr_t)memory + granularity - 1) / granularity * granularity;
    reserved[*p] = {bytes, memory};
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    auto found = reserved.find(p);
    if (found == reserved.end() || found->second.bytes != bytes || is_mapped(p, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    void *memory = found->second.memory;
    reserved.erase(found);
    return (CUresult)cudaFree(memory);
}
extern "C" CUresult cuMemCreate(
    CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *about,
    unsigned long long flags)
{
    static CUmemGenericAllocationHandle last;
    if (!is_whole(bytes) || flags || about->location.id) return CUDA_ERROR_INVALID_VALUE;
    if (about->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        about->requestedHandleTypes)
        return CUDA_ERROR_NOT_SUPPORTED;
    int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes)) {
        if (file >= 0) close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    *handle = ++last;
    handles[last].reset(new allocation{file, bytes, *about});
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    return handles.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
extern "C" CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp *about, CUmemGenericAllocationHandle handle)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    auto found = handles.find(handle);
    if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
    *about = found->second->about;
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemMap(
    CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
    unsigned long long flags)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    auto found = handles.find(handle);
    if (found == handles.end() || offset || flags || bytes != found->second->bytes ||
        !is_reserved(p, bytes) || is_mapped(p, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    allocation &a = *found->second;
    if (!change_pages(p, bytes, a.file)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (a.used) check::host_wrote((void *)(uintptr_t)p, bytes);
    a.used = true;
    mappings[p] = {bytes, found->second};
    return CUDA_SUCCESS;
}
/* The range has whole mappings. */
extern "C" CUresult cuMemUnmap(CUdeviceptr p, size_t bytes)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    auto first = mappings.find(p), end = mappings.lower_bound(p + bytes);
    if (first == mappings.end() || is_mapped(p + bytes, 1) != mappings.count(p + bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (cudaError_t error = cudaDeviceSynchronize()) return (CUresult)error;
    for (auto m = first; m != end; ++m)
        if (!change_pages(m->first, m->second.bytes, -1)) return CUDA_ERROR_UNKNOWN;
    mappings.erase(first, end);
    return CUDA_SUCCESS;
}
extern "C" CUresult
cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *, size_t)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    return is_mapped(p, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
}  // namespace wbcpu
