#include <cstdio>
__global__ void fill(int *x)
{
    x[(long)threadIdx.x << 32] = 1;
}
int main()
{
    int *x;
    cudaMalloc(&x, 1000 * sizeof(int));
    fill<<<1, 32>>>(x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
