// hopper.cu - instructions of Hopper: tiles that TMA copies and wgmma reads, used too early
// or without fence_async() after ordinary stores.
#include "../cases.h"

#include "cuda/hopper.cuh"

enum { T = 128, ROWS = 64, COLS = 64 };  // one warpgroup, a tile of 64 rows of 128 bytes

static tensor_map map_of(const wb_bf16 *x)
{
    tensor_map map;
    if (!make_tensor_map(&map, x, {2, {COLS, ROWS}, {1, COLS}, {COLS, ROWS}, 128}))
        exit(3);
    return map;
}
static const wb_bf16 *tile(void)
{
    return filled<wb_bf16>(ROWS * COLS, [](int i) { return (float)(i % 7); });
}
static __device__ void start_barrier(uint64_t *loaded)
{
    if (threadIdx.x == 0) {
        mbarrier_init(loaded, 1);
        mbarrier_fence_init();
    }
    __syncthreads();
}
/* D = A A^T for a tile of 64 rows; D is added up over the thread's part. */
static __device__ float square(const wb_bf16 *s)
{
    float d[32], sum = 0;
    uint64_t a = wgmma_tile<128>(s);
    wgmma_fence(d);
    for (int k = 0; k < COLS; k += 16)
        wgmma<wb_bf16>(d, wgmma_step(a, 2 * k), wgmma_step(a, 2 * k), k > 0);
    wgmma_commit();
    wgmma_wait<0>(d);
    for (int i = 0; i < 32; i++)
        sum += d[i];
    return sum;
}

// The tile is read before the barrier says that it has arrived.
__global__ void no_wait(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, sizeof s);
        tma_load(s, &map, &loaded, 0, 0);  // BUG no_wait async-copy
    }
    __syncthreads();
    y[threadIdx.x] = (float)s[threadIdx.x];  // BUG no_wait async-copy
    mbarrier_wait(&loaded, 0);
}
CASE(no_wait)
{
    no_wait<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The second load is waited for with the parity of the first, which has ended.
__global__ void stale_parity(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    for (int i = 0; i < 2; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            mbarrier_expect(&loaded, sizeof s);
            tma_load(s, &map, &loaded, 0, 0);  // BUG stale_parity async-copy
        }
        mbarrier_wait(&loaded, 0);
        y[threadIdx.x] += (float)s[threadIdx.x];  // BUG stale_parity async-copy
    }
    mbarrier_wait(&loaded, 1);
}
CASE(stale_parity)
{
    stale_parity<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The next load begins while other threads may still read the tile.
__global__ void no_empty(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            mbarrier_expect(&loaded, sizeof s);
            tma_load(s, &map, &loaded, 0, 0);  // BUG no_empty race-shared
        }
        mbarrier_wait(&loaded, i);
        y[threadIdx.x] += (float)s[threadIdx.x];  // BUG no_empty race-shared
    }
}
CASE(no_empty)
{
    no_empty<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// Ordinary stores, then wgmma: the barrier alone does not order the two proxies.
__global__ void no_fence(float *y, const wb_bf16 *x)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int i = threadIdx.x; i < ROWS * COLS; i += T)
        s[i] = x[i];  // BUG no_fence async-proxy
    __syncthreads();
    float d[32], sum = 0;
    uint64_t a = wgmma_tile<128>(s);
    wgmma_fence(d);
    wgmma<wb_bf16>(d, a, a, false);
    wgmma_commit();
    wgmma_wait<0>(d);  // BUG no_fence async-proxy
    for (int i = 0; i < 32; i++)
        sum += d[i];
    y[threadIdx.x] = sum;
}
CASE(no_fence)
{
    no_fence<<<1, T>>>(zeros<float>(T), tile());
    return 0;
}

// One thread calls fence_async(), for what all have written.
__global__ void fence_of_one(wb_bf16 *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int i = threadIdx.x; i < ROWS * COLS; i += T)
        s[i] = wb_bf16(1.0f);  // BUG fence_of_one async-proxy
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_async();
        tma_store(&map, s, 0, 0);  // BUG fence_of_one async-proxy
        tma_commit();
        tma_wait<0>();
    }
    (void)y;
}
CASE(fence_of_one)
{
    wb_bf16 *y = zeros<wb_bf16>(ROWS * COLS);
    fence_of_one<<<1, T>>>(y, map_of(y));
    return 0;
}

// The store reads the tile while other threads may still write it.
__global__ void store_no_barrier(const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int i = threadIdx.x; i < ROWS * COLS; i += T)
        s[i] = wb_bf16(1.0f);  // BUG store_no_barrier race-shared
    fence_async();
    if (threadIdx.x == T - 1) {
        tma_store(&map, s, 0, 0);  // BUG store_no_barrier race-shared
        tma_commit();
        tma_wait<0>();
    }
}
CASE(store_no_barrier)
{
    store_no_barrier<<<1, T>>>(map_of(zeros<wb_bf16>(ROWS * COLS)));
    return 0;
}

