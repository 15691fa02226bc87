// warp.cu - correct: lanes of a warp that exchange values by shuffles and votes, or by
// memory and __syncwarp, without a barrier of the block.
#include "../cases.h"

constexpr unsigned ALL = 0xffffffff;

__global__ void syncwarp_tree(float *out, const float *x)
{
    __shared__ float s[64];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    s[lane + 32] = 0;
    __syncwarp();
    for (int n = 16; n > 0; n /= 2) {
        float v = s[lane] + s[lane + n];
        __syncwarp();
        s[lane] = v;
        __syncwarp();
    }
    if (lane == 0) *out = s[0];
}
CASE(syncwarp_tree)
{
    float *out = zeros<float>(1);
    syncwarp_tree<<<1, 32>>>(out, counting<float>(32));
    return differs(out, 1, [](int) { return 496; });
}

// After Volta: the first warp finishes the tree, with lanes below n only.
__global__ void tree_of_block(float *out, const float *x)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int n = 64; n >= 32; n /= 2) {
        __syncthreads();
        if (t < n) s[t] += s[t + n];
    }
    if (t >= 32) return;
    for (int n = 16; n > 0; n /= 2) {
        __syncwarp();
        if (t < n) s[t] += s[t + n];
    }
    if (t == 0) *out = s[0];
}
CASE(tree_ends_in_warp)
{
    float *out = zeros<float>(1);
    tree_of_block<<<1, 128>>>(out, counting<float>(128));
    return differs(out, 1, [](int) { return 127 * 64; });
}

// A volatile store to what nothing has written yet: it uses no value.
__global__ void volatile_stores(volatile float *scratch, float *out)
{
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = t;
    scratch[t] = 2 * t;
    __syncthreads();
    out[t] = s[63 - t] + scratch[63 - t];
}
CASE(volatile_stores)
{
    float *out = zeros<float>(64);
    volatile_stores<<<1, 64>>>(unwritten<float>(64), out);
    return differs(out, 64, [](int i) { return 3 * (63 - i); });
}

__global__ void shuffle_sum(float *out, const float *x)
{
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(ALL, v, offset);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}
CASE(shuffle_sum)
{
    float *out = zeros<float>(2);
    shuffle_sum<<<2, 32>>>(out, counting<float>(64));
    return differs(out, 2, [](int r) { return r ? 1520 : 496; });
}

__global__ void shuffle_scan(int *y, const int *x)
{
    int lane = threadIdx.x % 32, v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(ALL, v, d);
        if (lane >= d) v += left;
    }
    y[threadIdx.x] = v;
}
CASE(shuffle_scan)
{
    int *y = zeros<int>(64);
    shuffle_scan<<<1, 64>>>(y, filled<int>(64, [](int) { return 1; }));
    return differs(y, 64, [](int i) { return i % 32 + 1; });
}

// A block of 40 threads: the second warp has 8 lanes, and its mask names these.
__global__ void partial_warp(int *out, const int *x)
{
    int t = threadIdx.x, lanes = min(32, (int)blockDim.x - t / 32 * 32);
    unsigned mask = lanes == 32 ? ALL : (1u << lanes) - 1;
    int sum = __reduce_add_sync(mask, x[t]);
    if (t % 32 == 0) out[t / 32] = sum;
}
CASE(partial_warp)
{
    int *out = zeros<int>(2);
    partial_warp<<<1, 40>>>(out, counting<int>(40));
    return differs(out, 2, [](int w) { return w ? 284 : 496; });
}

// The lanes in the tail find their mask together before the others leave.
__global__ void tail_by_ballot(int *out, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned inside = __ballot_sync(ALL, i < n);
    if (i >= n) return;
    int v = __reduce_max_sync(inside, x[i]);
    if (threadIdx.x % 32 == 0) out[i / 32] = v;
}
CASE(tail_by_ballot)
{
    int *out = zeros<int>(4);
    tail_by_ballot<<<2, 64>>>(out, counting<int>(100), 100);
    return differs(out, 4, [](int w) { return w < 3 ? 32 * w + 31 : 99; });
}

__global__ void compact(int *out, int *count, const int *x)
{
    int lane = threadIdx.x % 32, v = x[blockIdx.x * blockDim.x + threadIdx.x], first = 0;
    unsigned keep = __ballot_sync(ALL, v % 4 == 1);
    if (lane == 0) first = atomicAdd(count, __popc(keep));
    first = __shfl_sync(ALL, first, 0);
    if (keep >> lane & 1) out[first + __popc(keep & ((1u << lane) - 1))] = v;
}
CASE(compact)
{
    int *out = zeros<int>(64), *count = zeros<int>(1);
    compact<<<4, 64>>>(out, count, counting<int>(256));
    return differs(count, 1, [](int) { return 64; });
}

__global__ void transpose_in_warp(float *y, const float *x)
{
    __shared__ float s[2][8][5];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    s[warp][lane / 4][lane % 4] = x[t];
    __syncwarp();
    y[t] = s[warp][lane % 8][lane / 8];
}
CASE(transpose_in_warp)
{
    float *y = zeros<float>(64);
    transpose_in_warp<<<1, 64>>>(y, counting<float>(64));
    return differs(
        y, 64, [](int i) { return i / 32 * 32 + i % 32 % 8 * 4 + i % 32 / 8; });
}

