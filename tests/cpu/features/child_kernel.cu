/* A kernel that launches kernels */
#include <cstdio>
__global__ void child(int *x)
{
    atomicAdd(x, threadIdx.x);
}
__global__ void parent(int *x)
{
    if (threadIdx.x == 0) child<<<2, 32>>>(x);
}
int main()
{
    int *x, h;
    cudaMalloc(&x, 4);
    cudaMemset(x, 0, 4);
    parent<<<3, 32>>>(x);
    cudaDeviceSynchronize();
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    printf(h == 2976 ? "right\n" : "wrong\n");
    return h != 2976;
}
