/* Static and dynamic shared memory, barriers */
#include <cstdio>
__global__ void reverse(int *x)
{
    extern __shared__ int dyn[];
    __shared__ int fixed[64];
    int t = threadIdx.x;
    fixed[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    dyn[t] = fixed[63 - t];
    __syncthreads();
    if (t == 0) dyn[0] += 1000;
    __syncthreads();
    x[blockIdx.x * 64 + t] = dyn[t] + dyn[0];
}
int main()
{
    int h[256], *x;
    for (int i = 0; i < 256; i++)
        h[i] = i;
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    reverse<<<4, 64, 64 * sizeof(int)>>>(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 256; i++) {
        int b = i / 64, t = i % 64, z = b * 64 + 63 + 1000;
        int want = (t == 0 ? z : b * 64 + 63 - t) + z;
        if (h[i] != want) {
            printf("wrong: %d is %d, not %d\n", i, h[i], want);
            return 1;
        }
    }
    printf("right\n");
    return 0;
}
