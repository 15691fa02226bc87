// pdl.cu - programmatic dependent launch: a kernel starts before the previous one has
// ended, and uses its results before it waits.
#include "../cases.h"

#include "cuda/pdl.cuh"

enum { N = 512, BLOCKS = 4, THREADS = 128 };

__global__ void first(float *x)
{
    pdl_trigger();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // BUG no_wait pdl, wait_after_read pdl, wait_in_thread_0 pdl, chain_without_wait pdl
    x[i] = (float)i;
}
// Runs the kernel after first, which writes x.
static int after_first(void (*second)(float *, float *))
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    launch_pdl(first, BLOCKS, THREADS, 0, 0, x);
    launch_pdl(second, BLOCKS, THREADS, 0, 0, y, x);
    return 0;
}

__global__ void no_wait(float *y, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];  // BUG no_wait pdl
}
CASE(no_wait)
{
    return after_first(no_wait);
}

__global__ void wait_after_read(float *y, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];  // BUG wait_after_read pdl
    pdl_wait();
    y[i] = v;
}
CASE(wait_after_read)
{
    return after_first(wait_after_read);
}

// One thread waits, and no barrier follows.
__global__ void wait_in_thread_0(float *y, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) pdl_wait();
    y[i] = x[i];  // BUG wait_in_thread_0 pdl
}
CASE(wait_in_thread_0)
{
    return after_first(wait_in_thread_0);
}

// It overwrites what the previous kernel still reads.
__global__ void reads(float *y, const float *x)
{
    pdl_trigger();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[N - 1 - i];  // BUG overwrites_input pdl
}
__global__ void overwrites(float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 0;  // BUG overwrites_input pdl
    pdl_wait();
}
CASE(overwrites_input)
{
    float *x = counting<float>(N), *y = zeros<float>(N);
    launch_pdl(reads, BLOCKS, THREADS, 0, 0, y, (const float *)x);
    launch_pdl(overwrites, BLOCKS, THREADS, 0, 0, x);
    return 0;
}

// The kernel between does not wait, so the third can overtake the first.
__global__ void unrelated(float *z)
{
    pdl_trigger();
    z[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void third(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    pdl_wait();
    y[i] = x[i];  // BUG chain_without_wait pdl
}
CASE(chain_without_wait)
{
    float *x = zeros<float>(N), *y = zeros<float>(N), *z = zeros<float>(N);
    launch_pdl(first, BLOCKS, THREADS, 0, 0, x);
    launch_pdl(unrelated, BLOCKS, THREADS, 0, 0, z);
    launch_pdl(third, BLOCKS, THREADS, 0, 0, y, (const float *)x);
    return 0;
}
