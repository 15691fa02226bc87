// whole_calls.cu - kernels whose threads run as loops, although they call functions, use
// cooperative groups, or wait in an `if`: the same bits as with a stack per thread. Only on
// the CPU back end.
#include "same.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <math.h>
namespace cg = cooperative_groups;

typedef unsigned int number;
using real = float;
#define ROWS (2 * WIDTH)
#define WIDTH 32
#define AT(row, column) (row) * WIDTH + column
#define TWICE(a) 2 * a
#define SYNC __syncthreads()

// --- functions that do not wait
__device__ float scale = 0.5f;
__device__ float half_of(float v)
{
    return v * scale;
}
__device__ int half_of(int v)
{
    return v < 0 ? -(-v / 2) : v / 2;
}
__device__ int digits(unsigned v)
{
    if (v > 9) return 1 + digits(v / 10);
    return 1;
}
template <typename T> __device__ void order(T &a, T &b)
{
    T c = a;
    if (b < a) a = b, b = c;
}
template <int K> __device__ float sum_of(const float *p, int step)
{
    float sum = 0;
    for (int i = 0; i < K; i++)
        sum += p[i * step];
    return sum;
}
__device__ int mine(int k)
{
    return threadIdx.x * k + blockIdx.x;
}
__device__ number mixed(number v, real w)
{
    float a[3] = {w, 2 * w, 3}, *p = a;
    return v ^ (number)(p[v % 3] * 100);
}
__global__ void functions(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float a = x[i], b = half_of(a), own[4] = {a, b, a - b, 1};
    s[t] = half_of(t) + mine(3) + digits(t);
    __syncthreads();
    float c = s[blockDim.x - 1 - t];
    order(b, c);
    __syncthreads();
    order(s[t], own[2]);
    own[1] += c;
    __syncthreads();
    for (int k = t; k < 40; k += blockDim.x)
        a += mixed(k, s[k % blockDim.x]);
    y[i] = a + b * 3 + c * 7 + sum_of<2 + 2>(own, 1) + sum_of<3>(x + i % 64, 5);
}

// --- functions that wait
__device__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
template <class T> __device__ T doubled(const T v)
{
    __syncwarp();
    return v * 2;
}
template <class T> __device__ T block_sum(T v, T *part, cg::thread_block block)
{
    const int warp = threadIdx.x / WIDTH, warps = (blockDim.x + 31) / 32;
    T sum = 0;               // comments and pragmas end with their lines
    part[warp] = warp_sum(v  // the value
    );
    cg::sync(block);
#pragma unroll
    for (int i = 0; i < warps; i++) {
#pragma unroll
        for (int k = 0; k < 1; k++)
            sum += part[i + k];
    }
    block.sync();
    return sum + doubled(sum);
}
__device__ int previous_of(int v)
{
    static __shared__ int s[1024];
    s[threadIdx.x] = v;
    __syncthreads();
    int before = s[threadIdx.x ? threadIdx.x - 1 : 0];
    __syncthreads();
    return before;
}
template <int STEPS> __device__ void rotate(volatile float *s, float &v, const int &by)
{
    for (int k = 0; k < STEPS; k++) {
        s[threadIdx.x] = v;
        __syncthreads();
        v = s[(threadIdx.x + by) % blockDim.x];
        __syncthreads();
    }
}
__device__ unsigned summed(unsigned v)
{
    extern __shared__ unsigned all[];
    all[threadIdx.x] = v++;
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d >>= 1) {
        if (threadIdx.x < d) all[threadIdx.x] += all[threadIdx.x + d];
        __syncthreads();
    }
    unsigned sum = all[0] + v;
    __syncthreads();
    return sum;
}
__global__ void waiting(float *y, const float *x, int n)
{
    __shared__ float part[32], s[1024];
    cg::thread_block block = cg::this_thread_block();
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = x[i];
    float sum = block_sum(v, part, block) + block_sum<float>(v * v, part, block);
    int before = previous_of(previous_of(t) * 2 + 1);
    rotate<3>(s, v, 5);
    float const tenth = v / 10;
    if (warp_sum(v) + warp_sum(tenth) > 0) v += 100;
    y[i] = v + sum * 2 + before + (summed(t) & 255);
}

