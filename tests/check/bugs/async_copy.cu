// async_copy.cu - data of asynchronous copies to shared memory that is read before the
// wait, or by other threads before the barrier, or overwritten while it is read.
#include "../cases.h"

#include <cuda/barrier>
#include <cuda_pipeline.h>

#include "cuda/mma.cuh"

enum { T = 64 };  // threads per block; each copies 16 bytes per tile
static const float4 *vectors(int n)
{
    return (const float4 *)counting<float>(4 * n);
}

__global__ void no_wait(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));  // BUG no_wait async-copy
    __pipeline_commit();
    __syncthreads();
    y[t] = s[T - 1 - t].x;  // BUG no_wait async-copy
}
CASE(no_wait)
{
    no_wait<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

__global__ void no_barrier(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    // BUG no_barrier async-copy, no_barrier race-shared
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[t] = s[T - 1 - t].x;  // BUG no_barrier async-copy, no_barrier race-shared
}
CASE(no_barrier)
{
    no_barrier<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// The thread's own element: no barrier is needed, but the wait is.
__global__ void own_element(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));  // BUG own_element async-copy
    __pipeline_commit();
    y[t] = s[t].x;  // BUG own_element async-copy
}
CASE(own_element)
{
    own_element<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// Two stages: wait_prior(1) is right while a newer copy is in flight, not for the last.
__global__ void last_tile(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[2][T];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float4));
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) {
            const float4 *next = &x[(k + 1) * T + t];
            // BUG last_tile_in_flight async-copy
            __pipeline_memcpy_async(&s[(k + 1) % 2][t], next, sizeof(float4));
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[k % 2][T - 1 - t].x;  // BUG last_tile_in_flight async-copy
        __syncthreads();
    }
    y[t] = sum;
}
CASE(last_tile_in_flight)
{
    last_tile<<<1, T>>>(zeros<float>(T), vectors(3 * T), 3);
    return 0;
}

// The commit comes before the copy, so the wait does not cover it.
__global__ void committed_too_early(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    cp_async_commit();
    cp_async(&s[t], &x[t], true);  // BUG committed_too_early async-copy
    cp_async_wait<0>();
    __syncthreads();
    y[t] = s[T - 1 - t].x;  // BUG committed_too_early async-copy
}
CASE(committed_too_early)
{
    committed_too_early<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// The wait after the barrier: every thread has waited for its own copies only.
__global__ void wait_after_barrier(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    // BUG wait_after_barrier async-copy, wait_after_barrier race-shared
    cp_async(&s[t], &x[t], true);
    cp_async_commit();
    __syncthreads();
    cp_async_wait<0>();
    // BUG wait_after_barrier async-copy, wait_after_barrier race-shared
    y[t] = s[T - 1 - t].x;
}
CASE(wait_after_barrier)
{
    wait_after_barrier<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// Three stages with two copies in flight; the computation takes the newest.
__global__ void stage_off_by_one(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[3][T];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < tiles + 2; k++) {
        // BUG stage_off_by_one async-copy
        if (k < tiles) cp_async(&s[k % 3][t], &x[k * T + t], true);
        cp_async_commit();
        if (k < 2) continue;
        cp_async_wait<2>();
        __syncthreads();
        // BUG stage_off_by_one async-copy
        if (k - 1 < tiles) sum += s[(k - 1) % 3][T - 1 - t].x;
        __syncthreads();
    }
    y[t] = sum;
}
CASE(stage_off_by_one)
{
    stage_off_by_one<<<1, T>>>(zeros<float>(T), vectors(4 * T), 4);
    return 0;
}

// The barrier after the computation is missing: the copy of the next tile but one
// overwrites the stage while slower warps read it.
__global__ void stage_overwritten(float *y, const float4 *x, int tiles)
{
    __shared__ float4 s[2][T];
    int t = threadIdx.x;
    float sum = 0;
    cp_async(&s[0][t], &x[t], true);
    cp_async_commit();
    for (int k = 0; k < tiles; k++) {
        bool more = k + 1 < tiles;
        const float4 *next = &x[more ? (k + 1) * T + t : t];
        // BUG stage_overwritten async-copy, stage_overwritten race-shared
        cp_async(&s[(k + 1) % 2][t], next, more);
        cp_async_commit();
        cp_async_wait<1>();
        __syncthreads();
        // BUG stage_overwritten async-copy, stage_overwritten race-shared
        sum += s[k % 2][T - 1 - t].x;
    }
    y[t] = sum;
}
CASE(stage_overwritten)
{
    stage_overwritten<<<1, T>>>(zeros<float>(T), vectors(4 * T), 4);
    return 0;
}

// A plain store to the place that a copy is still writing
__global__ void zeroed_in_flight(float *y, const float4 *x, int n)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    cp_async(&s[t], &x[t], true);  // BUG zeroed_in_flight async-copy
    cp_async_commit();
    if (t >= n) s[t] = make_float4(0, 0, 0, 0);  // BUG zeroed_in_flight async-copy
    cp_async_wait<0>();
    __syncthreads();
    y[t] = s[T - 1 - t].x;
}
CASE(zeroed_in_flight)
{
    zeroed_in_flight<<<1, T>>>(zeros<float>(T), vectors(T), 40);
    return 0;
}

