#include <cstdio>
__global__ void fill(int n, int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = i; /* should be i < n */
}
int main()
{
    int *x;
    cudaMalloc(&x, 1000 * sizeof(int));
    fill<<<4, 256>>>(1000, x);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
