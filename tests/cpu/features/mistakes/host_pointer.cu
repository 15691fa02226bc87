#include <cstdio>
#include <cstdlib>
__global__ void fill(int *x)
{
    x[threadIdx.x] = 1;
}
int main()
{
    int *h = (int *)malloc(400);
    fill<<<1, 100>>>(h); /* h is host memory */
    printf("%s, h[0] = %d\n", cudaGetErrorString(cudaDeviceSynchronize()), h[0]);
}