// One cp.async copies 4, 8 or 16 bytes.
__global__ void tile_in_one_copy(float *y, const float4 *x)
{
    __shared__ float4 s[T];
    int t = threadIdx.x;
    // BUG tile_in_one_copy async-copy
    if (t == 0) __pipeline_memcpy_async(s, x, sizeof s);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = s[t].x;
}
CASE(tile_in_one_copy)
{
    tile_in_one_copy<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// --- barriers in shared memory ---------------------------------------------------------

typedef cuda::barrier<cuda::thread_scope_block> barrier;
#pragma nv_diag_suppress static_var_with_dynamic_init // as NVIDIA's guide does

// Arriving is not waiting.
__global__ void only_arrives(float *y, const float4 *x)
{
    __shared__ barrier ready;
    __shared__ float4 s[T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T);
    __syncthreads();
    cuda::memcpy_async(
        &s[t], &x[t], sizeof(float4), ready);  // BUG only_arrives async-copy
    barrier::arrival_token token = ready.arrive();
    y[t] = s[t].x;  // BUG only_arrives async-copy
    ready.wait(static_cast<barrier::arrival_token &&>(token));
}
CASE(only_arrives)
{
    only_arrives<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// The copies do not arrive at the barrier: its phase ends without them.
__global__ void barrier_without_copies(float *y, const float4 *x)
{
    __shared__ barrier ready;
    __shared__ float4 s[T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T);
    __syncthreads();
    // BUG barrier_without_copies async-copy
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float4));
    ready.arrive_and_wait();
    y[t] = s[T - 1 - t].x;  // BUG barrier_without_copies async-copy
}
CASE(barrier_without_copies)
{
    barrier_without_copies<<<1, T>>>(zeros<float>(T), vectors(T));
    return 0;
}

// A test is not a wait: it may say that the phase has not ended.
__global__ void tests_once(float *y, const float *x)
{
    __shared__ __mbarrier_t ready;
    __shared__ float s[T];
    int t = threadIdx.x;
    if (t == 0) __mbarrier_init(&ready, T);
    __syncthreads();
    s[t] = x[t];  // BUG tests_once race-shared
    __mbarrier_token_t token = __mbarrier_arrive(&ready);
    __mbarrier_test_wait(&ready, token);
    // BUG tests_once race-shared, tests_once uninitialized-shared
    y[t] = s[T - 1 - t];
}
CASE(tests_once)
{
    tests_once<<<1, T>>>(zeros<float>(T), counting<float>(T));
    return 0;
}

// One arrival is missing: no thread can go on.
__global__ void wrong_count(float *y, const float *x)
{
    __shared__ barrier ready;
    __shared__ float s[T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T + 1);
    __syncthreads();
    s[t] = x[t];
    ready.arrive_and_wait();  // BUG wrong_count infinite-loop
    y[t] = s[T - 1 - t];
}
CASE(wrong_count)
{
    wrong_count<<<1, T>>>(zeros<float>(T), counting<float>(T));
    return 0;
}

// Other threads may arrive before the barrier has its count.
__global__ void early_arrival(float *y, const float *x)
{
    __shared__ barrier ready;
    __shared__ float s[T];
    int t = threadIdx.x;
    if (t == 0) init(&ready, T);  // BUG early_arrival race-shared
    s[t] = x[t];
    ready.arrive_and_wait();  // BUG early_arrival race-shared
    y[t] = s[T - 1 - t];
}
CASE(early_arrival)
{
    early_arrival<<<1, T>>>(zeros<float>(T), counting<float>(T));
    return 0;
}
