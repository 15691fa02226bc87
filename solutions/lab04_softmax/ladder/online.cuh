/* online.cuh - for the rungs from 03_online.cu on: the running maximum and sum, and the
 * reductions over a block of THREADS threads. */
#include <float.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;

static __device__ float warp_max(float v)
{
    for (int o = WARP / 2; o > 0; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
static __device__ float warp_sum(float v)
{
    for (int o = WARP / 2; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

/* Of some columns: the maximum, and the sum of exp(column - max) */
struct stats {
    float max, sum;
};

/* Adds column t. */
static __device__ void online_softmax(stats &s, float t)
{
    if (t > s.max) {  // the sum is in units of the old maximum
        s.sum *= expf(s.max - t);
        s.max = t;
    }
    s.sum += expf(t - s.max);
}

static __device__ stats combine_warp(stats own)
{
    float m = warp_max(own.max);
    return {m, warp_sum(own.sum * expf(own.max - m))};
}

/* Over the block, in every thread. -FLT_MAX, not -inf: (-inf) - (-inf) is NaN. */
static __device__ stats combine(stats own)
{
    __shared__ stats of_warp[THREADS / WARP];
    int lane = threadIdx.x % WARP;
    own = combine_warp(own);
    if (lane == 0) of_warp[threadIdx.x / WARP] = own;
    __syncthreads();  // every warp's stats are in of_warp
    return combine_warp(lane < THREADS / WARP ? of_warp[lane] : stats{-FLT_MAX, 0.0f});
}

/* The sum of v over the block, in every thread */
static __device__ float block_sum(float v)
{
    __shared__ float of_warp[THREADS / WARP];
    int lane = threadIdx.x % WARP;
    v = warp_sum(v);
    if (lane == 0) of_warp[threadIdx.x / WARP] = v;
    __syncthreads();  // every warp's sum is in of_warp
    return warp_sum(lane < THREADS / WARP ? of_warp[lane] : 0.0f);
}
