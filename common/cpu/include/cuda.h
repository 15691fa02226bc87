/* cuda.h - the driver API's contexts, memory, streams and events. C11 and C++. The driver
 * API has the runtime's errors and attributes under other names, with the same values. A
 * context is the device; all are the same one. As on a GPU, cuInit comes first, and most calls
 * need a current context. wbcpu/modules.h has modules. */
#ifndef WBCPU_CUDA_H
#define WBCPU_CUDA_H

#include <string.h>

#include "cuda_runtime_api.h"
#include "wbcpu/driver_types.h"

#ifndef CUDA_VERSION
#define CUDA_VERSION CUDART_VERSION
#endif
#define __cuda_cuda_h__ /* helper_cuda.h asks for it */
#define CUDAAPI

#ifdef __cplusplus
extern "C" {
#endif
int wbcpu_driver_needs(int context); /* an error if cuInit or a context is missing */
void wbcpu_driver_init(void);
int wbcpu_contexts(int change); /* of this host thread; the number afterwards */
int wbcpu_driver_error(int error, const char **name, const char **description);
#ifdef __cplusplus
}
#endif
#define WBCPU_NEEDS(context)                                                             \
    do {                                                                                 \
        const CUresult missing = (CUresult)wbcpu_driver_needs(context);                  \
        if (missing) return missing;                                                     \
    } while (0)
/* NAME(PARAMETERS) does the runtime's CALL. */
#define WBCPU_ALWAYS(name, parameters, call)                                             \
    static inline __attribute__((always_inline)) CUresult name parameters                \
    {                                                                                    \
        return (CUresult)(call);                                                         \
    }
#define WBCPU_DRIVER(name, parameters, call)                                             \
    static inline __attribute__((always_inline)) CUresult name parameters                \
    {                                                                                    \
        WBCPU_NEEDS(0);                                                                  \
        return (CUresult)(call);                                                         \
    }
#define WBCPU_IN_CONTEXT(name, parameters, call)                                         \
    static inline __attribute__((always_inline)) CUresult name parameters                \
    {                                                                                    \
        WBCPU_NEEDS(1);                                                                  \
        return (CUresult)(call);                                                         \
    }
#define WBCPU_AT(p) ((void *)(size_t)(p))

/* --- devices and contexts ------------------------------------------------------------- */
WBCPU_ALWAYS(
    cuInit, (unsigned flags),
    flags ? cudaErrorInvalidValue : (wbcpu_driver_init(), cudaSuccess))
WBCPU_ALWAYS(cuDriverGetVersion, (int *version), cudaDriverGetVersion(version))
WBCPU_DRIVER(cuDeviceGetCount, (int *count), cudaGetDeviceCount(count))
WBCPU_DRIVER(
    cuDeviceGet, (CUdevice * device, int number),
    number ? cudaErrorInvalidDevice : (*device = 0, cudaSuccess))
WBCPU_DRIVER(
    cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
    cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device))

static inline CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    WBCPU_NEEDS(0);
    struct cudaDeviceProp properties;
    if (size < 1) return CUDA_ERROR_INVALID_VALUE;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (!error) {
        strncpy(name, properties.name, (size_t)size - 1);
        name[size - 1] = 0;
    }
    return (CUresult)error;
}
static inline CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    WBCPU_NEEDS(0);
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (!error) *bytes = properties.totalGlobalMem;
    return (CUresult)error;
}
static inline CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult error =
        cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return error ? error
                 : cuDeviceGetAttribute(
                       minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

static inline CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    WBCPU_NEEDS(0);
    struct cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (!error) memcpy(uuid, properties.uuid, sizeof *uuid);
    return (CUresult)error;
}
#define cuDeviceGetUuid_v2 cuDeviceGetUuid
WBCPU_DRIVER(
    cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer),
    cudaDeviceCanAccessPeer(can, device, peer))

