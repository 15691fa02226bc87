// uninitialized.cu - reads of memory that nothing has written.
#include "../cases.h"

__global__ void add_rows(float *sum, const float *x, int rows, int cols)
{
    int c = threadIdx.x;
    for (int r = 0; r < rows; r++)
        sum[c] += x[r * cols + c];  // BUG accumulator uninitialized
}
CASE(accumulator)
{
    float *x = counting<float>(8 * 64), *sum = unwritten<float>(64);
    add_rows<<<1, 64>>>(sum, x, 8, 64);
    return 0;
}

__global__ void add_all(float *total, const float *x)
{
    atomicAdd(total, x[threadIdx.x]);  // BUG atomic_accumulator uninitialized
}
CASE(atomic_accumulator)
{
    add_all<<<1, 64>>>(unwritten<float>(1), counting<float>(64));
    return 0;
}

__global__ void sum_of(float *out, const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        // BUG half_copied uninitialized, elements_not_bytes uninitialized
        // BUG sizeof_pointer uninitialized, reused_block uninitialized
        // BUG copied_from_unwritten uninitialized, row_padding uninitialized
        sum += x[i];
    *out = sum;
}
CASE(half_copied)
{
    float host[64] = {0}, *x = unwritten<float>(64);
    cudaMemcpy(x, host, sizeof host / 2, cudaMemcpyHostToDevice);
    sum_of<<<1, 1>>>(zeros<float>(1), x, 64);
    return 0;
}
CASE(elements_not_bytes)
{
    float host[64] = {0}, *x = unwritten<float>(64);
    cudaMemcpy(x, host, 64, cudaMemcpyHostToDevice);
    sum_of<<<1, 1>>>(zeros<float>(1), x, 64);
    return 0;
}
CASE(sizeof_pointer)
{
    float *x = unwritten<float>(64);
    cudaMemset(x, 0, sizeof x);
    sum_of<<<1, 1>>>(zeros<float>(1), x, 64);
    return 0;
}
// The second buffer probably has the address and the content of the first.
CASE(reused_block)
{
    float *out = zeros<float>(1), *first = NULL;
    cudaMalloc(&first, 4096);
    cudaMemset(first, 0, 4096);
    cudaFree(first);
    sum_of<<<1, 1>>>(out, unwritten<float>(1024), 1024);
    return 0;
}
CASE(copied_from_unwritten)
{
    float *x = unwritten<float>(64), *copy = zeros<float>(64);
    cudaMemcpy(copy, x, 64 * sizeof *x, cudaMemcpyDeviceToDevice);
    sum_of<<<1, 1>>>(zeros<float>(1), copy, 64);
    return 0;
}
// Sums over the pitch instead of the columns.
CASE(row_padding)
{
    float host[4 * 20] = {0}, *x = NULL;
    size_t pitch = 0;
    cudaMallocPitch(&x, &pitch, 20 * sizeof *x, 4);
    cudaMemcpy2D(
        x, pitch, host, 20 * sizeof *x, 20 * sizeof *x, 4, cudaMemcpyHostToDevice);
    sum_of<<<1, 1>>>(zeros<float>(1), x, (int)(pitch / sizeof *x));
    cudaFree(x);
    return 0;
}

// The second kernel adds the sums of 8 blocks; the first had 7.
__global__ void block_sums(float *partial, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = __reduce_add_sync(0xffffffff, i < n ? (int)x[i] : 0);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
__global__ void sum_of_8(float *out, const float *partial)
{
    float v = partial[threadIdx.x];  // BUG one_block_short uninitialized
    atomicAdd(out, v);
}
CASE(one_block_short)
{
    float *x = counting<float>(230), *partial = unwritten<float>(8);
    block_sums<<<230 / 32, 32>>>(partial, x, 230);
    sum_of_8<<<1, 8>>>(zeros<float>(1), partial);
    return 0;
}

// Four warps write their sums; all eight slots are added.
__global__ void eight_slots(float *out, const float *x)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    if (t % 32 == 0) sums[t / 32] = x[t];
    __syncthreads();
    if (t >= 8) return;
    float v = sums[t];  // BUG slots_of_absent_warps uninitialized-shared
    v += __shfl_xor_sync(0xff, v, 4);
    v += __shfl_xor_sync(0xff, v, 2);
    v += __shfl_xor_sync(0xff, v, 1);
    if (t == 0) *out = v;
}
CASE(slots_of_absent_warps)
{
    eight_slots<<<1, 128>>>(zeros<float>(1), counting<float>(128));
    return 0;
}

__global__ void three_point(float *y, const float *x)
{
    __shared__ float tile[66];
    int t = threadIdx.x;
    tile[t + 1] = x[t];
    __syncthreads();
    // BUG halo_not_loaded uninitialized-shared
    y[t] = tile[t] + tile[t + 1] + tile[t + 2];
}
CASE(halo_not_loaded)
{
    three_point<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}

__global__ void shared_bins(int *bins, const int *x, int n)
{
    __shared__ int own[32];
    int t = threadIdx.x;
    if (t < n) atomicAdd(&own[x[t] % 32], 1);  // BUG bins_not_zeroed uninitialized-shared
    __syncthreads();
    if (t < 32) atomicAdd(&bins[t], own[t]);
}
CASE(bins_not_zeroed)
{
    shared_bins<<<1, 128>>>(zeros<int>(32), counting<int>(128), 128);
    return 0;
}

// Only a row with a positive element sets the maximum.
__global__ void row_max(float *out, const float *x)
{
    __shared__ float best;
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int lane = 0; lane < 32; lane++) {
        float other = __shfl_sync(0xffffffff, v, lane);
        if (threadIdx.x == 0 && other > 0 && (lane == 0 || other > best)) best = other;
    }
    __syncthreads();
    // BUG all_negative uninitialized-shared
    out[blockIdx.x * 32 + threadIdx.x] = v - best;
}
CASE(all_negative)
{
    float *x = filled<float>(64, [](int i) { return i < 32 ? 32 - i : -i; });
    row_max<<<2, 32>>>(zeros<float>(64), x);
    return 0;
}

// What one block has left in shared memory is not there for the next.
__global__ void kept_between_blocks(float *y, const float *x)
{
    __shared__ float first;
    if (blockIdx.x == 0 && threadIdx.x == 0) first = x[0];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] - first;  // BUG kept_between_blocks uninitialized-shared
}
CASE(kept_between_blocks)
{
    kept_between_blocks<<<4, 32>>>(zeros<float>(128), counting<float>(128));
    return 0;
}
