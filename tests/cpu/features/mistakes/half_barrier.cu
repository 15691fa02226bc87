#include <cstdio>
__global__ void k(int *x)
{
    if (threadIdx.x % 2)
        __syncthreads(); /* only half of the threads */
    else
        x[threadIdx.x] = 1;
    x[threadIdx.x] += x[63 - threadIdx.x];
    __syncthreads();
}
int main()
{
    int *x;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    k<<<1, 64>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
