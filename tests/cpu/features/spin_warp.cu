/* A warp waits for another warp of its block */
#include <cstdio>
__global__ void wait(volatile int *flag, int *x)
{
    if (threadIdx.x < 32) {
        while (*flag == 0)
            ;
        x[threadIdx.x] = *flag;
    } else if (threadIdx.x == 63) {
        *flag = 7;
    }
}
int main()
{
    int *f, *x, h[32];
    cudaMalloc(&f, 4), cudaMalloc(&x, sizeof h);
    cudaMemset(f, 0, 4);
    wait<<<1, 64>>>(f, x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    printf(h[31] == 7 ? "right\n" : "wrong\n");
    return h[31] != 7;
}
