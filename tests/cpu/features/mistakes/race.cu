#include <cstdio>
__global__ void reverse(int *x)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x]; /* needs a barrier before it */
}
int main()
{
    int h[64], *x;
    for (int i = 0; i < 64; i++)
        h[i] = i;
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    reverse<<<1, 64>>>(x);
    cudaError_t e = cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf("%s, x[0] = %d, x[63] = %d\n", cudaGetErrorString(e), h[0], h[63]);
}