#define WBCPU_CONTEXT ((CUcontext)1)
static inline CUresult wbcpu_context(CUcontext *context, CUdevice device, int current)
{
    WBCPU_NEEDS(0);
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    if (context) *context = WBCPU_CONTEXT;
    wbcpu_contexts(current);
    return CUDA_SUCCESS;
}
static inline CUresult wbcpu_use_context(CUcontext context, int change)
{
    WBCPU_NEEDS(0);
    if (context != WBCPU_CONTEXT) return CUDA_ERROR_INVALID_CONTEXT;
    if (wbcpu_contexts(0) + change >= 0) wbcpu_contexts(change);
    return CUDA_SUCCESS;
}
/* Toolkit 13 has a third argument before the flags, which is NULL. */
#ifdef __cplusplus
WBCPU_DRIVER(
    cuCtxCreate, (CUcontext * c, unsigned, CUdevice device), wbcpu_context(c, device, 1))
WBCPU_DRIVER(
    cuCtxCreate, (CUcontext * c, CUctxCreateParams *, unsigned, CUdevice device),
    wbcpu_context(c, device, 1))
#else
WBCPU_DRIVER(
    wbcpu_create_3, (CUcontext * c, unsigned flags, CUdevice device),
    ((void)flags, wbcpu_context(c, device, 1)))
WBCPU_DRIVER(
    wbcpu_create_4,
    (CUcontext * c, CUctxCreateParams *about, unsigned flags, CUdevice device),
    ((void)about, (void)flags, wbcpu_context(c, device, 1)))
#define WBCPU_FIFTH(a, b, c, d, e, ...) e
#define cuCtxCreate(...)                                                                 \
    WBCPU_FIFTH(__VA_ARGS__, wbcpu_create_4, wbcpu_create_3, 0, 0)(__VA_ARGS__)
#endif
WBCPU_DRIVER(
    cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice device),
    wbcpu_context(c, device, 0))
WBCPU_DRIVER(cuDevicePrimaryCtxRelease, (CUdevice device), wbcpu_context(NULL, device, 0))
WBCPU_DRIVER(
    cuCtxGetApiVersion, (CUcontext c, unsigned *version),
    c &&c != WBCPU_CONTEXT ? (int)CUDA_ERROR_INVALID_CONTEXT
                           : (*version = CUDA_VERSION, 0))
WBCPU_DRIVER(
    cuCtxDestroy, (CUcontext c), c ? wbcpu_use_context(c, -1) : CUDA_ERROR_INVALID_VALUE)
WBCPU_DRIVER(cuCtxPushCurrent, (CUcontext c), wbcpu_use_context(c, 1))
WBCPU_IN_CONTEXT(cuCtxPopCurrent, (CUcontext * c), wbcpu_context(c, 0, -1))
WBCPU_DRIVER(
    cuCtxSetCurrent, (CUcontext c),
    wbcpu_use_context(c ? c : WBCPU_CONTEXT, c ? !wbcpu_contexts(0) : -1))
WBCPU_DRIVER(
    cuCtxGetCurrent, (CUcontext * c),
    (*c = wbcpu_contexts(0) ? WBCPU_CONTEXT : NULL, CUDA_SUCCESS))
WBCPU_IN_CONTEXT(cuCtxGetDevice, (CUdevice * device), cudaGetDevice(device))
WBCPU_IN_CONTEXT(cuCtxSynchronize, (void), cudaDeviceSynchronize())

/* All contexts are the one device, which is no peer of itself. */
WBCPU_DRIVER(
    cuCtxEnablePeerAccess, (CUcontext c, unsigned flags),
    c == WBCPU_CONTEXT ? cudaDeviceEnablePeerAccess(0, flags) : cudaErrorInvalidValue)
WBCPU_DRIVER(
    cuCtxDisablePeerAccess, (CUcontext c),
    c == WBCPU_CONTEXT ? cudaDeviceDisablePeerAccess(0) : cudaErrorInvalidValue)

