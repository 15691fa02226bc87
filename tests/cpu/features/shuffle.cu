/* Shuffles and a ballot of 32 lanes */
#include <cstdio>
__global__ void sums(int *x)
{
    int v = threadIdx.x, lane = threadIdx.x % 32;
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, o);
    v = __shfl_sync(0xffffffffu, v, 0);
    unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
    x[threadIdx.x] = v + __shfl_xor_sync(0xffffffffu, lane, 1) + __popc(odd);
}
int main()
{
    int h[64], *x;
    cudaMalloc(&x, sizeof h);
    sums<<<1, 64>>>(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 64; i++) {
        int want = (i < 32 ? 496 : 1520) + (i % 32 ^ 1) + 16;
        if (h[i] != want) {
            printf("wrong: %d is %d, not %d\n", i, h[i], want);
            return 1;
        }
    }
    printf("right\n");
    return 0;
}
