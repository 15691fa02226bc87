/* Grid-stride loop, shared memory, shuffles and an atomic. */
#include <cstdio>
#include <vector>

__global__ void sum(int n, const int *x, int *total)
{
    __shared__ int warps[8];
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        s += x[i];
    for (int o = 16; o > 0; o >>= 1)
        s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            s += warps[w];
        atomicAdd(total, s);
    }
}

int main()
{
    const int n = 100003;
    std::vector<int> h(n);
    int want = 0, got = 0, *x, *total;
    for (int i = 0; i < n; i++)
        want += h[i] = i % 97 - 40;
    if (cudaMalloc(&x, n * sizeof(int)) || cudaMalloc(&total, sizeof(int))) return 1;
    cudaMemcpy(x, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(total, 0, sizeof(int));
    sum<<<13, 256>>>(n, x, total);
    cudaMemcpy(&got, total, sizeof(int), cudaMemcpyDeviceToHost);
    if (got != want) printf("%d, not %d\n", got, want);
    return got != want;
}
