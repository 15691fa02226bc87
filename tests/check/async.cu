/* async.cu - kernels with cp.async. The comment of a line names the finding that check
 * mode has to report there; lines without such a comment have none. */
#include "cuda/mma.cuh"

#include <cuda_pipeline.h>
#include <stdio.h>

__global__ void no_wait(const float4 *a, float4 *b)
{
    __shared__ float4 s[32];
    cp_async(&s[threadIdx.x], a + threadIdx.x, true);
    cp_async_commit();
    __syncthreads();
    b[threadIdx.x] = s[31 - threadIdx.x];  // finds: async-copy
    cp_async_wait<0>();
}
__global__ void own_data_too_early(const float4 *a, float4 *b)
{
    __shared__ float4 s[64];
    int l = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        cp_async(&s[i * 32 + l], a + i * 32 + l, true);
        cp_async_commit();
    }
    cp_async_wait<1>();
    b[l] = s[l];
    b[l + 32] = s[l + 32];  // finds: async-copy
    cp_async_wait<0>();
}
__global__ void no_commit(const float4 *a, float4 *b)
{
    __shared__ float4 s[32];
    cp_async(&s[threadIdx.x], a + threadIdx.x, true);
    cp_async_wait<0>();
    b[threadIdx.x] = s[threadIdx.x];  // finds: async-copy
}
__global__ void no_barrier(const float4 *a, float4 *b)
{
    __shared__ float4 s[64];
    cp_async(&s[threadIdx.x], a + threadIdx.x, true);  // finds: race-shared
    cp_async_commit();
    cp_async_wait<0>();
    b[threadIdx.x] = s[63 - threadIdx.x];  // finds: race-shared
}
__global__ void overwritten(const float4 *a, float4 *b)
{
    __shared__ float4 s[32];
    cp_async(&s[threadIdx.x], a + threadIdx.x, true);
    cp_async_commit();
    s[threadIdx.x] = make_float4(0, 0, 0, 0);  // finds: async-copy
    cp_async_wait<0>();
    b[threadIdx.x] = s[threadIdx.x];
}
__global__ void refilled_too_early(const float4 *a, float4 *b)
{
    __shared__ float4 s[64];
    for (int i = 0; i < 2; i++) {
        cp_async(&s[threadIdx.x], a + threadIdx.x, true);  // finds: race-shared
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        b[threadIdx.x] = s[63 - threadIdx.x];  // finds: race-shared
    }
}
__global__ void double_buffer(const float4 *a, float4 *b, int tiles)
{
    __shared__ float4 s[2][64];
    int l = threadIdx.x;
    __pipeline_memcpy_async(&s[0][l], a + l, 16);
    __pipeline_commit();
    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles)
            __pipeline_memcpy_async(&s[(t + 1) % 2][l], a + (t + 1) * 64 + l, 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        b[t * 64 + l] = s[t % 2][63 - l];
        __syncthreads();  // the next copy overwrites this tile
    }
}

int main(void)
{
    const int tiles = 5, bytes = tiles * 64 * (int)sizeof(float4);
    float4 *a, *b, host[tiles * 64];
    for (int i = 0; i < tiles * 64; i++)
        host[i] = make_float4(i, 0, 0, 0);
    cudaMalloc((void **)&a, bytes);
    cudaMalloc((void **)&b, bytes);
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    double_buffer<<<1, 64>>>(a, b, tiles);
    cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost);
    for (int i = 0; i < tiles * 64; i++)
        if (host[i].x != i / 64 * 64 + 63 - i % 64) return 1;
    no_wait<<<1, 32>>>(a, b);
    own_data_too_early<<<1, 32>>>(a, b);
    no_commit<<<1, 32>>>(a, b);
    no_barrier<<<1, 64>>>(a, b);
    overwritten<<<1, 32>>>(a, b);
    refilled_too_early<<<1, 64>>>(a, b);
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
    return 0;
}