/* --- memory --------------------------------------------------------------------------- */
static inline CUresult cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
    WBCPU_NEEDS(1);
    void *memory = NULL;
    cudaError_t error = cudaMalloc((void **)&memory, bytes);
    if (!error) *p = (CUdeviceptr)(size_t)memory;
    return (CUresult)error;
}
static inline CUresult cuMemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags)
{
    WBCPU_NEEDS(1);
    void *memory = NULL;
    cudaError_t error = cudaMallocManaged((void **)&memory, bytes, flags);
    if (!error) *p = (CUdeviceptr)(size_t)memory;
    return (CUresult)error;
}
static inline CUresult cuMemsetD32(CUdeviceptr p, unsigned value, size_t count)
{
    WBCPU_NEEDS(1);
    cudaError_t error =
        cudaSuccess; /* by the runtime's copies, which check the address */
    for (size_t i = 0; i < count && !error; i++)
        error = cudaMemcpy(WBCPU_AT(p + 4 * i), &value, 4, cudaMemcpyHostToDevice);
    return (CUresult)error;
}
WBCPU_IN_CONTEXT(cuMemAllocHost, (void **p, size_t bytes), cudaMallocHost(p, bytes))
WBCPU_IN_CONTEXT(
    cuMemHostAlloc, (void **p, size_t bytes, unsigned flags),
    cudaHostAlloc(p, bytes, flags))
static inline CUresult
cuMemHostGetDevicePointer(CUdeviceptr *p, void *host, unsigned flags)
{
    WBCPU_NEEDS(1);
    void *memory = NULL;
    cudaError_t error = cudaHostGetDevicePointer((void **)&memory, host, flags);
    if (!error) *p = (CUdeviceptr)(size_t)memory;
    return (CUresult)error;
}
WBCPU_IN_CONTEXT(
    cuMemHostRegister, (void *p, size_t bytes, unsigned flags),
    cudaHostRegister(p, bytes, flags))
WBCPU_IN_CONTEXT(cuMemHostUnregister, (void *p), cudaHostUnregister(p))
WBCPU_DRIVER(cuMemFree, (CUdeviceptr p), cudaFree(WBCPU_AT(p)))
WBCPU_IN_CONTEXT(cuMemFreeHost, (void *p), cudaFreeHost(p))
WBCPU_IN_CONTEXT(
    cuMemGetInfo, (size_t * free, size_t *total), cudaMemGetInfo(free, total))
WBCPU_IN_CONTEXT(
    cuMemsetD8, (CUdeviceptr p, unsigned char value, size_t count),
    cudaMemset(WBCPU_AT(p), value, count))
WBCPU_IN_CONTEXT(
    cuMemcpyHtoD, (CUdeviceptr dst, const void *src, size_t bytes),
    cudaMemcpy(WBCPU_AT(dst), src, bytes, cudaMemcpyHostToDevice))
WBCPU_IN_CONTEXT(
    cuMemcpyDtoH, (void *dst, CUdeviceptr src, size_t bytes),
    cudaMemcpy(dst, WBCPU_AT(src), bytes, cudaMemcpyDeviceToHost))
WBCPU_IN_CONTEXT(
    cuMemcpyDtoD, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
    cudaMemcpy(WBCPU_AT(dst), WBCPU_AT(src), bytes, cudaMemcpyDeviceToDevice))
WBCPU_IN_CONTEXT(
    cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
    cudaMemcpy(WBCPU_AT(dst), WBCPU_AT(src), bytes, cudaMemcpyDefault))
WBCPU_IN_CONTEXT(
    cuMemcpyHtoDAsync, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
    cudaMemcpyAsync(WBCPU_AT(dst), src, bytes, cudaMemcpyHostToDevice, stream))
WBCPU_IN_CONTEXT(
    cuMemcpyDtoHAsync, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
    cudaMemcpyAsync(dst, WBCPU_AT(src), bytes, cudaMemcpyDeviceToHost, stream))

