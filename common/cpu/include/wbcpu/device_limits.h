/* device_limits.h - calls that ask or tell a GPU about its limits, peers and caches: the CPU
 * remembers the values and does nothing else with them. Names of before CUDA 4, too. */
#ifndef WBCPU_DEVICE_LIMITS_H
#define WBCPU_DEVICE_LIMITS_H

#include <stdio.h>

#include "../cuda_runtime_api.h"
#include "qualifiers.h"

#define WBCPU_CALL static inline cudaError_t

/* --- limits ------------------------------------------------------------------------- */

enum cudaLimit {
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
    cudaLimitDevRuntimeSyncDepth = 3,
    cudaLimitDevRuntimePendingLaunchCount = 4,
    cudaLimitMaxL2FetchGranularity = 5,
    cudaLimitPersistingL2CacheSize = 6
};
static inline size_t *wbcpu_limit(cudaLimit limit)
{
    static size_t values[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
    return (unsigned)limit < 7 ? &values[limit] : nullptr;
}
WBCPU_CALL cudaDeviceSetLimit(cudaLimit limit, size_t value)
{
    if (!wbcpu_limit(limit)) return cudaErrorInvalidValue;
    *wbcpu_limit(limit) = value;
    return cudaSuccess;
}
WBCPU_CALL cudaDeviceGetLimit(size_t *value, cudaLimit limit)
{
    if (!wbcpu_limit(limit)) return cudaErrorInvalidValue;
    *value = *wbcpu_limit(limit);
    return cudaSuccess;
}

/* --- the device --------------------------------------------------------------------- */

WBCPU_CALL cudaThreadSynchronize()
{
    return cudaDeviceSynchronize();
}
WBCPU_CALL cudaThreadExit()
{
    return cudaDeviceReset();
}
enum cudaDeviceP2PAttr {
    cudaDevP2PAttrPerformanceRank = 1,
    cudaDevP2PAttrAccessSupported = 2,
    cudaDevP2PAttrNativeAtomicSupported = 3,
    cudaDevP2PAttrCudaArrayAccessSupported = 4
};
WBCPU_CALL cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int, int)
{
    *value = 0;
    return cudaErrorInvalidDevice; /* there is one device */
}
WBCPU_CALL cudaChooseDevice(int *device, const cudaDeviceProp *)
{
    *device = 0;
    return cudaSuccess;
}
WBCPU_CALL cudaDeviceGetPCIBusId(char *text, int size, int)
{
    snprintf(text, (size_t)size, "0000:00:00.0");
    return cudaSuccess;
}
WBCPU_CALL cudaDeviceGetByPCIBusId(int *device, const char *)
{
    *device = 0;
    return cudaSuccess;
}
struct cudaIpcMemHandle_t {
    char reserved[64];
};
struct cudaIpcEventHandle_t {
    char reserved[64];
};

/* --- managed memory ------------------------------------------------------------------- */

enum cudaMemLocationType {
    cudaMemLocationTypeInvalid = 0,
    cudaMemLocationTypeDevice = 1,
    cudaMemLocationTypeHost = 2,
    cudaMemLocationTypeHostNuma = 3
};
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};
WBCPU_CALL cudaMemPrefetchAsync(
    const void *p, size_t bytes, cudaMemLocation to, unsigned, cudaStream_t stream = 0)
{
    return cudaMemPrefetchAsync(p, bytes, to.id, stream);
}
WBCPU_CALL
cudaMemAdvise(const void *p, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation at)
{
    return cudaMemAdvise(p, bytes, advice, at.id);
}
template <class T>
WBCPU_CALL cudaStreamAttachMemAsync(
    cudaStream_t, T *, size_t = 0, unsigned = cudaMemAttachSingle)
{
    return cudaSuccess;
}

/* --- streams, events and caches ------------------------------------------------------- */

enum cudaAccessProperty {
    cudaAccessPropertyNormal = 0,
    cudaAccessPropertyStreaming = 1,
    cudaAccessPropertyPersisting = 2
};
struct cudaAccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    cudaAccessProperty hitProp, missProp;
};
struct cudaStreamAttrValue {
    cudaAccessPolicyWindow accessPolicyWindow;
    int priority, syncPolicy;
};
enum cudaStreamAttrID {
    cudaStreamAttributeAccessPolicyWindow = 1,
    cudaStreamAttributeSynchronizationPolicy = 3,
    cudaStreamAttributePriority = 8
};
WBCPU_CALL
cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue *)
{
    return cudaSuccess;
}
WBCPU_CALL cudaCtxResetPersistingL2Cache()
{
    return cudaSuccess;
}
WBCPU_CALL cudaStreamGetPriority(cudaStream_t, int *priority)
{
    *priority = 0;
    return cudaSuccess;
}
WBCPU_CALL cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned = 0)
{
    return cudaEventRecord(event, stream);
}

/* --- occupancy: one block per worker -------------------------------------------------- */

template <class T>
WBCPU_CALL cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, T, int, size_t, unsigned)
{
    *blocks = 1;
    return cudaSuccess;
}
template <class T, class F>
WBCPU_CALL cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int *blocks, int *threads, T, F, int limit = 0)
{
    cudaDeviceGetAttribute(blocks, cudaDevAttrMultiProcessorCount, 0);
    *threads = limit > 0 && limit < 256 ? limit : 256;
    return cudaSuccess;
}
#undef WBCPU_CALL

#endif
