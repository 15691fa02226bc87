/* The driver API (except modules), with virtual memory; NVTX ranges; mathematical constants; libraries that are not used. */
#include <cublasXt.h>
#include <cuda.h>
#if defined __CUDACPU__ || __has_include(<GL/gl.h>)
#include <cuda_gl_interop.h>
#endif
#include <cuda_profiler_api.h>
#include <cusolverSp.h>
#include <cusparse.h>
#include <device_functions.h>
#include <math_constants.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvToolsExt.h>)  // no toolkit has it since CUDA 13
#include <nvToolsExt.h>
#define CUDA_12
#endif

#include <cstdio>
#include <cstring>

#define CHECK_DRIVER(call)                                                               \
    do {                                                                                 \
        const CUresult error = call;                                                     \
        const char *text;                                                                \
        if (error != CUDA_SUCCESS) {                                                     \
            cuGetErrorString(error, &text);                                              \
            printf("%s:%d: %s\n", __FILE__, __LINE__, text);                             \
            return 1;                                                                    \
        }                                                                                \
    } while (0)

__global__ void add_pi(float *x)
{
    x[threadIdx.x] += CUDART_PI_F;
}

static int test_virtual_memory()
{
    CUmemAllocationProp about = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle a, b;
    CUdeviceptr small, large;
    size_t bytes;
    float h[2];
    about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    about.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK_DRIVER(
        cuMemGetAllocationGranularity(&bytes, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK_DRIVER(cuMemCreate(&a, bytes, &about, 0));
    CHECK_DRIVER(cuMemCreate(&b, bytes, &about, 0));
    CHECK_DRIVER(cuMemAddressReserve(&small, bytes, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(small, bytes, 0, a, 0));
    CHECK_DRIVER(cuMemSetAccess(small, bytes, &access, 1));
    CHECK_DRIVER(cuMemsetD32(small, 0x3f800000, 32));  // 1.0f
    add_pi<<<1, 32>>>((float *)small);
    // The array grows: its first part moves to addresses with room for a second one.
    CHECK_DRIVER(cuMemAddressReserve(&large, 2 * bytes, 0, small + bytes, 0));
    CHECK_DRIVER(cuMemMap(large, bytes, 0, a, 0));
    CHECK_DRIVER(cuMemMap(large + bytes, bytes, 0, b, 0));
    CHECK_DRIVER(cuMemSetAccess(large, 2 * bytes, &access, 1));
    add_pi<<<1, 2>>>((float *)small);  // both addresses show it
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuMemUnmap(small, bytes));
    CHECK_DRIVER(cuMemAddressFree(small, bytes));
    CHECK_DRIVER(cuMemcpyDtoD(large + bytes, large, 32 * sizeof(float)));
    add_pi<<<1, 1>>>((float *)(large + bytes));
    CHECK_DRIVER(cuMemcpyDtoH(h, large + bytes, sizeof h));
    CHECK_DRIVER(cuMemRelease(a));
    CHECK_DRIVER(cuMemRelease(b));
    if (cuMemAddressFree(large, 2 * bytes) == CUDA_SUCCESS) return 2;
    CHECK_DRIVER(cuMemUnmap(large, 2 * bytes));
    CHECK_DRIVER(cuMemAddressFree(large, 2 * bytes));
    return fabsf(h[0] - 10.4247780f) > 1e-5f || fabsf(h[1] - 7.28318531f) > 1e-5f;
}

static int test_errors()
{
    const char *text;
    CHECK_DRIVER(cuGetErrorName(CUDA_ERROR_ECC_UNCORRECTABLE, &text));
    if (strcmp(text, "CUDA_ERROR_ECC_UNCORRECTABLE")) return 1;
    CHECK_DRIVER(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text));
    if (strcmp(text, "invalid argument")) return 1;
    if (cuGetErrorName((CUresult)12345, &text) != CUDA_ERROR_INVALID_VALUE) return 1;
    if (strcmp(
            cudaGetErrorName(cudaErrorMissingConfiguration),
            "cudaErrorMissingConfiguration"))
        return 1;
    text = cudaGetErrorString(cudaErrorPeerAccessNotEnabled);
    return strcmp(text, "peer access has not been enabled");
}

int main()
{
    char name[32];
    int count, threads, major, minor;
    float h[64];
    CUdevice device;
    CUcontext context, current;
    CUdeviceptr x, y;
    CUstream stream;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGetCount(&count));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    if (cuDeviceGet(&device, count) != CUDA_ERROR_INVALID_DEVICE) return 1;
    CHECK_DRIVER(cuDeviceGetName(name, sizeof name, device));
    CHECK_DRIVER(cuDeviceComputeCapability(&major, &minor, device));
    CHECK_DRIVER(cuDeviceGetAttribute(
        &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device));
    if (!*name || threads != 1024 || major < 7) return 1;
#ifdef CUDA_12
    CHECK_DRIVER(cuCtxCreate(&context, 0, device));
#else
    CHECK_DRIVER(cuCtxCreate(&context, NULL, 0, device));
#endif
    CHECK_DRIVER(cuCtxGetCurrent(&current));
    if (current != context) return 1;
    if (test_virtual_memory() || test_errors()) return 1;

    nvtxRangePushA("copies");
    CHECK_DRIVER(cuMemAlloc(&x, sizeof h));
    CHECK_DRIVER(cuMemAlloc(&y, sizeof h));
    CHECK_DRIVER(cuMemsetD32(x, 0x3f800000, 64));  // 1.0f
    add_pi<<<1, 32>>>((float *)x);
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemcpyDtoD(y, x, sizeof h));
    CHECK_DRIVER(cuCtxSynchronize());  // the other stream does not wait for the copy
    CHECK_DRIVER(cuMemcpyDtoHAsync(h, y, sizeof h, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    nvtxRangePop();
    if (fabsf(h[31] - 4.14159265f) > 1e-6f || h[32] != 1) return 1;
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuMemFree(x));
    CHECK_DRIVER(cuMemFree(y));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuCtxDestroy(context));
    return cuCtxDestroy(NULL) != CUDA_ERROR_INVALID_VALUE;
}
