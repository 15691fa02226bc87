// gdb_demo.cu - the suite stops gdb at the line marked below, in one thread.
#include <cuda_runtime.h>

__global__ void reverse(float *x, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t] * 2;
    __syncthreads();
    float v = s[n - 1 - t];  // stop here
    x[t] = v;
}

int main()
{
    float h[64], *d;
    for (int i = 0; i < 64; i++)
        h[i] = (float)i;
    cudaMalloc(&d, sizeof h);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    reverse<<<2, 64>>>(d, 64);
    cudaFree(d);
    return 0;
}