// Numbers of the thread that a function sets
__device__ void split(float x, float &whole, float &rest)
{
    whole = floorf(x);
    rest = x - whole;
}
__launch_bounds__(1024) __global__ void references(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float whole, rest;
    split(x[i], whole, rest);
    y[i] = whole * n + rest;
}

// Arguments that change while the function runs
template <class T> __device__ T at_most(T v, T most)
{
    return v < most ? v : most;
}
__device__ float changing(float v, float &w)
{
    w += 1;
    __syncthreads();
    return v * 2 + w + mixed(3, v) + at_most<float>(v, 1);
}
__device__ int after(int v, int *p)
{
    __syncthreads();
    if (threadIdx.x == 0) *p = 9;
    __syncthreads();
    return v;
}
__device__ float floats(float v)
{
    extern __shared__ float all[];
    all[threadIdx.x] = v;
    __syncthreads();
    return all[blockDim.x - 1 - threadIdx.x];
}
__global__ void arguments(float *y, const float *x, int n)
{
    __shared__ int s;
    extern __shared__ unsigned all[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = x[i];
    all[t] = t;
    if (t == 0) s = 5;
    __syncthreads();
    float sum = changing(v, v) * 3;
    int before = after(s, &s);
    int ranks = mine(2) + __shfl_xor_sync(0xffffffffu, t, 1) * mine(1);
    if (__all_sync(0xffffffffu, v > 1.9f)) return;
    unsigned other = all[t ^ 1];
    __syncthreads();
    other += summed(t) & 7;  // with the same array
    v += from_left(v) - from_left(sum);
    y[i] = sum + v + before * 10 + s + ranks + other + floats(v);
}

// --- cooperative groups
__global__ void groups(float *y, const float *x, int n)
{
    auto block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto eight = cg::tiled_partition<8>(warp);
    __shared__ float s[1024];
    int in_block = block.thread_rank(),
        i = block.group_index().x * block.size() + in_block;
    float v = x[i], w = v * 3;
    s[in_block] = v;
    block.sync();
    v += s[block.num_threads() - 1 - in_block] + block.thread_index().y * 3 +
         block.group_dim().x;
    for (int o = warp.size() / 2; o > 0; o /= 2)
        v += warp.shfl_down(v, o);
    w += eight.shfl_xor(w, 3) - eight.shfl_up(w, 1) + eight.shfl(w, 2);
    warp.sync();
    int lane = warp.thread_rank();
    int some = eight.any(lane == 9), every = eight.all(lane < 30);
    unsigned odd = warp.ballot(lane & 1);
    float most = cg::reduce(warp, w, cg::plus<float>());
    int eights = eight.meta_group_rank() + eight.size() * 100;
    y[i] = v + w + lane + some * 2 + every * 4 + (odd & 7) + most + eights;
}

// --- the grid
__device__ float partial[8];
__device__ float reduced(const float *s, cg::thread_block_tile<32> warp, int t)
{
    float sum = cg::reduce(warp, s[t], cg::plus<float>());
    return sum;
}
__global__ void grids(float *y, const float *x, int n)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    extern float __shared__ s[];
    int t = block.thread_rank();
    s[t] = 0;
    for (int i = grid.thread_rank(); i < 2000; i += grid.size())
        s[t] += x[i];
    s[t] = reduced(s, warp, t);
    cg::sync(block);
    if (t == 0) partial[blockIdx.x] = s[0] + s[block.size() - 1];
    grid.sync();
    y[grid.thread_rank()] = partial[(blockIdx.x + 1) % gridDim.x] + t;
    cg::sync(grid);
}

