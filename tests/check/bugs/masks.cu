// masks.cu - warp collectives with a wrong mask, and shuffles that read a lane that does
// not take part.
#include "../cases.h"

// --- bad-mask --------------------------------------------------------------------------

// The other lanes have exited, but the mask names them.
__global__ void tail_of_warps(float *out, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    for (int offset = 16; offset > 0; offset /= 2)
        // BUG exited_lanes shuffle-source
        v += __shfl_down_sync(0xffffffff, v, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
CASE(exited_lanes)
{
    tail_of_warps<<<1, 64>>>(zeros<float>(1), counting<float>(50), 50);
    return 0;
}

__global__ void not_in_own_mask(int *y, const int *x)
{
    int lane = threadIdx.x;
    y[lane] = __shfl_sync(0x0000ffff, x[lane], 3);  // BUG lane_not_in_mask bad-mask
}
CASE(lane_not_in_mask)
{
    not_in_own_mask<<<1, 32>>>(zeros<int>(32), counting<int>(32));
    return 0;
}

__global__ void two_masks(int *y, const int *x)
{
    int lane = threadIdx.x;
    unsigned mask = lane < 8 ? 0x000000ff : 0xffffffff;
    y[lane] = __any_sync(mask, x[lane] > 20);  // BUG different_masks bad-mask
}
CASE(different_masks)
{
    two_masks<<<1, 32>>>(zeros<int>(32), counting<int>(32));
    return 0;
}

// The mask names the lanes of the first branch, and both branches use it.
__global__ void ballot_of_others(int *y, const int *x, int n)
{
    int lane = threadIdx.x;
    unsigned inside = __ballot_sync(0xffffffff, lane < n);
    int v = lane < n ? x[lane] : 0;
    y[lane] = __reduce_add_sync(inside, v);  // BUG ballot_of_others bad-mask
}
CASE(ballot_of_others)
{
    ballot_of_others<<<1, 32>>>(zeros<int>(32), counting<int>(20), 20);
    return 0;
}

__global__ void syncwarp_of_others(int *y, const int *x)
{
    __shared__ int s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    __syncwarp();
    if (lane >= 16) {
        s[lane] = s[lane - 16];
        __syncwarp(0x0000ffff);  // BUG syncwarp_of_others bad-mask
        y[lane] = s[lane];
    }
}
CASE(syncwarp_of_others)
{
    syncwarp_of_others<<<1, 32>>>(zeros<int>(32), counting<int>(32));
    return 0;
}

// One half shuffles, the other half votes.
__global__ void two_collectives(unsigned *y)
{
    unsigned lane = threadIdx.x, v;
    if (lane < 16)
        // BUG two_collectives bad-mask, two_collectives deadlock
        v = __shfl_xor_sync(0xffffffff, lane, 1);
    else
        // BUG two_collectives bad-mask, two_collectives deadlock
        v = __ballot_sync(0xffffffff, lane % 2);
    y[lane] = v;
}
CASE(two_collectives)
{
    two_collectives<<<1, 32>>>(zeros<unsigned>(32));
    return 0;
}

// --- shuffle-source --------------------------------------------------------------------

__global__ void broadcast_from_outside(int *y, const int *x)
{
    int lane = threadIdx.x;
    // BUG source_outside_mask shuffle-source
    if (lane < 16) y[lane] = __shfl_sync(0x0000ffff, x[lane], 16);
}
CASE(source_outside_mask)
{
    broadcast_from_outside<<<1, 32>>>(zeros<int>(16), counting<int>(32));
    return 0;
}

// The mask is right; xor leads from lane 5 to lane 21, which is outside.
__global__ void xor_in_tail(int *out, const int *x, int n)
{
    int i = threadIdx.x;
    unsigned inside = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    int v = x[i];
    for (int offset = 16; offset > 0; offset /= 2)
        v = max(v, __shfl_xor_sync(inside, v, offset));  // BUG xor_in_tail shuffle-source
    out[i] = v;
}
CASE(xor_in_tail)
{
    xor_in_tail<<<1, 32>>>(zeros<int>(20), counting<int>(20), 20);
    return 0;
}

// The last lane of the warp has exited.
__global__ void total_from_last_lane(int *y, const int *x, int n)
{
    int lane = threadIdx.x;
    unsigned inside = __ballot_sync(0xffffffff, lane < n);
    if (lane >= n) return;
    int v = x[lane];
    y[lane] = v - __shfl_sync(inside, v, 31);  // BUG source_has_exited shuffle-source
}
CASE(source_has_exited)
{
    total_from_last_lane<<<1, 32>>>(zeros<int>(30), counting<int>(30), 30);
    return 0;
}

// Lane 7 of the group of 8 reads lane 8: the width is missing.
__global__ void next_in_group(int *y, const int *x)
{
    int lane = threadIdx.x;
    if (lane >= 8) return;
    // BUG group_of_8 shuffle-source
    y[lane] = x[lane] + __shfl_down_sync(0xff, x[lane], 1);
}
CASE(group_of_8)
{
    next_in_group<<<1, 32>>>(zeros<int>(8), counting<int>(32));
    return 0;
}

// The source comes from the data, and names a lane that took the other branch.
__global__ void lane_from_data(int *y, const int *x)
{
    int lane = threadIdx.x, v = x[lane];
    unsigned even = __ballot_sync(0xffffffff, v % 2 == 0);
    if (v % 2) return;
    y[lane] = __shfl_sync(even, v, v + 1);  // BUG source_from_data shuffle-source
}
CASE(source_from_data)
{
    lane_from_data<<<1, 32>>>(zeros<int>(32), counting<int>(32));
    return 0;
}
