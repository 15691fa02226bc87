/* Loops that wait for a warp, for later blocks, the grid, the clock or the host; assert. */
#include <cassert>
#include <cooperative_groups.h>
#include <chrono>
#include <cstdio>
#include <thread>

__global__ void other_warp(volatile int *flag, int *x)
{
    if (threadIdx.x < 32) {
        while (*flag == 0)
            ;
        x[threadIdx.x] = *flag;
    } else if (threadIdx.x == 63) {
        *flag = 7;
    }
}

/* A barrier of the grid made of atomics: all blocks must run at the same time. */
__global__ void all_blocks(int *arrived, volatile int *x)
{
    x[blockIdx.x] = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile int *)arrived < gridDim.x) {
        }
    }
    __syncthreads();
    if (x[gridDim.x - 1 - blockIdx.x] != gridDim.x - 1 - blockIdx.x) atomicAdd(arrived, 1);
}

__global__ void by_grid_sync(int n, int *x)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int step = 1; step < n; step *= 2) {
        int i = (int)grid.thread_rank(), v = i >= step ? x[i - step] : 0;
        grid.sync();
        x[i] += v;
        grid.sync();
    }
}

__global__ void positive(const int *x)
{
    assert(x[threadIdx.x] >= 0);
}

__global__ void by_clock(int *x)
{
    clock_t start = clock();
    while (clock() - start < 1000) {}
    x[threadIdx.x] = clock() - start >= 1000;
}

__global__ void add_to(int *x, int n)
{
    *x += n;
}
__global__ void twice(int *x)
{
    *x *= 2;
}
/* The host enqueues more, and then sets the flag. */
__global__ void until_host(volatile int *flag, int *x)
{
    while (*flag == 0)
        ;
    x[0] = *flag;
}
__global__ void keeps_error(volatile int *flag, int *x)
{
    add_to<<<1, 4096>>>(x, 0);
    while (*flag == 0)
        ;
    x[0] = cudaGetLastError() != cudaSuccess;
}
/* Another host thread enqueues while this one waits: its kernel comes after the others. */
static int threads_keep_order(int *x, volatile int *flag)
{
    *flag = 0;
    until_host<<<1, 1>>>(flag, x);
    add_to<<<1, 1>>>(x, 1);
    std::thread other([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        twice<<<1, 1>>>(x);
        *flag = 5;
    });
    cudaDeviceSynchronize();
    other.join();
    cudaDeviceSynchronize();
    return x[0] != 12;
}
static int host_continues(int *x, volatile int *flag)
{
    int *copy, one = 1;
    cudaMallocHost(&copy, sizeof *copy);  // other memory: the copy waits
    cudaStream_t stream;
    cudaEvent_t done, before;
    cudaStreamCreate(&stream);
    cudaEventCreate(&done);
    cudaEventCreate(&before);
    for (int way = 0; way < 3; way++) {
        *flag = 0;
        x[0] = 0;
        cudaEventRecord(before, stream);
        until_host<<<1, 1, 0, stream>>>((int *)flag, x);
        add_to<<<1, 1, 0, stream>>>(x, one);
        cudaMemcpyAsync(copy, x, sizeof *copy, cudaMemcpyDeviceToHost, stream);
        cudaEventRecord(done, stream);
        if (cudaEventQuery(done) != cudaErrorNotReady || x[0]) return 7;
        if (cudaEventSynchronize(before) || cudaEventQuery(before)) return 9;
        *flag = 5;
        if (way == 0) cudaStreamSynchronize(stream);
        if (way == 1) cudaMemcpy(copy, x, sizeof *copy, cudaMemcpyDeviceToHost);
        while (way == 2 && cudaEventQuery(done) == cudaErrorNotReady) {}
        if (*copy != 6) return 8;
    }
    *flag = 0;  // another stream has no work, and may release the kernel
    cudaStream_t other;
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    *copy = 5;
    until_host<<<1, 1, 0, stream>>>(flag, x);
    add_to<<<1, 1, 0, stream>>>(x, one);
    if (cudaStreamQuery(other) || cudaStreamSynchronize(other)) return 12;
    cudaMemcpyAsync((int *)flag, copy, sizeof *copy, cudaMemcpyDefault, other);
    cudaEventRecord(before, other);
    if (cudaEventSynchronize(before) || cudaStreamSynchronize(stream) || x[0] != 6)
        return 13;
    *flag = 0;
    keeps_error<<<1, 1>>>(flag, x);
    *flag = 1;
    cudaDeviceSynchronize();
    if (x[0] != 1) return 10;
    return threads_keep_order(x, flag) ? 11 : 0;
}

int main()
{
    int *x, *flag;
    cudaMallocManaged(&x, 4096 * sizeof(int));
    cudaMallocManaged(&flag, sizeof(int));
    *flag = 0;
    other_warp<<<1, 64>>>(flag, x);
    cudaDeviceSynchronize();
    if (x[0] != 7 || x[31] != 7) return 1;

    *flag = 0;
    all_blocks<<<64, 64>>>(flag, x);
    cudaDeviceSynchronize();
    if (*flag != 64) return 2;

    int n = 1024;
    for (int i = 0; i < n; i++)
        x[i] = 1;
    void *arguments[] = {&n, &x};
    if (cudaLaunchCooperativeKernel((void *)by_grid_sync, 16, 64, arguments)) return 3;
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++)
        if (x[i] != i + 1) return 4;

    by_clock<<<1, 32>>>(x);
    cudaDeviceSynchronize();
    if (x[31] != 1 || clock() / CLOCKS_PER_SEC > 3600) return 6;

    if (int wrong = host_continues(x, flag)) return wrong;

    x[5] = -1;
    positive<<<8, 32>>>(x);
    for (int call = 0; call < 2; call++) { // every later call fails, too
        if (cudaDeviceSynchronize() != cudaErrorAssert) return 5;
        if (cudaGetLastError() != cudaErrorAssert || cudaGetLastError()) return 7;
    }
    positive<<<8, 32>>>(x);
    return cudaGetLastError() != cudaErrorAssert;
}
