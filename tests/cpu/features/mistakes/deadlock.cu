#include <cstdio>

__global__ void dead(float *x)
{
    if (threadIdx.x < 40)
        x[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 3);
    else
        __syncthreads();
}
int main()
{
    float *x;
    cudaMalloc(&x, 4096);
    dead<<<2, 64>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
