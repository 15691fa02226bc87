/* Blocks wait for one another */
#include <cstdio>
__global__ void meet(int *arrived)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile int *)arrived < (int)gridDim.x)
            ;
    }
}
int main()
{
    int *a, h;
    cudaMalloc(&a, 4);
    cudaMemset(a, 0, 4);
    meet<<<16, 64>>>(a);
    cudaMemcpy(&h, a, 4, cudaMemcpyDeviceToHost);
    printf(h == 16 ? "right\n" : "wrong\n");
    return h != 16;
}
