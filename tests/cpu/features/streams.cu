/* Two streams, events, constant memory */
#include <cstdio>
__constant__ int factor[2];
__global__ void scale(int *x, int k)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= factor[k];
}
int main()
{
    int *h, *x, f[2] = {3, 5};
    cudaMallocHost(&h, 4096);
    cudaMalloc(&x, 4096);
    for (int i = 0; i < 1024; i++)
        h[i] = i;
    cudaMemcpyToSymbol(factor, f, sizeof f);
    cudaStream_t a, b;
    cudaEvent_t e, start, stop;
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    cudaEventCreate(&e), cudaEventCreate(&start), cudaEventCreate(&stop);
    cudaEventRecord(start, a);
    cudaMemcpyAsync(x, h, 4096, cudaMemcpyHostToDevice, a);
    scale<<<8, 128, 0, a>>>(x, 0);
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    scale<<<8, 128, 0, b>>>(x, 1);
    cudaMemcpyAsync(h, x, 4096, cudaMemcpyDeviceToHost, b);
    cudaEventRecord(stop, b);
    cudaEventSynchronize(stop);
    float ms = -1;
    cudaEventElapsedTime(&ms, start, stop);
    for (int i = 0; i < 1024; i++)
        if (h[i] != 15 * i || ms < 0) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
