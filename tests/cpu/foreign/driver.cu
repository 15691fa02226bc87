/* The driver API without modules, NVTX ranges, constants; libraries that are not used. */
#include <cublasXt.h>
#include <cuda.h>
#include <cuda_gl_interop.h>
#include <cuda_profiler_api.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <device_functions.h>
#include <math_constants.h>
#include <nccl.h>
#include <nvToolsExt.h>
#include <nvtx3/nvToolsExt.h>

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
    CHECK_DRIVER(cuCtxCreate(&context, 0, device));
    CHECK_DRIVER(cuCtxGetCurrent(&current));
    if (current != context) return 1;

    nvtxRangePushA("copies");
    CHECK_DRIVER(cuMemAlloc(&x, sizeof h));
    CHECK_DRIVER(cuMemAlloc(&y, sizeof h));
    CHECK_DRIVER(cuMemsetD32(x, 0x3f800000, 64));  // 1.0f
    add_pi<<<1, 32>>>((float *)x);
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuMemcpyDtoD(y, x, sizeof h));
    CHECK_DRIVER(cuMemcpyDtoHAsync(h, y, sizeof h, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    nvtxRangePop();
    if (fabsf(h[31] - 4.14159265f) > 1e-6f || h[32] != 1) return 1;
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuMemFree(x));
    CHECK_DRIVER(cuMemFree(y));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuCtxDestroy(context));
    return cuCtxDestroy(nullptr) != CUDA_ERROR_INVALID_CONTEXT;
}
