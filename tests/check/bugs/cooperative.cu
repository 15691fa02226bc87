// cooperative.cu - cooperative launches: grid.sync() that is missing, or that some
// threads do not reach.
#include <cooperative_groups.h>

#include "../cases.h"

namespace cg = cooperative_groups;

enum { T = 64, BLOCKS = 4, N = T * BLOCKS };

template <typename P> struct same {
    typedef P type;
};
template <typename... P>
static int together(void (*kernel)(P...), int blocks, typename same<P>::type... args)
{
    void *pointers[] = {&args...};
    // BUG too_many_blocks launch-error
    return cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(T), pointers, 0, 0);
}

// __syncthreads() waits only for its own block.
__global__ void barrier_of_block(float *y, float *work)
{
    int i = blockIdx.x * T + threadIdx.x;
    work[i] = i;  // BUG barrier_of_block race-blocks
    __syncthreads();
    y[i] = work[N - 1 - i];  // BUG barrier_of_block race-blocks
    cg::this_grid().sync();
}
CASE(barrier_of_block)
{
    return together(barrier_of_block, BLOCKS, zeros<float>(N), zeros<float>(N));
}

// In place, without a second grid.sync(): the next round reads x while other blocks may
// not have written it yet.
__global__ void one_sync_per_round(float *x)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < 3; round++) {
        float left = x[(i + N - 1) % N];  // BUG one_sync_per_round race-blocks
        grid.sync();
        x[i] += left;  // BUG one_sync_per_round race-blocks
    }
}
CASE(one_sync_per_round)
{
    return together(one_sync_per_round, BLOCKS, counting<float>(N));
}

// The partial sums are complete only after a grid.sync().
__global__ void early_total(float *total, float *partial, const float *x)
{
    cg::grid_group grid = cg::this_grid();
    float sum = 0;
    for (int i = 0; i < T; i++)
        sum += x[blockIdx.x * T + i];
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;  // BUG early_total race-blocks
    if (grid.thread_rank() == 0)
        for (unsigned b = 0; b < gridDim.x; b++)
            *total += partial[b];  // BUG early_total race-blocks
    grid.sync();
}
CASE(early_total)
{
    return together(
        early_total, BLOCKS, zeros<float>(1), zeros<float>(BLOCKS), counting<float>(N));
}

// Block 0 resets the sum for the next round while others may not have read it.
__global__ void reset_early(float *y, float *sum)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < 2; round++) {
        atomicAdd(sum, 1.0f);
        grid.sync();
        y[i] += *sum;          // BUG reset_early race-blocks
        if (i == 0) *sum = 0;  // BUG reset_early race-blocks
        grid.sync();
    }
}
CASE(reset_early)
{
    return together(reset_early, BLOCKS, zeros<float>(N), zeros<float>(1));
}

// The buffers are swapped after even rounds, but grid.sync() runs only after odd ones.
__global__ void buffers_mixed_up(float *a, float *b)
{
    cg::grid_group grid = cg::this_grid();
    int i = (int)grid.thread_rank();
    for (int round = 0; round < 4; round++) {
        // BUG buffers_mixed_up race-blocks
        b[i] = 0.5f * (a[(i + 1) % N] + a[(i + N - 1) % N]);
        if (round % 2 == 0) {
            float *last = a;
            a = b, b = last;
        }
        if (round % 2) grid.sync();
    }
}
CASE(buffers_mixed_up)
{
    return together(buffers_mixed_up, BLOCKS, counting<float>(N), zeros<float>(N));
}

// Threads without an element return before the barrier.
__global__ void early_return(float *y, float *work, int n)
{
    int i = blockIdx.x * T + threadIdx.x;
    if (i >= n) return;
    work[i] = i;
    cg::this_grid().sync();  // BUG early_return barrier-divergence
    y[i] = work[n - 1 - i];
}
CASE(early_return)
{
    return together(early_return, BLOCKS, zeros<float>(N), zeros<float>(N), N - 10);
}

// The same, where the last block has no element at all: the others wait for ever.
__global__ void block_returns(float *y, float *work, int n)
{
    int i = blockIdx.x * T + threadIdx.x;
    if (i >= n) return;
    work[i] = i;
    cg::this_grid().sync();  // BUG block_returns deadlock
    y[i] = work[n - 1 - i];
}
CASE(block_returns)
{
    return together(block_returns, BLOCKS, zeros<float>(N), zeros<float>(N), N - T);
}

// The number of rounds depends on the block.
__global__ void unequal_rounds(float *x)
{
    cg::grid_group grid = cg::this_grid();
    for (unsigned i = blockIdx.x; i < 2 * BLOCKS - 1; i += gridDim.x) {
        x[i] += 1;
        grid.sync();  // BUG unequal_rounds deadlock
    }
}
CASE(unequal_rounds)
{
    return together(unequal_rounds, BLOCKS, zeros<float>(2 * BLOCKS));
}

// Only the first warp of each block waits for the grid.
__global__ void one_warp(float *y, float *work)
{
    int i = blockIdx.x * T + threadIdx.x;
    work[i] = i;
    if (threadIdx.x < 32)
        cg::this_grid().sync();  // BUG one_warp barrier-divergence
    else
        __syncthreads();  // BUG one_warp barrier-divergence
    y[i] = work[N - 1 - i];
}
CASE(one_warp)
{
    return together(one_warp, BLOCKS, zeros<float>(N), zeros<float>(N));
}

// An ordinary launch promises no grid.sync().
__global__ void ordinary_launch(float *y)
{
    cg::this_grid().sync();  // BUG ordinary_launch misuse
    y[blockIdx.x * T + threadIdx.x] = 1;
}
CASE(ordinary_launch)
{
    ordinary_launch<<<BLOCKS, T>>>(zeros<float>(N));
    return 0;
}

// A barrier of all blocks by an atomic counter, without __threadfence.
__global__ void no_fence(float *y, float *work, unsigned *arrived)
{
    int i = blockIdx.x * T + threadIdx.x;
    work[i] = i;  // BUG no_fence race-blocks
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned *)arrived < gridDim.x)
            ;
    }
    __syncthreads();
    y[i] = work[N - 1 - i];  // BUG no_fence race-blocks
}
CASE(no_fence)
{
    return together(
        no_fence, BLOCKS, zeros<float>(N), zeros<float>(N), zeros<unsigned>(1));
}

// Shared memory is of one block: grid.sync() does not pass it on.
__global__ void shared_by_grid(float *y)
{
    __shared__ float sum;
    cg::grid_group grid = cg::this_grid();
    if (grid.thread_rank() == 0) sum = 1;
    grid.sync();
    y[grid.thread_rank()] = sum;  // BUG shared_by_grid uninitialized-shared
}
CASE(shared_by_grid)
{
    return together(shared_by_grid, BLOCKS, zeros<float>(N));
}

// All blocks must fit on the device at the same time.
__global__ void too_many_blocks(float *y)
{
    cg::this_grid().sync();
    y[0] = 1;
}
CASE(too_many_blocks)
{
    cudaError_t e = (cudaError_t)together(too_many_blocks, 1 << 20, zeros<float>(1));
    return e != cudaErrorCooperativeLaunchTooLarge || e != cudaGetLastError();
}
