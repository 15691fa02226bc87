/* Atomics on integers and floats, compare-and-swap, a device variable */
#include <cstdio>
__device__ int counter;
__global__ void count(int *sum, float *f, unsigned *peak)
{
    atomicAdd(sum, 1);
    atomicAdd(f, 0.5f);
    atomicMax(peak, blockIdx.x * blockDim.x + threadIdx.x);
    int old = counter, seen;
    while ((seen = atomicCAS(&counter, old, old + 2)) != old)
        old = seen;
}
int main()
{
    int *s, hs, hc;
    float *f, hf;
    unsigned *p, hp;
    cudaMalloc(&s, 4), cudaMalloc(&f, 4), cudaMalloc(&p, 4);
    cudaMemset(s, 0, 4), cudaMemset(f, 0, 4), cudaMemset(p, 0, 4);
    count<<<16, 128>>>(s, f, p);
    cudaMemcpy(&hs, s, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&hf, f, 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(&hp, p, 4, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(&hc, counter, 4);
    if (hs != 2048 || hf != 1024 || hp != 2047 || hc != 4096) {
        printf("wrong: %d %g %u %d\n", hs, hf, hp, hc);
        return 1;
    }
    printf("right\n");
    return 0;
}
