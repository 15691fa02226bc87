/* `__CUDA_ARCH__`: only device code has it; functions for both sides have two versions. */
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 600
__device__ double atomicAdd(double *p, double x);  // the toolkit has it since sm_60
#endif

__device__ int warp_of(int thread)
{
#if __CUDA_ARCH__ >= 700
    return thread / 32;
#else
    return -1;
#endif
}
__host__ __device__ int is_host(int width = 32)
{
#ifdef __CUDA_ARCH__
    return 1 << width;
#else
    return 1;
#endif
}
#define FOR_BOTH __host__ __device__
struct side {
    int device = 0;
    FOR_BOTH side()
    {
#ifdef __CUDA_ARCH__
        device = 1;
#endif
    }
    FOR_BOTH static int of(int a)
    {
#ifdef __CUDA_ARCH__
        return a + 1;
#else
        return a;
#endif
    }
};
/* Thrust calls the device's version for data on the device. */
struct add_space {
    __host__ __device__ int operator()(int x)
    {
#ifdef __CUDA_ARCH__
        return x + blockDim.x * gridDim.x;
#else
        return x - 1;
#endif
    }
};
static int thrust_part()
{
    int h[] = {4, 5};
    thrust::device_vector<int> d(2, 5);
    thrust::transform(d.begin(), d.end(), d.begin(), add_space());
    thrust::transform(h, h + 2, h, add_space());
    if (d[1] <= 5 || h[1] != 4) return 1;
    thrust::transform(thrust::host, h, h + 2, h, add_space());
    return h[1] != 3 || add_space()(1) != 0;
}
__global__ void kernel(int *x, int width)
{
#ifdef __CUDA_ARCH__
    x[threadIdx.x] = warp_of(threadIdx.x) + __CUDA_ARCH__ / 10000 + is_host(width) +
                     side::of(side().device) - 2;
#endif
}

int main()
{
#ifdef __CUDA_ARCH__
    return 1;
#endif
    int *x;
    cudaMallocManaged(&x, 64 * sizeof(int));
    kernel<<<1, 64>>>(x, 32);
    cudaDeviceSynchronize();
    if (x[31] != 0 || x[32] != 1 || !is_host() || CUDART_VERSION < 13000) return 2;
    if (side::of(side().device) != 0) return 3;
    return thrust_part();
}
