#include <cstdio>
__global__ void k(volatile int *flag)
{
    if (threadIdx.x < 32) {
        __syncthreads(); /* the other warp never reaches it */
        *flag = 1;
    } else {
        while (*flag == 0)
            ;
    }
}
int main()
{
    int *x;
    cudaMalloc(&x, 4);
    cudaMemset(x, 0, 4);
    k<<<1, 64>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
