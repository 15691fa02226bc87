// races_global.cu - races in device memory: of two threads of a block, of two blocks; and
// writes of equal values to one place.
#include <cuda/atomic>

#include "../cases.h"

// --- within a block --------------------------------------------------------------------

__global__ void exchange(float *y, float *room, const float *x)
{
    int t = threadIdx.x;
    room[t] = x[t];       // BUG global_without_barrier race-global
    y[t] = room[t ^ 64];  // BUG global_without_barrier race-global
}
CASE(global_without_barrier)
{
    float *x = counting<float>(128), *y = zeros<float>(128);
    exchange<<<1, 128>>>(y, zeros<float>(128), x);
    return 0;
}

__global__ void smooth_in_place(float *x, int n)
{
    int i = threadIdx.x + 1;
    // BUG stencil_in_place race-global
    if (i < n - 1) x[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
}
CASE(stencil_in_place)
{
    smooth_in_place<<<1, 128>>>(counting<float>(130), 130);
    return 0;
}

__global__ void global_bins(int *bins, const int *x)
{
    bins[x[threadIdx.x] % 16]++;  // BUG bins_in_device_memory race-global
}
CASE(bins_in_device_memory)
{
    global_bins<<<1, 96>>>(zeros<int>(16), counting<int>(96));
    return 0;
}

__global__ void row_sums(float *sum, const float *x, int cols)
{
    int r = blockIdx.x;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum[r] += x[r * cols + c];  // BUG row_sum_by_all_threads race-global
}
CASE(row_sum_by_all_threads)
{
    row_sums<<<4, 64>>>(zeros<float>(4), counting<float>(4 * 100), 100);
    return 0;
}

__global__ void scatter(int *out, const int *index)
{
    out[index[threadIdx.x]] = threadIdx.x;  // BUG scatter_twice race-global
}
CASE(scatter_twice)
{
    int *index = filled<int>(64, [](int i) { return i == 63 ? 5 : i; });
    scatter<<<1, 64>>>(zeros<int>(64), index);
    return 0;
}

// --- between blocks --------------------------------------------------------------------

__global__ void total_without_atomic(float *total, const float *x)
{
    int sum = __reduce_add_sync(0xffffffff, (int)x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) *total += sum;  // BUG total_without_atomic race-blocks
}
CASE(total_without_atomic)
{
    total_without_atomic<<<8, 32>>>(zeros<float>(1), counting<float>(256));
    return 0;
}

__global__ void reverse_in_place(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[n - 1 - i] = x[i];  // BUG reverse_in_place race-blocks
}
CASE(reverse_in_place)
{
    reverse_in_place<<<4, 64>>>(counting<float>(256), 256);
    return 0;
}

// Right within the block; the first and last elements belong to other blocks.
__global__ void stencil_of_blocks(float *x, int n)
{
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    s[t + 1] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;        // BUG edges_of_blocks race-blocks
    if (t == 63) s[65] = i + 1 < n ? x[i + 1] : 0;  // BUG edges_of_blocks race-blocks
    __syncthreads();
    x[i] = s[t] + s[t + 1] + s[t + 2];  // BUG edges_of_blocks race-blocks
}
CASE(edges_of_blocks)
{
    stencil_of_blocks<<<4, 64>>>(counting<float>(256), 256);
    return 0;
}

// The last block to finish adds the partial sums. Without __threadfence the counter can
// be seen before the sum.
__global__ void no_threadfence(float *out, float *partial, unsigned *finished)
{
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = (float)blockIdx.x;  // BUG no_threadfence race-blocks
    if (atomicAdd(finished, 1) != gridDim.x - 1) return;
    float sum = 0;
    for (int b = 0; b < gridDim.x; b++)
        sum += partial[b];  // BUG no_threadfence race-blocks
    *out = sum;
}
CASE(no_threadfence)
{
    float *out = zeros<float>(1), *partial = zeros<float>(8);
    no_threadfence<<<8, 32>>>(out, partial, zeros<unsigned>(1));
    return 0;
}

// A relaxed store of the flag says nothing about the value.
__global__ void relaxed_flag(float *y, float *value, int *flag)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *value = 1;  // BUG relaxed_flag race-blocks
        ready.store(1, cuda::memory_order_relaxed);
    } else {
        while (!ready.load(cuda::memory_order_acquire)) {}
        *y = *value;  // BUG relaxed_flag race-blocks
    }
}
CASE(relaxed_flag)
{
    relaxed_flag<<<2, 32>>>(zeros<float>(1), zeros<float>(1), zeros<int>(1));
    return 0;
}

// All threads write, thread 0 alone counts: the barrier between is missing.
__global__ void counted_too_early(float *out, float *partial, unsigned *finished)
{
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = (float)i;  // BUG counted_too_early race-blocks
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    float sum = 0;
    for (int b = 0; b < gridDim.x; b++)
        // BUG counted_too_early race-blocks
        sum += partial[b * blockDim.x + threadIdx.x];
    out[threadIdx.x] = sum;
}
CASE(counted_too_early)
{
    float *out = zeros<float>(64), *partial = zeros<float>(8 * 64);
    counted_too_early<<<8, 64>>>(out, partial, zeros<unsigned>(1));
    return 0;
}

