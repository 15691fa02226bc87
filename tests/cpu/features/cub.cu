/* CUB: the sum of a block */
#include <cstdio>
#include <cub/cub.cuh>
__global__ void sum(int *out)
{
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int s = Reduce(temp).Sum((int)threadIdx.x);
    if (threadIdx.x == 0) *out = s;
}
int main()
{
    int *x, h;
    cudaMalloc(&x, 4);
    sum<<<1, 128>>>(x);
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    printf(h == 8128 ? "right\n" : "wrong\n");
    return h != 8128;
}
