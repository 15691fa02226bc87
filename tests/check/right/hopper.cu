// hopper.cu - correct: TMA, mbarriers, wgmma and named barriers.
#include "../cases.h"

#include "cuda/hopper.cuh"

enum { T = 128, ROWS = 64, COLS = 64, TILE = ROWS * COLS };

static tensor_map map_of(const wb_bf16 *x, int tiles)
{
    tensor_map map;
    if (!make_tensor_map(
            &map, x, {2, {COLS, (size_t)(ROWS * tiles)}, {1, COLS}, {COLS, ROWS}, 128}))
        exit(3);
    return map;
}
static int element(int i)
{
    return i * 5 % 7 - 3;
}
static const wb_bf16 *numbers(int tiles)
{
    return filled<wb_bf16>(tiles * TILE, [](int i) { return (float)element(i); });
}
/* Element (row, col) of the sum of A A^T over the tiles */
static float gram(int row, int col, int tiles)
{
    int sum = 0;
    for (int i = 0; i < tiles; i++)
        for (int k = 0; k < COLS; k++)
            sum +=
                element(i * TILE + row * COLS + k) * element(i * TILE + col * COLS + k);
    return (float)sum;
}

static __device__ void add_square(float (&d)[32], const wb_bf16 *s, bool accumulate)
{
    uint64_t a = wgmma_tile<128>(s);
    wgmma_fence(d);
    for (int k = 0; k < COLS; k += 16)
        wgmma<wb_bf16>(d, wgmma_step(a, 2 * k), wgmma_step(a, 2 * k), accumulate || k);
    wgmma_commit();
    wgmma_wait<0>(d);
}
static __device__ void store_square(float *y, const float (&d)[32])
{
    int t = threadIdx.x % T, row = t / 32 * 16 + t % 32 / 4;
    for (int i = 0; i < 32; i++)
        y[(row + i / 2 % 2 * 8) * COLS + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
}

// A producer warp loads tiles into a ring of two; a warpgroup multiplies them.
__global__ void __launch_bounds__(T + 32)
    specialized(float *y, const __grid_constant__ tensor_map map, int tiles)
{
    extern __shared__ __align__(1024) wb_bf16 s[];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            mbarrier_init(&full[i], 1), mbarrier_init(&empty[i], 4);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (threadIdx.x >= T) {
        if (elect_one())
            for (int i = 0; i < tiles; i++) {
                mbarrier_wait(&empty[i % 2], (i / 2 & 1) ^ 1);
                mbarrier_expect(&full[i % 2], TILE * 2);
                tma_load(s + i % 2 * TILE, &map, &full[i % 2], 0, i * ROWS);
            }
        return;
    }
    float d[32];
    for (int i = 0; i < tiles; i++) {
        mbarrier_wait(&full[i % 2], i / 2 & 1);
        add_square(d, s + i % 2 * TILE, i > 0);
        if (threadIdx.x % 32 == 0) mbarrier_arrive(&empty[i % 2]);
    }
    store_square(y, d);
}
CASE(specialized)
{
    float *y = zeros<float>(ROWS * COLS);
    allow_smem(specialized, 2 * TILE * 2);
    specialized<<<1, T + 32, 2 * TILE * 2>>>(y, map_of(numbers(5), 5), 5);
    return differs(y, ROWS * COLS, [](int i) { return gram(i / COLS, i % COLS, 5); });
}

// Ordinary stores in swizzled order, fence_async() in each thread, then wgmma.
__global__ void stored(float *y, const wb_bf16 *x)
{
    __shared__ __align__(1024) wb_bf16 s[TILE];
    for (int i = threadIdx.x; i < TILE; i += T)
        s[swizzle<COLS>(i / COLS, i % COLS / 8) + i % 8] = x[i];
    fence_async();
    __syncthreads();
    float d[32];
    add_square(d, s, false);
    store_square(y, d);
}
CASE(stored)
{
    float *y = zeros<float>(ROWS * COLS);
    stored<<<1, T>>>(y, numbers(1));
    return differs(y, ROWS * COLS, [](int i) { return gram(i / COLS, i % COLS, 1); });
}

// A tile in, changed, and out again.
__global__ void
round_trip(const __grid_constant__ tensor_map from, const __grid_constant__ tensor_map to)
{
    __shared__ __align__(1024) wb_bf16 s[TILE];
    __shared__ uint64_t loaded;
    if (threadIdx.x == 0) {
        mbarrier_init(&loaded, 1);
        mbarrier_fence_init();
        mbarrier_expect(&loaded, sizeof s);
        tma_load(s, &from, &loaded, 0, 0);
    }
    __syncthreads();  // the barrier is ready
    mbarrier_wait(&loaded, 0);
    for (int i = threadIdx.x; i < TILE; i += T)
        s[i] = wb_bf16(2.0f * (float)s[i]);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store(&to, s, 0, 0);
        tma_commit();
        tma_wait_read<0>();
    }
}
CASE(round_trip)
{
    wb_bf16 *y = zeros<wb_bf16>(TILE);
    round_trip<<<1, T>>>(map_of(numbers(1), 1), map_of(y, 1));
    return differs(y, TILE, [](int i) { return 2.0f * element(i); });
}

