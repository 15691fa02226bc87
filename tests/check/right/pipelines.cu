// pipelines.cu - correct: asynchronous copies to shared memory, barriers in shared memory,
// programmatic dependent launch.
#include "../cases.h"

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

#include "cuda/mma.cuh"
#include "cuda/pdl.cuh"

enum { T = 64 };  // threads per block; each copies 16 bytes per tile
static const float4 *vectors(int n)
{
    return (const float4 *)counting<float>(4 * n);
}
/* What thread i gets from `tiles` tiles if it adds element T - 1 - i of each */
static float mirrored(int i, int tiles)
{
    return 4.0f * (tiles * (T - 1 - i) + T * (tiles * (tiles - 1) / 2));
}

__global__ void one_tile(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = s[T - 1 - t].x;
}
CASE(one_tile)
{
    float *y = zeros<float>(T);
    one_tile<<<1, T>>>(y, vectors(T));
    return differs(y, T, [](int i) { return mirrored(i, 1); });
}

__global__ void double_buffer(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[2][T];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float4));
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles)
            __pipeline_memcpy_async(&s[(k + 1) % 2][t], &x[(k + 1) * T + t], 16);
        __pipeline_commit();  // of nothing, after the last tile
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k % 2][T - 1 - t].x;
        __syncthreads();
    }
    y[t] = sum;
}
CASE(double_buffer)
{
    float *y = zeros<float>(T);
    double_buffer<<<1, T>>>(y, vectors(4 * T), 4);
    return differs(y, T, [](int i) { return mirrored(i, 4); });
}

__global__ void triple_buffer(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[3][T];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 2; k++) {
        __pipeline_memcpy_async(&s[k][t], &x[k * T + t], sizeof(float4));
        __pipeline_commit();
    }
    for (int k = 0; k < tiles; k++) {
        if (k + 2 < tiles)
            __pipeline_memcpy_async(&s[(k + 2) % 3][t], &x[(k + 2) * T + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += s[k % 3][T - 1 - t].x;
        __syncthreads();
    }
    y[t] = sum;
}
CASE(triple_buffer)
{
    float *y = zeros<float>(T);
    triple_buffer<<<1, T>>>(y, vectors(5 * T), 5);
    return differs(y, T, [](int i) { return mirrored(i, 5); });
}

// One barrier per step: it makes tile k visible, and all threads have finished with tile
// k - 1, whose stage gets the next copy.
template <int STAGES> __global__ void multistage(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[STAGES][T];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < STAGES - 1; k++) {
        cp_async(&s[k][t], &x[k < tiles ? k * T + t : t], k < tiles);
        cp_async_commit();
    }
    for (int k = 0; k < tiles; k++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        int next = k + STAGES - 1;
        if (next < tiles) cp_async(&s[next % STAGES][t], &x[next * T + t], true);
        cp_async_commit();
        sum += s[k % STAGES][T - 1 - t].x;
    }
    y[t] = sum;
}
CASE(two_stages)
{
    float *y = zeros<float>(T);
    multistage<2><<<1, T>>>(y, vectors(5 * T), 5);
    return differs(y, T, [](int i) { return mirrored(i, 5); });
}
CASE(three_stages)
{
    float *y = zeros<float>(T);
    multistage<3><<<1, T>>>(y, vectors(6 * T), 6);
    return differs(y, T, [](int i) { return mirrored(i, 6); });
}
CASE(more_stages_than_tiles)
{
    float *y = zeros<float>(T);
    multistage<4><<<1, T>>>(y, vectors(2 * T), 2);
    return differs(y, T, [](int i) { return mirrored(i, 2); });
}

// Rows that do not exist become zeros, without a read.
__global__ void zero_fill(float *y, const float4 *x, int n)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    cp_async(&s[t], &x[t < n ? t : 0], t < n);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    y[t] = s[T - 1 - t].y;
}
CASE(zero_fill)
{
    float *y = zeros<float>(T);
    zero_fill<<<1, T>>>(y, vectors(40), 40);
    return differs(y, T, [](int i) { return T - 1 - i < 40 ? 4 * (T - 1 - i) + 1 : 0; });
}

// A thread that reads only its own copy needs the wait, but no barrier.
__global__ void own_copy(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[t] = s[t].z;
}
CASE(own_copy)
{
    float *y = zeros<float>(T);
    own_copy<<<1, T>>>(y, vectors(T));
    return differs(y, T, [](int i) { return 4 * i + 2; });
}

// The warp's lanes exchange what they copied after __syncwarp.
__global__ void copies_of_warp(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    y[t] = s[t ^ 31].x;
}
CASE(copies_of_warp)
{
    float *y = zeros<float>(T);
    copies_of_warp<<<1, T>>>(y, vectors(T));
    return differs(y, T, [](int i) { return 4 * (i ^ 31); });
}

// --- programmatic dependent launch -----------------------------------------------------

enum { N = 512, BLOCKS = 4, THREADS = 128 };

