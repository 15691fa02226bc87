// cooperative.cu - correct: cooperative launches, whose blocks run at the same time.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include "../cases.h"

namespace cg = cooperative_groups;

enum { T = 64, BLOCKS = 4, N = T * BLOCKS };

template <typename P> struct same {
    typedef P type;
};
template <typename... P>
static int together(void (*kernel)(P...), dim3 grid, typename same<P>::type... args)
{
    void *pointers[] = {&args...};
    return cudaLaunchCooperativeKernel(kernel, grid, dim3(T), pointers, 0, 0);
}

// Prefix sums in place: read, wait, write, wait.
__global__ void scan(int *x)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int step = 1; step < N; step *= 2) {
        int v = i >= step ? x[i - step] : 0;
        grid.sync();
        x[i] += v;
        grid.sync();
    }
}
CASE(scan)
{
    int *x = filled<int>(N, [](int) { return 1; });
    return together(scan, BLOCKS, x) || differs(x, N, [](int i) { return i + 1; });
}

// Two buffers take turns: one wait per round.
__global__ void two_buffers(float *a, float *b, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < rounds; round++) {
        b[i] = a[(i + 1) % N];
        grid.sync();
        float *last = a;
        a = b, b = last;
    }
}
CASE(two_buffers)
{
    float *a = counting<float>(N), *b = unwritten<float>(N);
    return together(two_buffers, BLOCKS, a, b, 7) ||
           differs(b, N, [](int i) { return (i + 7) % N; });
}

// Shared memory keeps its values over the barrier; blocks in x and y.
__global__ void kept_in_shared(int *y, int *of_block)
{
    __shared__ int s[T];
    cg::grid_group grid = cg::this_grid();
    int t = threadIdx.x, b = (int)grid.block_rank(), sum = 0;
    s[t] = b + t;
    __syncthreads();  // the sum reads all elements
    if (t == 0) {
        for (int i = 0; i < T; i++)
            sum += s[i];
        of_block[b] = sum;
    }
    grid.sync();
    for (unsigned i = 0; i < grid.num_blocks(); i++)
        sum += of_block[i];
    y[b * T + t] = s[T - 1 - t] + (t ? sum : 0);
}
CASE(kept_in_shared)
{
    enum { B = 6, ALL = T * (T - 1) / 2 * B + T * (B * (B - 1) / 2) };
    int *y = zeros<int>(B * T);
    return together(kept_in_shared, dim3(3, 2), y, unwritten<int>(B)) ||
           differs(y, B * T, [](int i) {
               return i / T + T - 1 - i % T + (i % T ? (int)ALL : 0);
           });
}

// Threads without an element reach the barrier, too.
__global__ void guarded_work(float *y, float *work, int n)
{
    int i = blockIdx.x * T + threadIdx.x;
    if (i < n) work[i] = i;
    cg::this_grid().sync();
    if (i < n) y[i] = work[n - 1 - i];
}
CASE(guarded_work)
{
    float *y = zeros<float>(N);
    return together(guarded_work, BLOCKS, y, unwritten<float>(N), N - T - 5) ||
           differs(y, N, [](int i) { return i < N - T - 5 ? N - T - 6 - i : 0; });
}

// A barrier made of an atomic counter: cooperative blocks run at the same time.
__global__ void by_counter(float *y, float *work, unsigned *arrived)
{
    int i = blockIdx.x * T + threadIdx.x;
    work[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x)
            ;
        __threadfence();
    }
    __syncthreads();
    y[i] = work[N - 1 - i];
}
CASE(by_counter)
{
    float *y = zeros<float>(N);
    return together(by_counter, BLOCKS, y, unwritten<float>(N), zeros<unsigned>(1)) ||
           differs(y, N, [](int i) { return N - 1 - i; });
}

// Each block waits for the next one, which begins later; grid.sync() then passes block 0's
// value to all.
__global__ void backwards(int *y, int *value, volatile int *ready)
{
    int b = blockIdx.x, last = gridDim.x - 1;
    if (threadIdx.x == 0) {
        int next = b == last ? 0 : b + 1;
        if (b != last)
            while (!ready[next])
                ;
        __threadfence();
        value[b] = b == last ? 1 : 2 * value[next];
        __threadfence();
        ready[b] = 1;
    }
    cg::this_grid().sync();
    y[b * T + threadIdx.x] = value[0];
}
CASE(backwards)
{
    int *y = zeros<int>(N);
    return together(backwards, BLOCKS, y, unwritten<int>(BLOCKS), zeros<int>(BLOCKS)) ||
           differs(y, N, [](int) { return 1 << (BLOCKS - 1); });
}

// Copies are in flight while the blocks wait.
__global__ void copies_in_flight(float *y, const float *x, float *work)
{
    __shared__ float tile[T];
    cg::grid_group grid = cg::this_grid();
    int t = threadIdx.x, i = (int)grid.thread_rank();
    __pipeline_memcpy_async(&tile[t], &x[i], sizeof(float));
    __pipeline_commit();
    work[i] = i;
    grid.sync();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[i] = tile[T - 1 - t] + work[N - 1 - i];
}
CASE(copies_in_flight)
{
    float *y = zeros<float>(N);
    return together(
               copies_in_flight, BLOCKS, y, counting<float>(N), unwritten<float>(N)) ||
           differs(y, N, [](int i) { return i / T * T + T - 1 - i % T + N - 1 - i; });
}

// Only one warp of a block works between two barriers; a sum by all, read by all.
__global__ void sums_by_atomics(int *y, int *sum)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < 3; round++) {
        if (threadIdx.x < 32) atomicAdd(&sum[round], 1);
        grid.sync();
        y[i] += sum[round];
    }
}
CASE(sums_by_atomics)
{
    int *y = zeros<int>(N);
    return together(sums_by_atomics, BLOCKS, y, zeros<int>(3)) ||
           differs(y, N, [](int) { return 3 * 32 * BLOCKS; });
}

// Launched with an attribute; two launches, of different sizes, after one another.
__global__ void by_attribute(int *y)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank(), n = (int)grid.size();
    int v = y[n - 1 - i];
    grid.sync();
    y[i] = v + grid.is_valid();
}
CASE(by_attribute)
{
    int *y = counting<int>(N);
    cudaLaunchAttribute cooperative;
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t c = {};
    c.gridDim = BLOCKS, c.blockDim = T, c.attrs = &cooperative, c.numAttrs = 1;
    if (cudaLaunchKernelEx(&c, by_attribute, y)) return 3;
    c.gridDim = 1;
    if (cudaLaunchKernelEx(&c, by_attribute, y)) return 3;
    return differs(
        y, N, [](int i) { return i < T ? N - 1 - (T - 1 - i) + 2 : N - 1 - i + 1; });
}
