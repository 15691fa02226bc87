// loops.cu - loops that never end. On a GPU these cases hang.
#include "../cases.h"

// (1 + 1) / 2 is 1.
__global__ void halving(float *x)
{
    int t = threadIdx.x;
    for (int n = 16; n > 0; n = (n + 1) / 2) {  // BUG halving_up infinite-loop
        if (t < n) atomicAdd(&x[t], 1.0f);      // BUG halving_up infinite-loop
        __syncwarp();                           // BUG halving_up infinite-loop
    }
}
CASE(halving_up)
{
    halving<<<1, 32>>>(zeros<float>(32));
    return 0;
}

// 16777216 + 1 is 16777216 in float.
__global__ void float_counter(int *steps)
{
    for (float i = 16777210; i < 16777220; i += 1)  // BUG float_counter infinite-loop
        atomicAdd(steps, 1);                        // BUG float_counter infinite-loop
}
CASE(float_counter)
{
    float_counter<<<1, 1>>>(zeros<int>(1));
    return 0;
}

// Nothing sets the flag.
__global__ void flag_never_set(volatile int *flag, int *out)
{
    while (*flag == 0)  // BUG flag_never_set infinite-loop
        continue;
    *out = 1;
}
CASE(flag_never_set)
{
    flag_never_set<<<1, 32>>>(zeros<int>(1), zeros<int>(1));
    return 0;
}

// The thread that returns early keeps the lock.
__global__ void lock_kept(int *lock, int *count, const int *x)
{
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0)  // BUG lock_kept infinite-loop
        continue;                       // BUG lock_kept infinite-loop
    if (x[blockIdx.x] == 0) return;
    *count += x[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
}
CASE(lock_kept)
{
    lock_kept<<<4, 1>>>(zeros<int>(1), zeros<int>(1), counting<int>(4));
    return 0;
}

// atomicCAS returns the old value: it succeeded if that is the expected one.
__global__ void cas_inverted(int *sum)
{
    int seen, old;
    do {                                       // BUG cas_inverted infinite-loop
        seen = atomicAdd(sum, 0);              // BUG cas_inverted infinite-loop
        old = atomicCAS(sum, seen, seen + 1);  // BUG cas_inverted infinite-loop
    } while (old == seen);                     // BUG cas_inverted infinite-loop
}
CASE(cas_inverted)
{
    cas_inverted<<<1, 1>>>(zeros<int>(1));
    return 0;
}

// Every block waits for the next one. Blocks start in order, and not all of them fit on
// the GPU at the same time.
__global__ void waits_for_next(volatile int *done)
{
    int b = blockIdx.x;
    // BUG waits_for_next_block infinite-loop, waits_for_next_block deadlock
    while (b + 1 < gridDim.x && done[b + 1] == 0)
        // BUG waits_for_next_block infinite-loop, waits_for_next_block deadlock
        continue;
    __threadfence();
    if (threadIdx.x == 0) done[b] = 1;
}
CASE(waits_for_next_block)
{
    waits_for_next<<<20000, 1024>>>(zeros<int>(20000));
    return 0;
}
