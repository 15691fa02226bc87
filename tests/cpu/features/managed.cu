/* Managed memory, a managed variable */
#include <cstdio>
__managed__ int total;
__global__ void add(const int *x)
{
    atomicAdd(&total, x[threadIdx.x]);
}
int main()
{
    int *x;
    cudaMallocManaged(&x, 64 * sizeof(int));
    for (int i = 0; i < 64; i++)
        x[i] = i;
    add<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    printf(total == 2016 ? "right\n" : "wrong\n");
    return total != 2016;
}