// --- branches
__global__ void branches(float *y, const float *x, int n)
{
    __shared__ float s[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * blockDim.x + t;
    float v = x[i], sum = v;
    for (int o = 16; o > 0; o >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) s[warp] = sum;
    cg::this_thread_block().sync();
    if (warp == 0) {
        sum = lane < (blockDim.x + 31) / 32 ? s[lane] : 0;
        for (int o = 16; o > 0; o >>= 1)
            sum += __shfl_down_sync(0xffffffffu, sum, o);
        if (lane == 0) s[0] = sum;
    } else {
        float w = __shfl_sync(0xffffffffu, v, 3);
        v += w;
        if (warp == 2) v *= __shfl_up_sync(0xffffffffu, w + lane, 1);
    }
    __syncthreads();
    if (n > 5) {
        if (warp == 1) s[lane] = v > 2 ? 0 : s[0];
        __syncthreads();
        v += s[lane ^ 1];
        __syncthreads();
    } else
        __syncthreads();
    if (lane < 16) {  // the other lanes wait nowhere else
        if (t % 8 == 5) return;
        v += __shfl_xor_sync(0x0000ffffu, v, 2);
    }
    y[i] = v + s[0];
}

// --- variables that live from one barrier to the next, counters, scopes, macros
template <class T> __global__ void lives(float y[], const float x[WIDTH], T n)
{
    __shared__ float s[ROWS][33];
    volatile __shared__ int turns;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    T sum = n / 4, both[2][2] = {{1, 2}, {(T)t, 4}};
    float4 four = make_float4(x[i], 1, 2, 3);
    number count = TWICE(t + 1), *p = (number *)&y[i];
    const float4 *fours = (const float4 *)x + t;
    const int even = t & 6;
    if (t == 0) turns = 0;
    s[t % ROWS][t / ROWS] = x[AT(1, t % 100)];
    __syncthreads();
    for (int a = 1, b = 40; a < b; a++, b -= 3) {
        both[1][a & 1] += s[a][b % 2] * 10;
        both[0][0] += __shfl_xor_sync(0xffffffffu, both[1][1], 5);
        SYNC;
        four.y += s[b][0] + a + SQUARE(fours->y) * x[even];
        atomicExch((int *)&turns, a);
    }
    {
        int extra = turns;
        do
            extra += 3;
        while (extra < t);
        __syncthreads();
        sum += extra + both[1][1];
    }
    *p = 0;
    y[i] =
        sum + four.x + four.y + both[0][1] + both[0][0] / 8 + both[1][0] + (count & 15);
}

static void lanes_that_do_not_come();

// threadIdx.x is unsigned: threadIdx.x - 1 is 2^32 - 1 in the first thread.
__global__ void thread_index(float *y, const float *x, int n)
{
    __shared__ float s[1024];
    const int left = N - 1 - n;
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    float sum = s[threadIdx.x];
    if (threadIdx.x + left < blockDim.x) sum += s[threadIdx.x + left];
    if (threadIdx.x >= 3) sum -= 2 * s[threadIdx.x - 3];
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum + s[0];
}

int main(int argc, char **argv)
{
    if (argc > 1) lanes_that_do_not_come();
    for (unsigned threads : {16, 48, 64, 256, 1024}) {
        same("functions", functions, 2, threads);
        same("references to numbers", references, 2, threads);
        same("threadIdx as an index", thread_index, 2, threads);
        if (threads % 32) continue;
        same("functions that wait", waiting, 2, threads);
        same("arguments that change", arguments, 2, threads);
        same("cooperative groups", groups, 2, threads);
        same("a barrier of the grid", grids, 3, threads);
        same("branches in which threads wait", branches, 2, threads);
        same("arrays, classes and types of a template", lives<int>, 2, threads);
    }
    same("groups in three dimensions", groups, 2, dim3(16, 2, 4));
    return tap_done();
}

__global__ void incomplete(float *y)
{
    if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, y[0], 2);
    __syncthreads();
    y[0] = 3;
}
static void lanes_that_do_not_come()
{
    float *y;
    cudaMallocManaged(&y, 64 * sizeof *y);
    incomplete<<<1, 64>>>(y);
    cudaDeviceSynchronize();
}
