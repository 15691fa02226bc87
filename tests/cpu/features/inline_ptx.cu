/* Inline PTX */
#include <cstdio>
__global__ void lanes(int *x)
{
    unsigned lane, sum;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mad.lo.u32 %0, %1, 3, 7;" : "=r"(sum) : "r"(lane));
    x[threadIdx.x] = sum;
}
int main()
{
    int h[64], *x;
    cudaMalloc(&x, sizeof h);
    lanes<<<1, 64>>>(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; i++)
        if (h[i] != i % 32 * 3 + 7) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
