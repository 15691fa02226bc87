#include <cstdio>
__global__ void fill(int *x)
{
    x[threadIdx.x] = 1;
}
int main()
{
    int *d, h = 0;
    cudaMalloc(&d, 8192);
    cudaMemset(d, 0, 8192);
    fill<<<1, 2048>>>(d); /* at most 1024 */
    printf("%s, ", cudaGetErrorString(cudaGetLastError()));
    cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
    printf("d[0] = %d\n", h);
}
