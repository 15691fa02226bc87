/* cub_host.h - CUB's allocator and its macros for error messages. */
#ifndef WBCPU_CUB_HOST_H
#define WBCPU_CUB_HOST_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "../cuda_runtime.h"

#include <assert.h>
#include <stdio.h>

namespace cub
{
/* Prints an error; returns it. */
inline cudaError_t Debug(cudaError_t error, const char *file, int line)
{
    if (error)
        fprintf(
            stderr, "CUDA error %d [%s, %d]: %s\n", error, file, line,
            cudaGetErrorString(error));
    return error;
}
#define CubDebug(error) ::cub::Debug((cudaError_t)(error), __FILE__, __LINE__)
#define CubDebugExit(error)                                                              \
    if (CubDebug(error)) exit(1)

/* It keeps no blocks: allocation is cheap here. */
struct CachingDeviceAllocator {
    template <class... Options> explicit CachingDeviceAllocator(Options...) {}
    cudaError_t DeviceAllocate(void **p, size_t bytes, cudaStream_t = nullptr)
    {
        return cudaMalloc(p, bytes);
    }
    cudaError_t DeviceAllocate(int, void **p, size_t bytes, cudaStream_t = nullptr)
    {
        return cudaMalloc(p, bytes);
    }
    cudaError_t DeviceFree(void *p)
    {
        return cudaFree(p);
    }
    cudaError_t DeviceFree(int, void *p)
    {
        return cudaFree(p);
    }
    cudaError_t FreeAllCached()
    {
        return cudaSuccess;
    }
};
}  // namespace cub
#endif
