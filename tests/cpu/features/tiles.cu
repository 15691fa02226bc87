/* Cooperative groups: tiles of 8 threads */
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void sums(int *x)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = block.thread_rank();
    for (int o = 4; o > 0; o /= 2)
        v += tile.shfl_down(v, o);
    if (tile.thread_rank() == 0) x[block.thread_rank() / 8] = v;
    block.sync();
}
int main()
{
    int h[8], *x;
    cudaMalloc(&x, sizeof h);
    sums<<<1, 64>>>(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 8; i++)
        if (h[i] != 64 * i + 28) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