// Two warps hand a value over through a named barrier, two others do not take part.
__global__ void hand_over(float *y)
{
    __shared__ float s[32];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = (float)t;
        named_barrier_arrive(1, 64);
    } else if (t < 64) {
        named_barrier_sync(1, 64);
        y[t - 32] = s[63 - t];
    }
}
CASE(hand_over)
{
    float *y = zeros<float>(32);
    hand_over<<<1, T>>>(y);
    return differs(y, 32, [](int i) { return 31.0f - i; });
}

// The same in a loop: the second barrier says that s has been read. racecheck is expected
// to report s: it does not see that an arrival orders the reads before it.
__global__ void hand_over_often(float *y, int times)
{
    __shared__ float s[32];
    int lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = 0; i < times; i++) {
        if (threadIdx.x < 32) {
            if (i > 0) named_barrier_sync(2, 64);
            s[lane] = (float)(i * lane);
            named_barrier_arrive(1, 64);
        } else {
            named_barrier_sync(1, 64);
            sum += s[31 - lane];
            if (i + 1 < times) named_barrier_arrive(2, 64);
        }
    }
    if (threadIdx.x >= 32) y[lane] = sum;
}
CASE(hand_over_often)
{
    float *y = zeros<float>(32);
    hand_over_often<<<1, 64>>>(y, 4);
    return differs(y, 32, [](int i) { return 6.0f * (31 - i); });
}

// A ring of copies that one lane of the reading warp releases for all. racecheck is expected
// to report s: it does not know that __syncwarp orders their reads before the arrival.
__global__ void released_by_one(float *y, const float *x, int copies)
{
    __shared__ __align__(128) float s[2][32];
    __shared__ uint64_t full[2], empty[2];
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            mbarrier_init(&full[i], 1), mbarrier_init(&empty[i], 1);
        mbarrier_fence_init();
    }
    __syncthreads();  // the barriers are ready
    float sum = 0;
    for (int i = 0; i < copies; i++) {
        int stage = i % 2, parity = i / 2 & 1;
        if (threadIdx.x >= 32) {
            mbarrier_wait(&full[stage], parity);
            sum += s[stage][31 - lane];
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&empty[stage]);
        } else if (lane == 0) {
            mbarrier_wait(&empty[stage], parity ^ 1);
            mbarrier_expect(&full[stage], sizeof s[0]);
            tma_load_bytes(s[stage], x + i * 32, sizeof s[0], &full[stage]);
        }
    }
    if (threadIdx.x >= 32) y[lane] = sum;
}
CASE(released_by_one)
{
    float *y = zeros<float>(32);
    released_by_one<<<1, 64>>>(y, counting<float>(5 * 32), 5);
    return differs(y, 32, [](int i) { return 5.0f * (31 - i) + 32 * 10; });
}

// Two tiles in turn: a tile is written again once the store before the last has read it.
__global__ void stores_in_turn(const __grid_constant__ tensor_map to, int tiles)
{
    __shared__ __align__(1024) wb_bf16 s[2][TILE];
    for (int i = 0; i < tiles; i++) {
        if (threadIdx.x == 0) tma_wait_read<1>();
        __syncthreads();  // the tile is free
        for (int j = threadIdx.x; j < TILE; j += T)
            s[i % 2][j] = wb_bf16((float)(i + 1));
        fence_async();
        __syncthreads();  // it is full
        if (threadIdx.x == 0) {
            tma_store(&to, s[i % 2], 0, i * ROWS);
            tma_commit();
        }
    }
    if (threadIdx.x == 0) tma_wait_read<0>();
}
CASE(stores_in_turn)
{
    wb_bf16 *y = zeros<wb_bf16>(5 * TILE);
    stores_in_turn<<<1, T>>>(map_of(y, 5), 5);
    return differs(y, 5 * TILE, [](int i) { return (float)(i / TILE + 1); });
}
