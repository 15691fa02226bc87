// warps.cu - every warp collective, parts of warps, exited lanes, and reduction loops,
// which must give the same bits as the plain loop.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string.h>

#include <vector>

#include "../tap.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* of __activemask */

static const unsigned FULL = 0xffffffffu;

// out[t] has a bit for every operation with a wrong result in thread t
__global__ void collectives(unsigned *out)
{
    int lane = threadIdx.x & 31, bad = 0, bit = 0;
#define EXPECT(condition) bad |= !(condition) << bit++
    EXPECT(__shfl_sync(FULL, lane, 5) == 5);
    EXPECT(__shfl_sync(FULL, lane, 37) == 5);
    EXPECT(__shfl_sync(FULL, lane, 1, 16) == (lane & 16) + 1);
    EXPECT(__shfl_up_sync(FULL, lane, 3) == (lane < 3 ? lane : lane - 3));
    EXPECT(__shfl_up_sync(FULL, lane, 1, 4) == (lane % 4 < 1 ? lane : lane - 1));
    EXPECT(__shfl_down_sync(FULL, lane, 4) == (lane > 27 ? lane : lane + 4));
    EXPECT(__shfl_down_sync(FULL, lane, 4, 8) == (lane % 8 > 3 ? lane : lane + 4));
    EXPECT(__shfl_xor_sync(FULL, lane, 16) == (lane ^ 16));
    EXPECT(__shfl_xor_sync(FULL, lane, 4, 8) == (lane ^ 4));
    EXPECT(__shfl_sync(FULL, (double)lane, 3) == 3.0);
    EXPECT(
        __half2float(__shfl_xor_sync(FULL, __float2half((float)lane), 1)) == (lane ^ 1));
    EXPECT(__ballot_sync(FULL, lane & 1) == 0xaaaaaaaau);
    EXPECT(__any_sync(FULL, lane == 7) && !__any_sync(FULL, lane == 40));
    EXPECT(__all_sync(FULL, lane < 40) && !__all_sync(FULL, lane == 7));
    EXPECT(__reduce_add_sync(FULL, lane) == 496);
    EXPECT(__reduce_min_sync(FULL, lane - 20) == -20);
    EXPECT(__reduce_max_sync(FULL, -lane) == 0);
    EXPECT(__reduce_max_sync(FULL, 0xfffffff0u + (lane & 1)) == 0xfffffff1u);
    EXPECT(__reduce_or_sync(FULL, 1u << lane) == FULL);
    EXPECT(__reduce_and_sync(FULL, ~(1u << lane)) == 0);
    EXPECT(__reduce_xor_sync(FULL, 1u << (lane / 2)) == 0);
    EXPECT(__match_any_sync(FULL, lane / 4) == 0xfu << (lane & ~3));
    int same;
    EXPECT(__match_all_sync(FULL, 5, &same) == FULL && same);
    EXPECT(__match_all_sync(FULL, lane, &same) == 0 && !same);
    EXPECT(__activemask() == FULL);
    out[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}

// Parts of a warp diverge, each with its own mask.
__global__ void parts(unsigned *out)
{
    int lane = threadIdx.x & 31, bad = 0, bit = 0;
    if (lane < 16) {
        EXPECT(__shfl_xor_sync(0xffffu, lane, 8) == (lane ^ 8));
        EXPECT(__ballot_sync(0xffffu, 1) == 0xffffu);
        EXPECT(__activemask() == 0xffffu);
        if (lane < 4) EXPECT(__reduce_add_sync(0xfu, lane) == 6);
    } else {
        bit = 4;
        EXPECT(__shfl_xor_sync(0xffff0000u, lane, 1) == (lane ^ 1));
        EXPECT(__reduce_min_sync(0xffff0000u, lane) == 16);
    }
    __syncwarp();
    bit = 6;
    unsigned odd = __ballot_sync(FULL, lane & 1);
    if (lane & 1) EXPECT(__shfl_sync(odd, lane, 31) == 31);
    for (int i = 0; i <= lane % 4; i++) {  // lanes run 1 to 4 rounds
        unsigned left = FULL / 15 * (0xfu << i & 0xfu);
        EXPECT(__ballot_sync(left, 1) == left);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = bad;
}

// Lanes exit; the others must not wait for them.
__global__ void leaving(int *out)
{
    int lane = threadIdx.x & 31;
    out[threadIdx.x] = -1;
    if (lane >= 20) return;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 20; i++)
        sum += __shfl_sync(0xfffffu, lane, i);
    if (lane >= 10) return;
    out[threadIdx.x] = sum + __popc(__ballot_sync(0x3ffu, 1));
}

/* --- reductions --------------------------------------------------------------------- */

#define ROUNDS(first, rounds) for (int o_ = first, n_ = rounds; n_ > 0; n_--, o_ /= 2)

template <class T> __device__ T sum_xor(T v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}
template <class T> __device__ T sum_xor_plain(T v)
{
    ROUNDS(16, 5)
        v += __shfl_xor_sync(FULL, v, o_);
    return v;
}
template <class T> __device__ T sum_down(T v)
{
#pragma unroll
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        T other = __shfl_down_sync(FULL, v, offset);
        v += other;
    }
    return v;
}
template <class T> __device__ T sum_down_plain(T v)
{
    ROUNDS(16, 5)
        v += __shfl_down_sync(FULL, v, o_);
    return v;
}
template <class T> __device__ T sum_rising(T v)
{
    for (int mask = 1; mask < 32; mask <<= 1)
        v = v + __shfl_xor_sync(~0u, v, mask, 32);
    return v;
}
template <class T> __device__ T sum_rising_plain(T v)
{
    for (int i = 0; i < 5; i++)
        v = v + __shfl_xor_sync(FULL, v, 1 << i);
    return v;
}
template <class T> __device__ T both(T v)
{
    T low = v, high = v;
    for (unsigned int o = 8; o >= 1; o = o / 2) {
        low = min(low, __shfl_xor_sync(0xffffffffu, low, o));
        high = max(__shfl_xor_sync(0xffffffffu, high, o), high);
    }
    return high - low;
}
template <class T> __device__ T both_plain(T v)
{
    T low = v, high = v;
    ROUNDS(8, 4) {
        low = min(low, __shfl_xor_sync(FULL, low, o_));
        high = max(high, __shfl_xor_sync(FULL, high, o_));
    }
    return high - low;
}
__device__ float part_sum(float v, unsigned mask)
{
    for (int o = 4; o; o >>= 1)
        v += __shfl_xor_sync(mask, v, o, 8);
    return v;
}
__device__ float part_sum_plain(float v, unsigned mask)
{
    ROUNDS(4, 3)
        v += __shfl_xor_sync(mask, v, o_, 8);
    return v;
}

