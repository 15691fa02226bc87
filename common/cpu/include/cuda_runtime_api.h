/* cuda_runtime_api.h - the functions of the CUDA runtime API. C11 and C++.
 *
 * Names, signatures and values are the toolkit's, so a program compiles with either. The
 * "device" is the CPU and its memory is ordinary memory: every call, "Async" or not, has
 * finished when it returns; in check mode it runs as late as the program allows.
 */
#ifndef CUDA_RUNTIME_API_H
#define CUDA_RUNTIME_API_H

#include "driver_types.h"
#include "vector_functions.h"

#define CUDART_VERSION 13000
#define CUDART_CB

/* As in driver_types.h */
#define __CUDA_RUNTIME_API_H__

#ifdef __cplusplus
#define WBCPU_DEFAULT(value) = value
struct cudaKernelNodeParams; /* in cuda_runtime.h */
extern "C" {
#else
#define WBCPU_DEFAULT(value)
#endif

/* --- errors ------------------------------------------------------------------------- */
cudaError_t cudaGetLastError(void);    /* returns and clears the last error */
cudaError_t cudaPeekAtLastError(void); /* returns the last error */
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* --- devices ------------------------------------------------------------------------ */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);

/* --- streams and events ------------------------------------------------------------- */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(
    cudaStream_t stream, cudaEvent_t event, unsigned int flags WBCPU_DEFAULT(0));
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user);
cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void *user, unsigned int flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

/* --- memory ------------------------------------------------------------------------- */
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocManaged(
    void **p, size_t bytes, unsigned int flags WBCPU_DEFAULT(cudaMemAttachGlobal));
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned int flags);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t
cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p);
cudaError_t
cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(
    void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
    cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaMemcpy2D(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    enum cudaMemcpyKind kind, cudaStream_t stream WBCPU_DEFAULT(0));
/* Between devices. There is one, number 0. */
cudaError_t
cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes);
cudaError_t cudaMemcpyPeerAsync(
    void *dst, int dst_device, const void *src, int src_device, size_t bytes,
    cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t
cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(
    void *p, size_t pitch, int value, size_t width, size_t height,
    cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaMemPrefetchAsync(
    const void *p, size_t bytes, int device, cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t
cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaMemcpyToSymbol(
    const void *symbol, const void *src, size_t bytes, size_t offset WBCPU_DEFAULT(0),
    enum cudaMemcpyKind kind WBCPU_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyToSymbolAsync(
    const void *symbol, const void *src, size_t bytes, size_t offset,
    enum cudaMemcpyKind kind, cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaMemcpyFromSymbol(
    void *dst, const void *symbol, size_t bytes, size_t offset WBCPU_DEFAULT(0),
    enum cudaMemcpyKind kind WBCPU_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyFromSymbolAsync(
    void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
    cudaStream_t stream WBCPU_DEFAULT(0));
cudaError_t cudaGetSymbolAddress(void **p, const void *symbol);

/* --- kernels ------------------------------------------------------------------------ */
cudaError_t
cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attr, int value);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t
cudaFuncSetSharedMemConfig(const void *kernel, enum cudaSharedMemConfig config);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache config);
cudaError_t
cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, const void *kernel, int threads, size_t shared_bytes);

/* --- graphs: work captured from a stream and replayed ------------------------------- */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t
cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags WBCPU_DEFAULT(0));
cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags WBCPU_DEFAULT(0));
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

/* --- profiler: none; the calls do nothing ------------------------------------------- */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif
#endif
