// launches.cu - launches that fail. The marked line is the launch. launch-error: the
// program asks for the error; unchecked-error: it does not, and continues.
#include "../cases.h"

__global__ void set_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
__global__ void set_dynamic(float *x)
{
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void __launch_bounds__(128) set_with_bounds(float *x)
{
    x[threadIdx.x] = 1;
}
static int expect_error(void)
{
    return cudaGetLastError() == cudaSuccess;
}

CASE(block_of_2048)
{
    set_one<<<1, 2048>>>(zeros<float>(2048), 2048);  // BUG block_of_2048 launch-error
    return expect_error();
}
CASE(block_of_64_by_32)
{
    // BUG block_of_64_by_32 launch-error
    set_one<<<1, dim3(64, 32)>>>(zeros<float>(64), 64);
    return expect_error();
}
CASE(block_too_deep)
{
    // BUG block_too_deep launch-error
    set_one<<<1, dim3(1, 1, 128)>>>(zeros<float>(64), 64);
    return expect_error();
}
// Empty input: (0 + 255) / 256 blocks
CASE(empty_grid)
{
    int n = 0;
    // BUG empty_grid launch-error
    set_one<<<(n + 255) / 256, 256>>>(zeros<float>(64), n);
    return expect_error();
}
CASE(rows_in_y)
{
    dim3 grid(1, 70000);
    set_one<<<grid, 32>>>(zeros<float>(32), 32);  // BUG rows_in_y launch-error
    return expect_error();
}
CASE(swapped_grid_and_block)
{
    int n = 1 << 20, threads = 256, blocks = n / threads;
    // BUG swapped_grid_and_block launch-error
    set_one<<<threads, blocks>>>(zeros<float>(64), 64);
    return expect_error();
}
CASE(shared_above_48k)
{
    // BUG shared_above_48k launch-error
    set_dynamic<<<1, 64, 64 << 10>>>(zeros<float>(64));
    return expect_error();
}
CASE(shared_above_limit)
{
    auto which = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cudaFuncSetAttribute(set_dynamic, which, 1 << 20);  // fails: no GPU has 1 MB
    // BUG shared_above_limit launch-error
    set_dynamic<<<1, 64, 1 << 20>>>(zeros<float>(64));
    return expect_error();
}
CASE(launch_bounds_exceeded)
{
    // BUG launch_bounds_exceeded launch-error
    set_with_bounds<<<1, 256>>>(zeros<float>(256));
    return expect_error();
}

// --- unchecked-error -------------------------------------------------------------------

CASE(unchecked_block)
{
    float *x = zeros<float>(2048);
    set_one<<<1, 2048>>>(x, 2048);  // BUG unchecked_block unchecked-error
    return differs(x, 2048, [](int) { return 0; });
}
// cudaDeviceSynchronize returns cudaSuccess: the launch failed before anything ran.
CASE(only_synchronized)
{
    float *x = zeros<float>(64);
    set_dynamic<<<1, 64, 64 << 10>>>(x);  // BUG only_synchronized unchecked-error
    cudaError_t e = cudaDeviceSynchronize();
    return e != cudaSuccess || differs(x, 64, [](int) { return 0; });
}
// The error of the first launch is asked for before it happens.
CASE(asked_too_early)
{
    float *x = zeros<float>(64);
    if (cudaGetLastError() != cudaSuccess) return 1;
    set_one<<<0, 64>>>(x, 64);  // BUG asked_too_early unchecked-error
    set_one<<<1, 64>>>(x, 64);
    return differs(x, 64, [](int) { return 1; });
}