// Accumulators are read before their wgmma has finished.
__global__ void early_accumulators(float *y, const wb_bf16 *x)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int i = threadIdx.x; i < ROWS * COLS; i += T)
        s[i] = x[i];
    fence_async();
    __syncthreads();
    float d[32], sum = 0;
    uint64_t a = wgmma_tile<128>(s);
    wgmma_fence(d);
    wgmma<wb_bf16>(d, a, a, false);
    wgmma_commit();
    for (int i = 0; i < 32; i++)
        sum += d[i];  // BUG early_accumulators async-copy
    wgmma_wait<0>(d);
    y[threadIdx.x] = sum;
}
CASE(early_accumulators)
{
    early_accumulators<<<1, T>>>(zeros<float>(T), tile());
    return 0;
}

// A tile is overwritten while a wgmma still reads it: the wait comes too late.
__global__ void early_overwrite(float *y, const wb_bf16 *x)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int i = threadIdx.x; i < ROWS * COLS; i += T)
        s[i] = x[i];
    fence_async();
    __syncthreads();
    float d[32], sum = 0;
    uint64_t a = wgmma_tile<128>(s);
    wgmma_fence(d);
    wgmma<wb_bf16>(d, a, a, false);
    wgmma_commit();
    __syncthreads();
    s[threadIdx.x] = wb_bf16(0.0f);  // BUG early_overwrite race-shared
    wgmma_wait<0>(d);  // BUG early_overwrite race-shared, early_overwrite async-proxy
    for (int i = 0; i < 32; i++)
        sum += d[i];
    y[threadIdx.x] = sum + square(s);
}
CASE(early_overwrite)
{
    early_overwrite<<<1, T>>>(zeros<float>(T), tile());
    return 0;
}

// The parity of the wait is off by one, so the last wait is for a phase that never ends.
__global__ void parity_ahead(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, sizeof s);
        tma_load(s, &map, &loaded, 0, 0);
    }
    mbarrier_wait(&loaded, 0);
    y[threadIdx.x] = (float)s[threadIdx.x];
    mbarrier_wait(&loaded, 1);  // BUG parity_ahead deadlock
}
CASE(parity_ahead)
{
    parity_ahead<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The barrier expects the elements, not the bytes, of the tile.
__global__ void expects_elements(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, ROWS * COLS);
        tma_load(s, &map, &loaded, 0, 0);
    }
    mbarrier_wait(&loaded, 0);  // BUG expects_elements deadlock
    y[threadIdx.x] = (float)s[threadIdx.x];
}
CASE(expects_elements)
{
    expects_elements<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The block ends while its load is under way.
__global__ void unused_load(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, sizeof s);
        tma_load(s, &map, &loaded, 0, 0);  // BUG unused_load misuse
    }
    y[threadIdx.x] = 1;
}
CASE(unused_load)
{
    unused_load<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The tile lies in shared memory at a multiple of 64 bytes.
__global__ void crooked_tile(float *y, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS + 32];
    __shared__ uint64_t loaded;
    start_barrier(&loaded);
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, ROWS * COLS * 2);
        tma_load(s + 32, &map, &loaded, 0, 0);  // BUG crooked_tile misuse
    }
    mbarrier_wait(&loaded, 0);
    y[threadIdx.x] = (float)s[threadIdx.x];
}
CASE(crooked_tile)
{
    crooked_tile<<<1, T>>>(zeros<float>(T), map_of(tile()));
    return 0;
}

// The tile is overwritten while the store may still read it.
__global__ void no_wait_read(const __grid_constant__ tensor_map map)
{
    __shared__ __align__(1024) wb_bf16 s[ROWS * COLS];
    for (int round = 0; round < 2; round++) {
        for (int i = threadIdx.x; i < ROWS * COLS; i += T)
            s[i] = wb_bf16((float)round);  // BUG no_wait_read async-copy
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            tma_store(&map, s, 0, 0);  // BUG no_wait_read async-copy
            tma_commit();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) tma_wait<0>();
}
CASE(no_wait_read)
{
    no_wait_read<<<1, T>>>(map_of(zeros<wb_bf16>(ROWS * COLS)));
    return 0;
}

// One of two warps waits for the first phase twice: it may read its second value before
// the producer writes it. Its second arrival at `empty` belongs to a later phase than the
// one for which the producer waits, so it orders nothing.
__global__ void first_phase_twice(float *y)
{
    __shared__ uint64_t full, empty;
    __shared__ float s[32];
    int t = threadIdx.x, warp = t / 32;
    if (t == 0) {
        mbarrier_init(&full, 32), mbarrier_init(&empty, 64);
        mbarrier_fence_init();
    }
    __syncthreads();
    for (int round = 0; round < 2; round++)
        if (warp == 0) {
            mbarrier_wait(&empty, (round & 1) ^ 1);
            s[t] = (float)round;  // BUG first_phase_twice race-shared
            mbarrier_arrive(&full);
        } else {
            mbarrier_wait(&full, warp == 1 ? 0 : round);
            y[round * 64 + t - 32] = s[t % 32];  // BUG first_phase_twice race-shared
            mbarrier_arrive(&empty);
        }
}
CASE(first_phase_twice)
{
    first_phase_twice<<<1, 96>>>(zeros<float>(128));
    return 0;
}
