/* virtual_memory.cpp - reserved addresses and allocations (wbcpu/virtual_memory.h). A
 * reservation is ordinary device memory; an allocation keeps its contents while it is not
 * mapped. */
#include "include/cuda.h"
#include "scheduler.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace wbcpu
{
namespace
{
struct allocation {
    size_t bytes;
    CUmemAllocationProp about;
    std::vector<char> contents; /* while it is not mapped; empty: not written yet */
    bool mapped = false;
};
struct mapping {
    size_t bytes;
    std::shared_ptr<allocation> what;
};
constexpr size_t granularity = 2 << 20;

std::mutex maps_lock;
std::map<CUdeviceptr, size_t> reserved;
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
           p + bytes <= std::prev(after)->first + std::prev(after)->second;
}
/* 1 if [p, p + bytes) has an address of a mapping */
bool is_mapped(CUdeviceptr p, size_t bytes)
{
    auto after = mappings.lower_bound(p + bytes);
    return after != mappings.begin() &&
           std::prev(after)->first + std::prev(after)->second.bytes > p;
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
    if (cudaError_t error = cudaMalloc(&memory, bytes)) return (CUresult)error;
    std::lock_guard<std::mutex> hold(maps_lock);
    *p = (CUdeviceptr)(uintptr_t)memory;
    reserved[*p] = bytes;
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    auto found = reserved.find(p);
    if (found == reserved.end() || found->second != bytes || is_mapped(p, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    reserved.erase(found);
    return (CUresult)cudaFree((void *)(uintptr_t)p);
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
    std::lock_guard<std::mutex> hold(maps_lock);
    *handle = ++last;
    handles[last] = std::make_shared<allocation>(allocation{bytes, *about, {}});
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    return handles.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
extern "C" CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp *about, CUmemGenericAllocationHandle handle)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    auto found = handles.find(handle);
    if (found == handles.end()) return CUDA_ERROR_INVALID_VALUE;
    *about = found->second->about;
    return CUDA_SUCCESS;
}
extern "C" CUresult cuMemMap(
    CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
    unsigned long long flags)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    auto found = handles.find(handle);
    if (found == handles.end() || offset || flags || bytes != found->second->bytes ||
        !is_reserved(p, bytes) || is_mapped(p, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<allocation> a = found->second;
    if (a->mapped) return CUDA_ERROR_NOT_SUPPORTED;
    if (!a->contents.empty())
        if (cudaError_t error = cudaMemcpy(
                (void *)(uintptr_t)p, a->contents.data(), bytes, cudaMemcpyHostToDevice))
            return (CUresult)error;
    a->contents = {};
    a->mapped = true;
    mappings[p] = {bytes, a};
    return CUDA_SUCCESS;
}
/* The range has whole mappings. */
extern "C" CUresult cuMemUnmap(CUdeviceptr p, size_t bytes)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    auto first = mappings.find(p), end = mappings.lower_bound(p + bytes);
    if (first == mappings.end() || is_mapped(p + bytes, 1) != mappings.count(p + bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (cudaError_t error = cudaDeviceSynchronize()) return (CUresult)error;
    for (auto m = first; m != end; ++m) {
        allocation &a = *m->second.what;
        a.mapped = false;
        if (m->second.what.use_count() == 1) continue; /* it has been released */
        a.contents.resize(a.bytes);
        cudaMemcpy(
            a.contents.data(), (void *)(uintptr_t)m->first, a.bytes,
            cudaMemcpyDeviceToHost);
    }
    mappings.erase(first, end);
    return CUDA_SUCCESS;
}
extern "C" CUresult
cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *, size_t)
{
    std::lock_guard<std::mutex> hold(maps_lock);
    return is_mapped(p, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
}  // namespace wbcpu
