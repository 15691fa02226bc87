/* `__CUDA_ARCH__` has a value in device code, and none in host code. */
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
__host__ __device__ int is_host()
{
#ifdef __CUDA_ARCH__
    return 0;
#else
    return 1;
#endif
}
__global__ void kernel(int *x)
{
#ifdef __CUDA_ARCH__
    x[threadIdx.x] = warp_of(threadIdx.x) + __CUDA_ARCH__ / 10000;
#endif
}

int main()
{
#ifdef __CUDA_ARCH__
    return 1;
#endif
    int *x;
    cudaMallocManaged(&x, 64 * sizeof(int));
    kernel<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    return x[31] != 0 || x[32] != 1 || !is_host() || CUDART_VERSION < 13000;
}
