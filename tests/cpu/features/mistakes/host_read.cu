#include <cstdio>
__global__ void fill(int *x)
{
    x[threadIdx.x] = 1;
}
int main()
{
    int *d;
    cudaMalloc(&d, 400);
    fill<<<1, 100>>>(d);
    cudaDeviceSynchronize();
    printf("d[0] = %d\n", d[0]); /* d is device memory */
}
