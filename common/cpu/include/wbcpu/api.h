/* api.h - the C++ overloads of the runtime API: typed pointers, symbols, kernels. */
#ifndef WBCPU_API_H
#define WBCPU_API_H

#include "../cuda_runtime_api.h"
#include "qualifiers.h"

#ifdef WBCPU_CHECKED
extern "C" void wbcpu_checked_type(const void *p, size_t bytes); /* of an element */
/* From now on host code may use these bytes of device memory: a library copies them. */
extern "C" void wbcpu_checked_reference(const void *p, size_t bytes);
#endif

/* Always inlined: check mode shows the line of the call. */
#define WBCPU_TYPED template <class T> WBCPU_INLINE cudaError_t
WBCPU_TYPED cudaMalloc(T **p, size_t bytes)
{
    cudaError_t e = cudaMalloc((void **)p, bytes);
#ifdef WBCPU_CHECKED
    if (!e) wbcpu_checked_type(*p, sizeof **p);
#endif
    return e;
}
WBCPU_TYPED cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream)
{
    cudaError_t e = cudaMallocAsync((void **)p, bytes, stream);
#ifdef WBCPU_CHECKED
    if (!e) wbcpu_checked_type(*p, sizeof **p);
#endif
    return e;
}
WBCPU_TYPED cudaMallocManaged(T **p, size_t bytes, unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged((void **)p, bytes, flags);
}
WBCPU_TYPED cudaMallocHost(T **p, size_t bytes, unsigned = 0)
{
    return cudaMallocHost((void **)p, bytes);
}
WBCPU_TYPED cudaHostAlloc(T **p, size_t bytes, unsigned flags)
{
    return cudaHostAlloc((void **)p, bytes, flags);
}
WBCPU_TYPED cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)p, pitch, width, height);
}
WBCPU_TYPED cudaHostGetDevicePointer(T **device, void *host, unsigned flags)
{
    return cudaHostGetDevicePointer((void **)device, host, flags);
}

/* The address of a __device__ or __constant__ variable serves as its symbol. The library
 * does not know its size: NULL stands for a symbol that the copy does not fit in. */
template <class T> const void *wbcpu_symbol(T &symbol, size_t bytes, size_t offset)
{
#ifdef WBCPU_CHECKED
    (void)bytes, (void)offset;  // check mode says which copy it is
#else
    if constexpr (!std::is_array_v<T> || std::extent_v<T> != 0)  // it has a size
        if (offset > sizeof symbol || bytes > sizeof symbol - offset) return nullptr;
#endif
    return &symbol;
}
WBCPU_TYPED cudaMemcpyToSymbol(
    T &symbol, const void *src, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol(
        wbcpu_symbol(symbol, bytes, offset), src, bytes, offset, kind);
}
/* Before CUDA 5, a symbol could be the name of a variable. Now it is an error, as for any
 * address on the stack. */
template <size_t N>
cudaError_t cudaMemcpyToSymbol(
    const char (&)[N], const void *src, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    const void *none = &src;
    return cudaMemcpyToSymbol(none, src, bytes, offset, kind);
}
WBCPU_TYPED cudaMemcpyToSymbolAsync(
    T &symbol, const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream = 0)
{
    return cudaMemcpyToSymbolAsync(
        wbcpu_symbol(symbol, bytes, offset), src, bytes, offset, kind, stream);
}
WBCPU_TYPED cudaMemcpyFromSymbol(
    void *dst, T &symbol, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(
        dst, wbcpu_symbol(symbol, bytes, offset), bytes, offset, kind);
}
WBCPU_TYPED cudaMemcpyFromSymbolAsync(
    void *dst, T &symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream = 0)
{
    return cudaMemcpyFromSymbolAsync(
        dst, wbcpu_symbol(symbol, bytes, offset), bytes, offset, kind, stream);
}
WBCPU_TYPED cudaGetSymbolAddress(void **p, T &symbol)
{
    return cudaGetSymbolAddress(p, (const void *)&symbol);
}
WBCPU_TYPED cudaGetSymbolSize(size_t *bytes, T &)
{
    *bytes = sizeof(T);
    return cudaSuccess;
}

WBCPU_TYPED cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attr, int value)
{
    return cudaFuncSetAttribute((const void *)kernel, attr, value);
}
WBCPU_TYPED cudaFuncSetCacheConfig(T *kernel, cudaFuncCache config)
{
    return cudaFuncSetCacheConfig((const void *)kernel, config);
}
WBCPU_TYPED cudaFuncSetSharedMemConfig(T *kernel, cudaSharedMemConfig config)
{
    return cudaFuncSetSharedMemConfig((const void *)kernel, config);
}
WBCPU_TYPED cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel)
{
    return cudaFuncGetAttributes(attributes, (const void *)kernel);
}
WBCPU_TYPED cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, T kernel, int threads, size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, (const void *)kernel, threads, shared_bytes);
}
WBCPU_TYPED cudaOccupancyMaxPotentialBlockSize(
    int *blocks, int *threads, T, size_t = 0, int limit = 0)
{
    cudaError_t e = cudaDeviceGetAttribute(blocks, cudaDevAttrMultiProcessorCount, 0);
    *threads = limit > 0 && limit < 256 ? limit : 256;
    return e;
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}
static inline cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *, char *, size_t)
{
    return cudaGraphInstantiate(exec, graph, 0ull);
}

#undef WBCPU_TYPED

#endif