// Different magnitudes, so that every order of summation rounds differently.
template <class T> __device__ T start(int i)
{
    return T(float((i * 37 + 11) % 101) * 0.0173f - 0.7f);
}
template <> __device__ int start<int>(int i)
{
    return i * 37 % 101 - 50;
}

template <class T> __global__ void reduce(T *got, T *want)
{
    T v = start<T>(threadIdx.x), *g = got + threadIdx.x, *w = want + threadIdx.x;
    int n = blockDim.x;
    g[0] = sum_xor(v), w[0] = sum_xor_plain(v);
    g[n] = sum_down(v), w[n] = sum_down_plain(v);
    g[2 * n] = sum_rising(v), w[2 * n] = sum_rising_plain(v);
}
template <class T> __global__ void reduce_range(T *got, T *want)
{
    T v = start<T>(threadIdx.x);
    got[threadIdx.x] = both(v), want[threadIdx.x] = both_plain(v);
}
__global__ void reduce_parts(float *got, float *want)
{
    float v = start<float>(threadIdx.x);
    int lane = threadIdx.x & 31;
    if (lane >= 24) return;
    unsigned mask = 0xffu << (lane & ~7);
    got[threadIdx.x] = part_sum(v, mask), want[threadIdx.x] = part_sum_plain(v, mask);
}

template <class T, class Kernel>
static void compare(const char *what, Kernel kernel, int each)
{
    const int threads = 96;
    size_t n = (size_t)threads * each;
    T *got = NULL, *want = NULL;
    cudaMallocManaged(&got, n * sizeof(T));
    cudaMallocManaged(&want, n * sizeof(T));
    memset((void *)got, 1, n * sizeof(T));
    memset((void *)want, 1, n * sizeof(T));
    kernel<<<1, threads>>>(got, want);
    cudaDeviceSynchronize();
    tap(memcmp((void *)got, (void *)want, n * sizeof(T)) == 0,
        "%s: the same bits as the plain loop", what);
    cudaFree(got);
    cudaFree(want);
}

static void expect_zero(const char *what, const unsigned *out, int n)
{
    int t = 0;
    while (t < n && out[t] == 0)
        t++;
    tap(t == n, t == n ? "%s" : "%s (thread %d: 0x%x)", what, t, t < n ? out[t] : 0);
}

int main()
{
    unsigned *out;
    cudaMallocManaged(&out, 3 * 1024 * sizeof *out);
    for (int threads : {32, 64, 96, 1024}) {
        char what[64];
        collectives<<<3, threads>>>(out);
        cudaDeviceSynchronize();
        snprintf(what, sizeof what, "collectives in blocks of %d", threads);
        expect_zero(what, out, 3 * threads);
    }
    parts<<<2, 128>>>(out);
    cudaDeviceSynchronize();
    expect_zero("divergent parts of a warp", out, 256);
    leaving<<<1, 64>>>((int *)out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int t = 0; t < 64; t++)
        wrong += (int)out[t] != (t % 32 < 10 ? 190 + 10 : -1);
    tap(!wrong, "collectives do not wait for exited lanes");
    compare<float>("sums of float", reduce<float>, 3);
    compare<double>("sums of double", reduce<double>, 3);
    compare<int>("sums of int", reduce<int>, 3);
    compare<half>("sums of half", reduce<half>, 3);
    compare<float>("range of float", reduce_range<float>, 1);
    compare<double>("range of double", reduce_range<double>, 1);
    compare<int>("range of int", reduce_range<int>, 1);
    compare<float>("sums of segments of 8 lanes, 8 lanes exited", reduce_parts, 1);
    tap(cudaGetLastError() == cudaSuccess, "no pending error");
    cudaFree(out);
    return tap_done();
}
