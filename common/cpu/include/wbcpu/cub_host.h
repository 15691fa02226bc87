/* cub_host.h - CUB's allocator and its macros for error messages. */
#ifndef WBCPU_CUB_HOST_H
#define WBCPU_CUB_HOST_H

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "../cuda_runtime.h"

#include <assert.h>
#include <chrono>  // some programs rely on it: the toolkit's <cub/cub.cuh> includes it
#include <limits>
#include <stdint.h>
#include <stdio.h>
#include <type_traits>

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

/* Numbers as unsigned ones of the same order */
enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };
template <class T> struct Traits {
    typedef std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<
            sizeof(T) == 2, uint16_t,
            std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>
        UnsignedBits;
    static constexpr bool is_float = std::is_floating_point_v<T> ||
                                     std::is_same_v<T, __half> ||
                                     std::is_same_v<T, __nv_bfloat16>;
    static constexpr bool is_signed = is_float || std::is_signed_v<T>;
    static constexpr Category CATEGORY = is_float                 ? FLOATING_POINT
                                         : !std::is_integral_v<T> ? NOT_A_NUMBER
                                         : is_signed              ? SIGNED_INTEGER
                                                                  : UNSIGNED_INTEGER;
    static constexpr UnsignedBits HIGH_BIT = UnsignedBits(1) << (8 * sizeof(T) - 1);
    static constexpr UnsignedBits TwiddleIn(UnsignedBits key)
    {
        return UnsignedBits(
            is_float && key & HIGH_BIT ? ~key
            : is_signed                ? key ^ HIGH_BIT
                                       : key);
    }
    static constexpr UnsignedBits TwiddleOut(UnsignedBits key)
    {
        return UnsignedBits(
            is_float && !(key & HIGH_BIT) ? ~key
            : is_signed                   ? key ^ HIGH_BIT
                                          : key);
    }
    static constexpr T Max()
    {
        return std::numeric_limits<T>::max();
    }
    static constexpr T Lowest()
    {
        return std::numeric_limits<T>::lowest();
    }
};

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