// One atomic per value and warp
__global__ void aggregated(int *bins, const int *x)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x], lane = threadIdx.x % 32;
    unsigned same = __match_any_sync(ALL, v);
    if (__ffs(same) - 1 == lane) atomicAdd(&bins[v], __popc(same));
}
CASE(aggregated)
{
    int *bins = zeros<int>(8);
    aggregated<<<2, 64>>>(bins, filled<int>(128, [](int i) { return i % 8; }));
    return differs(bins, 8, [](int) { return 16; });
}

// Each half of the warp takes its branch and names its own lanes.
__global__ void halves(int *y, const int *x)
{
    int lane = threadIdx.x, v = x[lane];
    if (lane < 16)
        v = __shfl_xor_sync(0x0000ffff, v, 8);
    else
        v = __reduce_add_sync(0xffff0000, v);
    y[lane] = v;
}
CASE(halves)
{
    int *y = zeros<int>(32);
    halves<<<1, 32>>>(y, counting<int>(32));
    return differs(y, 32, [](int i) { return i < 16 ? i ^ 8 : 376; });
}

// The first __syncwarp orders the store before the reads, the second the reads before the
// next store.
__global__ void broadcast_loop(float *y, const float *x)
{
    __shared__ float chosen;
    int lane = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        if (lane == 7 * k) chosen = x[lane];
        __syncwarp();
        sum += chosen;
        __syncwarp();
    }
    y[lane] = sum;
}
CASE(broadcast_loop)
{
    float *y = zeros<float>(32);
    broadcast_loop<<<1, 32>>>(y, counting<float>(32));
    return differs(y, 32, [](int) { return 42; });
}

__global__ void groups_of_8(int *y, const int *x)
{
    int lane = threadIdx.x, v = x[lane];
    for (int offset = 4; offset > 0; offset /= 2)
        v += __shfl_down_sync(ALL, v, offset, 8);
    v = __shfl_sync(ALL, v, 0, 8);
    y[lane] = v;
}
CASE(groups_of_8)
{
    int *y = zeros<int>(32);
    groups_of_8<<<1, 32>>>(y, counting<int>(32));
    return differs(y, 32, [](int i) { return 8 * (i / 8 * 8) + 28; });
}

// Lanes leave one after the other; the mask always names those that are left.
__global__ void peel(int *rounds, const int *x)
{
    int lane = threadIdx.x, v = x[lane];
    unsigned left = ALL;
    for (int round = 0;; round++) {
        int first = __shfl_sync(left, v, __ffs(left) - 1);
        bool mine = v == first;
        unsigned done = __ballot_sync(left, mine);
        if (mine) {
            rounds[lane] = round;
            return;
        }
        left &= ~done;
    }
}
CASE(peel)
{
    int *rounds = zeros<int>(32);
    peel<<<1, 32>>>(rounds, filled<int>(32, [](int i) { return i % 5; }));
    return differs(rounds, 32, [](int i) { return i % 5; });
}

// __syncwarp orders device memory too.
__global__ void through_device_memory(int *room, int *y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    room[i] = i;
    __syncwarp();
    y[i] = room[i ^ 31];
}
CASE(through_device_memory)
{
    int *y = zeros<int>(128);
    through_device_memory<<<4, 32>>>(zeros<int>(128), y);
    return differs(y, 128, [](int i) { return i ^ 31; });
}

// The trip count is rounded up, so that all lanes take every step.
__global__ void whole_warps_in_tail(int *out, const int *x, int n)
{
    for (int i = threadIdx.x; i < (n + 31) / 32 * 32; i += 32) {
        int sum = __reduce_add_sync(ALL, i < n ? x[i] : 0);
        if (threadIdx.x == 0) *out += sum;
    }
}
CASE(whole_warps_in_tail)
{
    int *out = zeros<int>(1);
    whole_warps_in_tail<<<1, 32>>>(out, counting<int>(75), 75);
    return differs(out, 1, [](int) { return 75 * 37; });
}

// A lane reads only what it has written itself.
__global__ void own_slots(float *y, const float *x)
{
    __shared__ float s[4][32];
    int lane = threadIdx.x;
    for (int k = 0; k < 4; k++)
        s[k][lane] = x[k * 32 + lane];
    float sum = 0;
    for (int k = 0; k < 4; k++)
        sum += s[k][lane];
    y[lane] = sum;
}
CASE(own_slots)
{
    float *y = zeros<float>(32);
    own_slots<<<1, 32>>>(y, counting<float>(128));
    return differs(y, 32, [](int i) { return 4 * i + 192; });
}

// Both branches end at a __syncwarp with the same mask, in different lines.
__global__ void meet_from_branches(int *y)
{
    __shared__ int s[32];
    int lane = threadIdx.x;
    if (lane < 16) {
        s[lane] = lane;
        __syncwarp();
    } else {
        s[lane] = 2 * lane;
        __syncwarp();
    }
    y[lane] = s[31 - lane];
}
CASE(meet_from_branches)
{
    int *y = zeros<int>(32);
    meet_from_branches<<<1, 32>>>(y);
    return differs(y, 32, [](int i) { return i < 16 ? 62 - 2 * i : 31 - i; });
}
