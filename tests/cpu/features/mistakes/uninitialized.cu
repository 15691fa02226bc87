#include <cstdio>
__global__ void add(int *x)
{
    x[threadIdx.x] += 1;
}
int main()
{
    int *d, h[32];
    cudaMalloc(&d, sizeof h); /* never set */
    add<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("h[0] = %d\n", h[0]);
}