__global__ void first(float *x)
{
    pdl_trigger();
    pdl_wait();
    x[blockIdx.x * blockDim.x + threadIdx.x] = 3;
}
// No kernel writes the weights, so they may be read before the wait.
__global__ void second(float *y, const float *x, const float *weight)
{
    pdl_trigger();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float w = weight[i];
    pdl_wait();
    y[i] = w * x[i];
}
CASE(dependent_launches)
{
    float *x = zeros<float>(N), *y = zeros<float>(N), *z = zeros<float>(N);
    const float *weight = counting<float>(N);
    launch_pdl(first, BLOCKS, THREADS, 0, 0, x);
    launch_pdl(second, BLOCKS, THREADS, 0, 0, y, (const float *)x, weight);
    launch_pdl(second, BLOCKS, THREADS, 0, 0, z, (const float *)y, weight);
    return differs(z, N, [](int i) { return 3 * i * i; });
}

// An ordinary launch after a dependent one waits for all of it.
__global__ void no_wait_needed(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[N - 1 - i] + 1;
}
CASE(ordinary_after_dependent)
{
    float *x = zeros<float>(N), *y = zeros<float>(N);
    launch_pdl(first, BLOCKS, THREADS, 0, 0, x);
    no_wait_needed<<<BLOCKS, THREADS>>>(y, x);
    return differs(y, N, [](int) { return 4; });
}

// --- barriers in shared memory ---------------------------------------------------------

typedef cuda::barrier<cuda::thread_scope_block> barrier;
#pragma nv_diag_suppress static_var_with_dynamic_init // as NVIDIA's guide does

// Arriving and waiting are apart, phase after phase.
__global__ void neighbour_sums(float *y, const float *x, int tiles)
{
    __shared__ __mbarrier_t written, used;
    __shared__ float s[T];
    int t = threadIdx.x;
    if (t == 0) __mbarrier_init(&written, T), __mbarrier_init(&used, T);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        s[t] = x[k * T + t];
        __mbarrier_token_t token = __mbarrier_arrive(&written);
        while (!__mbarrier_test_wait(&written, token)) {
        }
        sum += s[(t + 1) % T];
        token = __mbarrier_arrive(&used);
        while (!__mbarrier_test_wait(&used, token)) {
        }
    }
    y[t] = sum;
}
CASE(barrier_phases)
{
    float *y = zeros<float>(T);
    neighbour_sums<<<1, T>>>(y, counting<float>(3 * T), 3);
    return differs(y, T, [](int i) { return 3.0f * ((i + 1) % T) + 3 * T; });
}

// One warp fills two buffers in turn; the other one empties them. Only a few arrive.
__global__ void ring(float *y, const float *x, int tiles)
{
    __shared__ __mbarrier_t full[2], empty[2];
    __shared__ float s[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; i++)
            __mbarrier_init(&full[i], 32), __mbarrier_init(&empty[i], 32);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < tiles; k++) {
        int i = k % 2;
        bool round = k / 2 % 2;
        if (threadIdx.x < 32) {
            if (k >= 2)
                while (!__mbarrier_try_wait_parity(&empty[i], !round, 1000)) {
                }
            s[i][lane] = x[k * 32 + lane];
            __mbarrier_arrive(&full[i]);
        } else {
            while (!__mbarrier_try_wait_parity(&full[i], round, 1000)) {
            }
            sum += s[i][31 - lane];
            __mbarrier_arrive(&empty[i]);
        }
    }
    if (threadIdx.x >= 32) y[lane] = sum;
}
CASE(barrier_ring)
{
    float *y = zeros<float>(32);
    ring<<<1, 64>>>(y, counting<float>(5 * 32), 5);
    return differs(y, 32, [](int i) { return 5.0f * (31 - i) + 32 * 10; });
}

// A copy arrives at a barrier; between arriving and waiting a thread does other work.
__global__ void copy_arrives(float *y, const float4 *x)
{
    __shared__ barrier ready;
    __shared__ float4 s[T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T);
    __syncthreads();
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_arrive_on(cuda::device::barrier_native_handle(ready));
    barrier::arrival_token token = ready.arrive();
    y[t] = 1;
    ready.wait(static_cast<barrier::arrival_token &&>(token));
    y[t] = s[T - 1 - t].x;
}
CASE(copy_arrives)
{
    float *y = zeros<float>(T);
    copy_arrives<<<1, T>>>(y, vectors(T));
    return differs(y, T, [](int i) { return mirrored(i, 1); });
}

// The block copies together. Half of the threads leave after the first tile.
__global__ void group_copies(float *y, const float4 *x)
{
    namespace cg = cooperative_groups;
    __shared__ barrier ready;
    __shared__ alignas(16) float4 s[2][T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T);
    __syncthreads();
    cuda::memcpy_async(
        cg::this_thread_block(), s[0], x, cuda::aligned_size_t<16>(sizeof s[0]), ready);
    ready.arrive_and_wait();
    float first = s[0][T - 1 - t].x;
    if (t >= T / 2) {
        ready.arrive_and_drop();
        y[t] = first;
        return;
    }
    cuda::memcpy_async(&s[1][t], &x[T + t], sizeof(float4), ready);
    ready.arrive_and_wait();
    y[t] = first + s[1][T / 2 - 1 - t].x;
}
CASE(group_copies)
{
    float *y = zeros<float>(T);
    group_copies<<<1, T>>>(y, vectors(2 * T));
    return differs(y, T, [](int i) {
        return 4.0f * (T - 1 - i) + (i < T / 2 ? 4.0f * (T + T / 2 - 1 - i) : 0);
    });
}
