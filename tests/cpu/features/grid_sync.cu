/* Cooperative groups: a barrier of the grid */
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void shift(int *x, int n)
{
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 4; step++) {
        int v = x[(i + 1) % n];
        grid.sync();
        x[i] = v;
        grid.sync();
    }
}
int main()
{
    int h[256], *x, n = 256;
    for (int i = 0; i < n; i++)
        h[i] = i;
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    void *args[] = {&x, &n};
    if (cudaLaunchCooperativeKernel((void *)shift, dim3(4), dim3(64), args, 0, 0) !=
        cudaSuccess) {
        printf("error\n");
        return 1;
    }
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        if (h[i] != (i + 4) % n) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
