// barriers.cu - barriers that not all threads of a block reach, and deadlocks.
#include "../cases.h"

// Threads that skip the first barrier wait at the second.
__global__ void two_phases(float *y, const float *x, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = 0;
    if (t < n) {
        s[t] = x[t];
        __syncthreads();  // BUG barrier_in_guard_then_another barrier-divergence
        if (t == 0) s[0] += s[n - 1];
    }
    __syncthreads();  // BUG barrier_in_guard_then_another barrier-divergence
    y[t] = s[t] + s[0];
}
CASE(barrier_in_guard_then_another)
{
    two_phases<<<1, 64>>>(zeros<float>(64), counting<float>(64), 40);
    return 0;
}

__global__ void two_branches(int *y)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 128)
        __syncthreads();  // BUG two_branches barrier-divergence
    else
        __syncthreads();  // BUG two_branches barrier-divergence
    y[t] = s[255 - t];
}
CASE(two_branches)
{
    two_branches<<<1, 256>>>(zeros<int>(256));
    return 0;
}

// Threads of the last, shorter step leave the loop earlier than the others.
__global__ void barrier_in_loop(float *y, const float *x, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int i = t; i < n; i += 64) {
        s[t] = x[i];
        __syncthreads();  // BUG barrier_in_loop barrier-divergence
        y[i] = s[(t + 1) % 40];
        __syncthreads();  // BUG barrier_in_loop barrier-divergence
    }
    __syncthreads();  // BUG barrier_in_loop barrier-divergence
    if (t == 0) y[0] += s[63];
}
CASE(barrier_in_loop)
{
    barrier_in_loop<<<1, 64>>>(zeros<float>(104), counting<float>(104), 104);
    return 0;
}

__global__ void leader_only(float *y, const float *x)
{
    __shared__ float first;
    int t = threadIdx.x;
    if (t % 32 == 0) {
        if (t == 0) first = x[0];
        __syncthreads();  // BUG barrier_of_lane_0 barrier-divergence
    }
    __syncthreads();  // BUG barrier_of_lane_0 barrier-divergence
    y[t] = x[t] - first;
}
CASE(barrier_of_lane_0)
{
    leader_only<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}

// A device function with a barrier, called by the first warp only
__device__ int sum_of_block(int v, int *total)
{
    atomicAdd(total, v);
    __syncthreads();  // BUG barrier_in_function barrier-divergence
    return *total;
}
__global__ void first_warp_sums(int *y, const int *x)
{
    __shared__ int total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    int sum = t < 32 ? sum_of_block(x[t], &total) : 0;
    if (t < 32) y[t] = sum;
    __syncthreads();  // BUG barrier_in_function barrier-divergence
    if (t >= 32) y[t] = total;
}
CASE(barrier_in_function)
{
    first_warp_sums<<<1, 64>>>(zeros<int>(64), counting<int>(64));
    return 0;
}

// --- deadlocks: no thread can continue -------------------------------------------------

// Half of the warp waits for a shuffle of all lanes, the other half at the barrier.
__global__ void shuffle_against_barrier(int *y)
{
    int lane = threadIdx.x, v = lane;
    if (lane < 16)
        v = __shfl_xor_sync(0xffffffff, v, 16);  // BUG shuffle_against_barrier deadlock
    __syncthreads();                             // BUG shuffle_against_barrier deadlock
    y[lane] = v;
}
CASE(shuffle_against_barrier)
{
    shuffle_against_barrier<<<1, 32>>>(zeros<int>(32));
    return 0;
}

__global__ void syncwarp_against_barrier(int *y)
{
    int t = threadIdx.x;
    if (t >= 48) __syncwarp();  // BUG syncwarp_against_barrier deadlock
    __syncthreads();            // BUG syncwarp_against_barrier deadlock
    y[t] = t;
}
CASE(syncwarp_against_barrier)
{
    syncwarp_against_barrier<<<1, 64>>>(zeros<int>(64));
    return 0;
}

// Two groups of lanes wait for each other with masks that overlap.
__global__ void overlapping_masks(int *y)
{
    int lane = threadIdx.x;
    if (lane < 16) {
        // BUG overlapping_masks deadlock, overlapping_masks bad-mask
        __syncwarp(0x0001ffff);
    } else {
        // BUG overlapping_masks deadlock, overlapping_masks bad-mask
        __syncwarp(0xffff8000);
    }
    y[lane] = lane;
}
CASE(overlapping_masks)
{
    overlapping_masks<<<1, 32>>>(zeros<int>(32));
    return 0;
}

// Thread 0 waits for the others, which wait for thread 0 at the barrier.
__global__ void flag_after_barrier(int *y)
{
    __shared__ int ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 0) {
        // BUG flag_after_barrier deadlock, flag_after_barrier infinite-loop
        while (atomicAdd(&ready, 0) == 0)
            continue;
    }
    __syncthreads();  // BUG flag_after_barrier deadlock
    atomicExch(&ready, 1);
    y[t] = ready;
}
CASE(flag_after_barrier)
{
    flag_after_barrier<<<1, 64>>>(zeros<int>(64));
    return 0;
}

__global__ void barrier_short_circuit(int *out, const int *x)
{
    int t = threadIdx.x;
    // BUG barrier_short_circuit barrier-divergence
    if (t < 32 && __syncthreads_or(x[t]))
        out[t] = 1;
    __syncthreads();  // BUG barrier_short_circuit barrier-divergence
    out[t] += 1;
}
CASE(barrier_short_circuit)
{
    barrier_short_circuit<<<1, 64>>>(zeros<int>(64), counting<int>(64));
    return 0;
}