__global__ void flag_without_fence(int *data, int *flag, int *out)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 17;      // BUG plain_flag race-blocks
        *flag = 1;       // BUG plain_flag race-blocks
    } else if (*flag) {  // BUG plain_flag race-blocks
        *out = *data;    // BUG plain_flag race-blocks
    }
}
CASE(plain_flag)
{
    flag_without_fence<<<2, 32>>>(zeros<int>(1), zeros<int>(1), zeros<int>(1));
    return 0;
}

__global__ void zeroed_by_block_0(int *count, const int *x)
{
    // BUG zeroed_by_block_0 race-blocks
    if (blockIdx.x == 0 && threadIdx.x == 0) *count = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] % 2) atomicAdd(count, 1);  // BUG zeroed_by_block_0 race-blocks
}
CASE(zeroed_by_block_0)
{
    zeroed_by_block_0<<<4, 32>>>(zeros<int>(1), counting<int>(128));
    return 0;
}

// Every row's block adds to the gradient of the weight.
__global__ void weight_gradient(float *dw, const float *dy, int cols)
{
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        dw[c] += dy[blockIdx.x * cols + c];  // BUG weight_gradient race-blocks
}
CASE(weight_gradient)
{
    weight_gradient<<<6, 32>>>(zeros<float>(48), counting<float>(6 * 48), 48);
    return 0;
}

// Tiles overlap by one column, and the blocks write different values there.
__global__ void overlapping_tiles(float *y, const float *x)
{
    int i = blockIdx.x * 31 + threadIdx.x;
    y[i] = x[i] - x[blockIdx.x * 31];  // BUG overlapping_tiles race-blocks
}
CASE(overlapping_tiles)
{
    overlapping_tiles<<<4, 32>>>(zeros<float>(125), counting<float>(125));
    return 0;
}

// --- equal values: a note, no error ----------------------------------------------------

__global__ void found(int *flag, const int *x, int wanted)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] >= wanted) *flag = 1;  // BUG same_flag same-value
}
CASE(same_flag)
{
    int *flag = zeros<int>(1);
    found<<<4, 64>>>(flag, counting<int>(256), 100);
    return differs(flag, 1, [](int) { return 1; });
}

__global__ void by_all_lanes(float *out, const float *x)
{
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffff, v, offset);
    out[blockIdx.x] = v;  // BUG same_sum same-value
}
CASE(same_sum)
{
    float *out = zeros<float>(2);
    by_all_lanes<<<2, 32>>>(out, counting<float>(64));
    return differs(out, 2, [](int r) { return r ? 1520 : 496; });
}

__global__ void same_length(int *y, int n)
{
    __shared__ int length;
    length = n;  // BUG same_shared same-value
    __syncthreads();
    y[threadIdx.x] = length;
}
CASE(same_shared)
{
    int *y = zeros<int>(64);
    same_length<<<1, 64>>>(y, 7);
    return differs(y, 64, [](int) { return 7; });
}

// --- in __device__ variables and managed memory ------------------------------------------

__device__ float room_of_all[128];
__global__ void exchange_variable(float *y, const float *x)
{
    int t = threadIdx.x;
    room_of_all[t] = x[t];       // BUG variable_without_barrier race-global
    y[t] = room_of_all[t ^ 64];  // BUG variable_without_barrier race-global
}
CASE(variable_without_barrier)
{
    exchange_variable<<<1, 128>>>(zeros<float>(128), counting<float>(128));
    return 0;
}

__device__ int calls;
__global__ void count_calls()
{
    if (threadIdx.x == 0) calls++;  // BUG counter_without_atomic race-blocks
}
CASE(counter_without_atomic)
{
    count_calls<<<8, 32>>>();
    return 0;
}

__global__ void add_neighbour(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += x[i];
    if (i) y[i - 1] += x[i];  // BUG managed_neighbours race-global
}
CASE(managed_neighbours)
{
    float *x, *y;
    cudaMallocManaged((void **)&x, 64 * sizeof *x);
    cudaMallocManaged((void **)&y, 64 * sizeof *y);
    for (int i = 0; i < 64; i++)
        x[i] = (float)i, y[i] = 0;
    add_neighbour<<<1, 64>>>(y, x);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    return 0;
}

// One half of a word is updated by atomicCAS of the word, the other by a plain store
__global__ void half_by_cas(unsigned short *x)
{
    unsigned *word = (unsigned *)x;
    if (threadIdx.x == 0) {
        unsigned old = *word;
        atomicCAS(word, old, old + 1);  // BUG half_by_cas race-global
    }
    if (threadIdx.x == 32) x[1] = 7;  // BUG half_by_cas race-global
}
CASE(half_by_cas)
{
    half_by_cas<<<1, 64>>>(zeros<unsigned short>(2));
    return 0;
}
