/* cuda.h - the driver API's contexts, memory, streams and events. C11 and C++. The driver
 * API has the runtime's errors and attributes under other names, with the same values. A
 * context is the device; all are the same one. wbcpu/modules.h has modules. */
#ifndef WBCPU_CUDA_H
#define WBCPU_CUDA_H

#include <string.h>

#include "cuda_runtime_api.h"

#ifndef CUDA_VERSION
#define CUDA_VERSION CUDART_VERSION
#endif
#define __cuda_cuda_h__ /* helper_cuda.h asks for it */
#define CUDAAPI

typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct {
    char bytes[16];
} CUuuid;

typedef enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_FILE_NOT_FOUND = 301,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum { /* the values of cudaDeviceAttr */
               CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
               CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
               CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
               CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
               CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
               CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
               CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
               CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
               CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
               CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
               CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
               CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
               CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
               CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
               CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
               CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
               CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
               CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
               CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
               CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
               CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
               CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
               CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
               CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
               CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
               CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
               CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
               CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
} CUdevice_attribute;

enum { CU_CTX_SCHED_AUTO = 0, CU_CTX_SCHED_SPIN = 1, CU_CTX_MAP_HOST = 8 };
enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0, CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEM_ATTACH_GLOBAL = 1, CU_MEM_ATTACH_HOST = 2 };

/* NAME(PARAMETERS) does the runtime's CALL. */
#define WBCPU_DRIVER(name, parameters, call)                                             \
    static inline __attribute__((always_inline)) CUresult name parameters                \
    {                                                                                    \
        return (CUresult)(call);                                                         \
    }
#define WBCPU_AT(p) ((void *)(size_t)(p))

/* --- devices and contexts ------------------------------------------------------------- */
WBCPU_DRIVER(cuInit, (unsigned flags), flags ? cudaErrorInvalidValue : cudaSuccess)
WBCPU_DRIVER(cuDriverGetVersion, (int *version), cudaDriverGetVersion(version))
WBCPU_DRIVER(cuDeviceGetCount, (int *count), cudaGetDeviceCount(count))
WBCPU_DRIVER(
    cuDeviceGet, (CUdevice * device, int number),
    number ? cudaErrorInvalidDevice : (*device = 0, cudaSuccess))
WBCPU_DRIVER(
    cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
    cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device))

static inline CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
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

#define WBCPU_CONTEXT ((CUcontext)1)
static inline CUresult wbcpu_context(CUcontext *context, CUdevice device)
{
    if (context) *context = WBCPU_CONTEXT;
    return (CUresult)cudaSetDevice(device);
}
WBCPU_DRIVER(
    wbcpu_is_context, (CUcontext context),
    context == WBCPU_CONTEXT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT)
/* Toolkit 13 has a third argument before the flags, which is NULL. */
#ifdef __cplusplus
WBCPU_DRIVER(
    cuCtxCreate, (CUcontext * c, unsigned, CUdevice device), wbcpu_context(c, device))
WBCPU_DRIVER(
    cuCtxCreate, (CUcontext * c, const void *, unsigned, CUdevice device),
    wbcpu_context(c, device))
#else
#define cuCtxCreate(context, flags, device)                                              \
    ((void)(flags), wbcpu_context(context, device))
#endif
WBCPU_DRIVER(
    cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice device), wbcpu_context(c, device))
WBCPU_DRIVER(cuDevicePrimaryCtxRelease, (CUdevice device), cudaSetDevice(device))
WBCPU_DRIVER(cuCtxDestroy, (CUcontext c), wbcpu_is_context(c))
WBCPU_DRIVER(cuCtxSetCurrent, (CUcontext c), wbcpu_is_context(c))
WBCPU_DRIVER(cuCtxPushCurrent, (CUcontext c), wbcpu_is_context(c))
WBCPU_DRIVER(cuCtxPopCurrent, (CUcontext * c), wbcpu_context(c, 0))
WBCPU_DRIVER(cuCtxGetCurrent, (CUcontext * c), wbcpu_context(c, 0))
WBCPU_DRIVER(cuCtxGetDevice, (CUdevice * device), cudaGetDevice(device))
WBCPU_DRIVER(cuCtxSynchronize, (void), cudaDeviceSynchronize())

