/* printf in a kernel */
#include <cstdio>
__global__ void hello()
{
    printf("block %d thread %d\n", blockIdx.x, threadIdx.x);
}
int main()
{
    hello<<<2, 2>>>();
    return cudaDeviceSynchronize() != cudaSuccess;
}
