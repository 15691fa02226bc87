/* device.cpp - the one device: what it says about itself. Limits are those of an sm_80
 * card, so that a kernel which fits here fits there. */
#include "scheduler.h"

#include <unistd.h>

namespace wbcpu
{
extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}
extern "C" cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
extern "C" cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
extern "C" cudaError_t cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaDeviceReset()
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
extern "C" cudaError_t cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}
extern "C" cudaError_t cudaProfilerStart()
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaProfilerStop()
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    if (device != 0) return fail(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    int cores = worker_count();
    snprintf(p->name, sizeof p->name, "CPU, %d worker%s", cores, cores == 1 ? "" : "s");
    size_t free;
    cudaMemGetInfo(&free, &p->totalGlobalMem);
    p->sharedMemPerBlock = 48 * 1024;
    p->sharedMemPerBlockOptin = WBCPU_DYNAMIC_SHARED_MAX;
    p->sharedMemPerMultiprocessor = WBCPU_DYNAMIC_SHARED_MAX + 1024;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = INT_MAX;
    p->maxThreadsPerBlock = max_threads;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 65536;
    p->major = 8;
    p->minor = 0;
    p->multiProcessorCount = cores;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = (int)sysconf(_SC_LEVEL2_CACHE_SIZE);
    p->integrated = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = 1;
    return cudaSuccess;
}

extern "C" cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    cudaDeviceProp p;
    if (cudaError_t e = cudaGetDeviceProperties(&p, device)) return e;
    const struct {
        cudaDeviceAttr attr;
        size_t value;
    } known[] = {
        {cudaDevAttrMaxThreadsPerBlock, (size_t)p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, (size_t)p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, (size_t)p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, (size_t)p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, (size_t)p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, (size_t)p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, (size_t)p.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
        {cudaDevAttrTotalConstantMemory, p.totalConstMem},
        {cudaDevAttrWarpSize, (size_t)p.warpSize},
        {cudaDevAttrMaxRegistersPerBlock, (size_t)p.regsPerBlock},
        {cudaDevAttrMultiProcessorCount, (size_t)p.multiProcessorCount},
        {cudaDevAttrIntegrated, (size_t)p.integrated},
        {cudaDevAttrL2CacheSize, (size_t)p.l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, (size_t)p.maxThreadsPerMultiProcessor},
        {cudaDevAttrComputeCapabilityMajor, (size_t)p.major},
        {cudaDevAttrComputeCapabilityMinor, (size_t)p.minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
        {cudaDevAttrManagedMemory, (size_t)p.managedMemory},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
    };
    *value = 0; /* clock rates, grid-wide launches: not here */
    for (const auto &k : known)
        if (k.attr == attr) *value = (int)k.value;
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *)
{
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = max_threads;
    a->maxDynamicSharedSizeBytes = 48 * 1024;
    a->ptxVersion = a->binaryVersion = 80;
    return cudaSuccess;
}
/* A worker runs one block at a time. */
extern "C" cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t)
{
    *blocks = 1;
    return cudaSuccess;
}
}  // namespace wbcpu