/* --- memory --------------------------------------------------------------------------- */
static inline CUresult cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc((void **)&memory, bytes);
    if (!error) *p = (CUdeviceptr)(size_t)memory;
    return (CUresult)error;
}
static inline CUresult cuMemAllocManaged(CUdeviceptr *p, size_t bytes, unsigned flags)
{
    void *memory = NULL;
    cudaError_t error = cudaMallocManaged((void **)&memory, bytes, flags);
    if (!error) *p = (CUdeviceptr)(size_t)memory;
    return (CUresult)error;
}
static inline CUresult cuMemsetD32(CUdeviceptr p, unsigned value, size_t count)
{
    cudaError_t error =
        cudaSuccess; /* by the runtime's copies, which check the address */
    for (size_t i = 0; i < count && !error; i++)
        error = cudaMemcpy(WBCPU_AT(p + 4 * i), &value, 4, cudaMemcpyHostToDevice);
    return (CUresult)error;
}
WBCPU_DRIVER(cuMemAllocHost, (void **p, size_t bytes), cudaMallocHost(p, bytes))
WBCPU_DRIVER(cuMemFree, (CUdeviceptr p), cudaFree(WBCPU_AT(p)))
WBCPU_DRIVER(cuMemFreeHost, (void *p), cudaFreeHost(p))
WBCPU_DRIVER(cuMemGetInfo, (size_t * free, size_t *total), cudaMemGetInfo(free, total))
WBCPU_DRIVER(
    cuMemsetD8, (CUdeviceptr p, unsigned char value, size_t count),
    cudaMemset(WBCPU_AT(p), value, count))
WBCPU_DRIVER(
    cuMemcpyHtoD, (CUdeviceptr dst, const void *src, size_t bytes),
    cudaMemcpy(WBCPU_AT(dst), src, bytes, cudaMemcpyHostToDevice))
WBCPU_DRIVER(
    cuMemcpyDtoH, (void *dst, CUdeviceptr src, size_t bytes),
    cudaMemcpy(dst, WBCPU_AT(src), bytes, cudaMemcpyDeviceToHost))
WBCPU_DRIVER(
    cuMemcpyDtoD, (CUdeviceptr dst, CUdeviceptr src, size_t bytes),
    cudaMemcpy(WBCPU_AT(dst), WBCPU_AT(src), bytes, cudaMemcpyDeviceToDevice))
WBCPU_DRIVER(
    cuMemcpyHtoDAsync, (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
    cudaMemcpyAsync(WBCPU_AT(dst), src, bytes, cudaMemcpyHostToDevice, stream))
WBCPU_DRIVER(
    cuMemcpyDtoHAsync, (void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
    cudaMemcpyAsync(dst, WBCPU_AT(src), bytes, cudaMemcpyDeviceToHost, stream))

/* --- streams, events, errors ------------------------------------------------------------ */
WBCPU_DRIVER(
    cuStreamCreate, (CUstream * stream, unsigned flags),
    cudaStreamCreateWithFlags(stream, flags))
WBCPU_DRIVER(cuStreamSynchronize, (CUstream stream), cudaStreamSynchronize(stream))
WBCPU_DRIVER(cuStreamDestroy, (CUstream stream), cudaStreamDestroy(stream))
WBCPU_DRIVER(
    cuEventCreate, (CUevent * event, unsigned flags),
    cudaEventCreateWithFlags(event, flags))
WBCPU_DRIVER(
    cuEventRecord, (CUevent event, CUstream stream), cudaEventRecord(event, stream))
WBCPU_DRIVER(cuEventSynchronize, (CUevent event), cudaEventSynchronize(event))
WBCPU_DRIVER(
    cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end),
    cudaEventElapsedTime(milliseconds, start, end))
WBCPU_DRIVER(cuEventDestroy, (CUevent event), cudaEventDestroy(event))
WBCPU_DRIVER(
    cuGetErrorName, (CUresult error, const char **text),
    (*text = cudaGetErrorName((enum cudaError)error), cudaSuccess))
WBCPU_DRIVER(
    cuGetErrorString, (CUresult error, const char **text),
    (*text = cudaGetErrorString((enum cudaError)error), cudaSuccess))
#undef WBCPU_DRIVER
#undef WBCPU_AT

#include "wbcpu/modules.h"
#endif
