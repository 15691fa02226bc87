/* Device and peer queries when there is one device. */
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t error = call;                                                  \
        if (error != cudaSuccess) {                                                      \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));        \
            return 1;                                                                    \
        }                                                                                \
    } while (0)
#if !defined __DRIVER_TYPES_H__ || !defined __CUDA_RUNTIME_H__
#error "helper_cuda.h asks for these macros of the toolkit"
#endif

/* Constructed before main, destroyed after it */
__global__ void add_one(int *x)
{
    ++*x;
}
struct device_number {
    int *x;
    device_number()
    {
        cudaMalloc(&x, sizeof *x);
        cudaMemset(x, 0, sizeof *x);
        add_one<<<1, 1>>>(x);
    }
    bool is(int value) const
    {
        int h = -1;
        return cudaMemcpy(&h, x, sizeof h, cudaMemcpyDeviceToHost) || h == value;
    }
    ~device_number()  // a GPU's runtime may have ended: all calls return an error
    {
        add_one<<<1, 1>>>(x);
        if (!is(2)) _Exit(1);
        cudaFree(x);
    }
} number;

int main()
{
    if (!number.is(1) || cudaGetLastError()) return 1;
    int count = 0, mode = -1, peer = 1, a[2] = {3, 4}, b[2] = {0, 0}, *x, *y;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceMapHost));
    CHECK(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0));
    if (count != 1 || mode == cudaComputeModeProhibited) return 1;
    if (cudaDeviceCanAccessPeer(&peer, 0, 1) != cudaErrorInvalidDevice) return 1;
    if (cudaDeviceEnablePeerAccess(1, 0) != cudaErrorInvalidDevice) return 1;
    if (cudaGetLastError() != cudaErrorInvalidDevice) return 1;

    cudaSharedMemConfig config;
    CHECK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    CHECK(cudaDeviceGetSharedMemConfig(&config));  // GPUs since Maxwell have four bytes
    if (config != cudaSharedMemBankSizeFourByte) return 1;

    CHECK(cudaMalloc(&x, sizeof a));
    CHECK(cudaMalloc(&y, sizeof a));
    CHECK(cudaMemcpy(x, a, sizeof a, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyPeer(y, 0, x, 0, sizeof a));
    CHECK(cudaMemcpy(b, y, sizeof b, cudaMemcpyDeviceToHost));
    return b[0] != 3 || b[1] != 4;
}
