/* Arithmetic on half2 */
#include <cstdio>
#include <cuda_fp16.h>
__global__ void add(const __half2 *x, __half2 *y)
{
    y[threadIdx.x] = __hfma2(x[threadIdx.x], __float2half2_rn(2.0f), y[threadIdx.x]);
}
int main()
{
    __half2 h[32], r[32], *x, *y;
    for (int i = 0; i < 32; i++)
        h[i] = __floats2half2_rn((float)i, 0.25f);
    cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    cudaMemcpy(y, h, sizeof h, cudaMemcpyHostToDevice);
    add<<<1, 32>>>(x, y);
    cudaMemcpy(r, y, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        if (__low2float(r[i]) != 3.0f * i || __high2float(r[i]) != 0.75f) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
