// races_warp.cu - lanes of one warp that exchange values through shared memory without
// __syncwarp. They worked before Volta, where the lanes of a warp ran in lockstep.
#include "../cases.h"

__global__ void volatile_tree(float *out, const float *x)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile float *v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];  // BUG volatile_tree race-shared
        v[t] += v[t + 8];   // BUG volatile_tree race-shared
        v[t] += v[t + 4];   // BUG volatile_tree race-shared
        v[t] += v[t + 2];   // BUG volatile_tree race-shared
        v[t] += v[t + 1];   // BUG volatile_tree race-shared
    }
    if (t == 0) *out = s[0];
}
CASE(volatile_tree)
{
    volatile_tree<<<1, 64>>>(zeros<float>(1), counting<float>(64));
    return 0;
}

// __syncwarp between the steps, but not between the reads and the writes of a step: lane
// 0 reads the slot that lane 8 writes.
__global__ void tree_one_syncwarp(float *out, const float *x)
{
    __shared__ float s[48];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    if (lane < 16) s[lane + 32] = 0;
    __syncwarp();
    for (int n = 16; n > 0; n /= 2) {
        s[lane] += s[lane + n];  // BUG tree_one_syncwarp race-shared
        __syncwarp();
    }
    if (lane == 0) *out = s[0];
}
CASE(tree_one_syncwarp)
{
    tree_one_syncwarp<<<1, 32>>>(zeros<float>(1), counting<float>(32));
    return 0;
}

__global__ void reverse_in_warp(float *y, const float *x)
{
    __shared__ float s[4][32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    s[warp][lane] = x[t];       // BUG reverse_in_warp race-shared
    y[t] = s[warp][31 - lane];  // BUG reverse_in_warp race-shared
}
CASE(reverse_in_warp)
{
    reverse_in_warp<<<1, 128>>>(zeros<float>(128), counting<float>(128));
    return 0;
}

// The lower half synchronizes without the upper half, whose values it reads.
__global__ void half_of_the_mask(float *y, const float *x)
{
    __shared__ float s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];  // BUG half_of_the_mask race-shared
    if (lane < 16) {
        __syncwarp(0x0000ffff);
        y[lane] = s[lane + 16];  // BUG half_of_the_mask race-shared
    }
}
CASE(half_of_the_mask)
{
    half_of_the_mask<<<1, 32>>>(zeros<float>(16), counting<float>(32));
    return 0;
}

__global__ void halves_exchange(float *y, const float *x)
{
    __shared__ float s[16];
    int lane = threadIdx.x;
    if (lane < 16)
        s[lane] = x[lane];  // BUG divergent_exchange race-shared
    else
        y[lane - 16] = s[lane - 16];  // BUG divergent_exchange race-shared
}
CASE(divergent_exchange)
{
    halves_exchange<<<1, 32>>>(zeros<float>(16), counting<float>(32));
    return 0;
}

// Lane 0 reserves places for the warp; the others read the first one too early.
__global__ void reserve(int *out, int *next, const int *x)
{
    __shared__ int first;
    int lane = threadIdx.x;
    unsigned taking = __ballot_sync(0xffffffff, x[lane] % 3 == 0);
    // BUG reserved_by_lane_0 race-shared
    if (lane == 0) first = atomicAdd(next, __popc(taking));
    int rank = __popc(taking & ((1u << lane) - 1));
    // BUG reserved_by_lane_0 race-shared
    if (taking >> lane & 1) out[first + rank] = x[lane];
}
CASE(reserved_by_lane_0)
{
    reserve<<<1, 32>>>(zeros<int>(32), zeros<int>(1), counting<int>(32));
    return 0;
}

// Each warp uses the same 32 slots, and __syncwarp does not separate warps.
__global__ void slots_of_all_warps(float *y, const float *x)
{
    __shared__ float s[32];
    int t = threadIdx.x, lane = t % 32;
    s[lane] = x[t];  // BUG slots_of_all_warps race-shared
    __syncwarp();
    y[t] = s[31 - lane];  // BUG slots_of_all_warps race-shared
}
CASE(slots_of_all_warps)
{
    slots_of_all_warps<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}

// The warp's slot is used again in the next step of the loop without a second __syncwarp.
__global__ void broadcast_loop(float *y, const float *x)
{
    __shared__ float chosen;
    int lane = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        if (lane == 7 * k) chosen = x[lane];  // BUG broadcast_loop race-shared
        __syncwarp();
        sum += chosen;  // BUG broadcast_loop race-shared
    }
    y[lane] = sum;
}
CASE(broadcast_loop)
{
    broadcast_loop<<<1, 32>>>(zeros<float>(32), counting<float>(32));
    return 0;
}