/* --- streams, events, errors ------------------------------------------------------------ */
WBCPU_IN_CONTEXT(
    cuStreamCreate, (CUstream * stream, unsigned flags),
    cudaStreamCreateWithFlags(stream, flags))
WBCPU_IN_CONTEXT(cuStreamQuery, (CUstream stream), cudaStreamQuery(stream))
WBCPU_IN_CONTEXT(
    cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
    cudaStreamWaitEvent(stream, event, flags))
WBCPU_IN_CONTEXT(cuStreamSynchronize, (CUstream stream), cudaStreamSynchronize(stream))
WBCPU_IN_CONTEXT(cuStreamDestroy, (CUstream stream), cudaStreamDestroy(stream))
WBCPU_IN_CONTEXT(
    cuEventCreate, (CUevent * event, unsigned flags),
    cudaEventCreateWithFlags(event, flags))
WBCPU_IN_CONTEXT(
    cuEventRecord, (CUevent event, CUstream stream), cudaEventRecord(event, stream))
WBCPU_IN_CONTEXT(cuEventQuery, (CUevent event), cudaEventQuery(event))
WBCPU_IN_CONTEXT(cuEventSynchronize, (CUevent event), cudaEventSynchronize(event))
WBCPU_IN_CONTEXT(
    cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end),
    cudaEventElapsedTime(milliseconds, start, end))
WBCPU_IN_CONTEXT(cuEventDestroy, (CUevent event), cudaEventDestroy(event))
WBCPU_ALWAYS(
    cuGetErrorName, (CUresult error, const char **text),
    wbcpu_driver_error(error, text, (const char **)0))
WBCPU_ALWAYS(
    cuGetErrorString, (CUresult error, const char **text),
    wbcpu_driver_error(error, (const char **)0, text))

/* --- kernels of modules ------------------------------------------------------------------ */
WBCPU_IN_CONTEXT(
    cuFuncSetAttribute, (CUfunction kernel, CUfunction_attribute attribute, int value),
    cudaFuncSetAttribute((const void *)kernel, (enum cudaFuncAttribute)attribute, value))
WBCPU_IN_CONTEXT(
    cuFuncSetCacheConfig, (CUfunction kernel, CUfunc_cache config),
    cudaFuncSetCacheConfig((const void *)kernel, (enum cudaFuncCache)config))
WBCPU_IN_CONTEXT(
    cuOccupancyMaxActiveBlocksPerMultiprocessor,
    (int *blocks, CUfunction kernel, int threads, size_t bytes),
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, (const void *)kernel, threads, bytes))
static inline CUresult cuOccupancyMaxPotentialBlockSize(
    int *blocks, int *threads, CUfunction kernel, CUoccupancyB2DSize bytes_of,
    size_t bytes, int limit)
{
    WBCPU_NEEDS(1);
    (void)kernel, (void)bytes_of, (void)bytes; /* as cudaOccupancyMaxPotentialBlockSize */
    *threads = limit > 0 && limit < 256 ? limit : 256;
    return (CUresult)cudaDeviceGetAttribute(blocks, cudaDevAttrMultiProcessorCount, 0);
}
static inline CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction kernel)
{
    WBCPU_NEEDS(1);
    struct cudaFuncAttributes a;
    cudaError_t error = cudaFuncGetAttributes(&a, (const void *)kernel);
    if (error) return (CUresult)error;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = a.maxThreadsPerBlock;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)a.sharedSizeBytes;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)a.constSizeBytes;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)a.localSizeBytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = a.numRegs;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = a.maxDynamicSharedSizeBytes;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
#undef WBCPU_ALWAYS
#undef WBCPU_DRIVER
#undef WBCPU_IN_CONTEXT
#undef WBCPU_AT

#include "wbcpu/modules.h"
#include "wbcpu/virtual_memory.h"
#endif
