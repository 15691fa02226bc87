/* pools.h - memory pools: every pool is the same allocator, and frees memory immediately. */
#ifndef WBCPU_POOLS_H
#define WBCPU_POOLS_H

#include "device_limits.h"

typedef struct CUmemPoolHandle_st *cudaMemPool_t;
struct CUmemPoolHandle_st {
    unsigned long long attributes[16];
};
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1,
    cudaMemPoolReuseAllowOpportunistic = 2,
    cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
    cudaMemPoolAttrReservedMemHigh = 6,
    cudaMemPoolAttrUsedMemCurrent = 7,
    cudaMemPoolAttrUsedMemHigh = 8
};
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType {
    cudaMemHandleTypeNone = 0,
    cudaMemHandleTypePosixFileDescriptor = 1
};
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemAllocationHandleType handleTypes;
    cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
};
enum cudaMemAccessFlags {
    cudaMemAccessFlagsProtNone = 0,
    cudaMemAccessFlagsProtRead = 1,
    cudaMemAccessFlagsProtReadWrite = 3
};
struct cudaMemAccessDesc {
    cudaMemLocation location;
    cudaMemAccessFlags flags;
};

static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    static CUmemPoolHandle_st only;
    *pool = &only;
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
static inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    return cudaDeviceGetDefaultMemPool(pool, device);
}
static inline cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *)
{
    *pool = new CUmemPoolHandle_st();
    return cudaSuccess;
}
static inline cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    delete pool;
    return cudaSuccess;
}
/* Values are ints for the reuse policies, otherwise 64 bits. */
static inline cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value)
{
    memcpy(&pool->attributes[attribute], value, attribute < 4 ? 4 : 8);
    return cudaSuccess;
}
static inline cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value)
{
    memcpy(value, &pool->attributes[attribute], attribute < 4 ? 4 : 8);
    return cudaSuccess;
}
static inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
    return cudaSuccess;
}
static inline cudaError_t
cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc *, size_t)
{
    return cudaSuccess;
}
template <class T>
static inline cudaError_t
cudaMallocFromPoolAsync(T **p, size_t bytes, cudaMemPool_t, cudaStream_t stream)
{
    return cudaMallocAsync(p, bytes, stream);
}
template <class T>
static inline cudaError_t
cudaMallocAsync(T **p, size_t bytes, cudaMemPool_t, cudaStream_t stream)
{
    return cudaMallocAsync(p, bytes, stream);
}

#endif
