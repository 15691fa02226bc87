// bounds_block.cu - accesses outside of an array in shared or local memory.
#include "../cases.h"

// The element lands in the next array, or in none.
__global__ void halo_without_room(float *y, const float *x, int n)
{
    __shared__ float tile[64], weight[64];
    int t = threadIdx.x;
    weight[t] = 1;
    tile[t] = x[t];
    if (t == n - 1) tile[n] = x[n];  // BUG halo_without_room out-of-bounds-shared
    __syncthreads();
    // BUG halo_without_room out-of-bounds-shared
    if (t < n) y[t] = weight[t] * (tile[t] + tile[t + 1]);
}
CASE(halo_without_room)
{
    float *x = counting<float>(65), *y = zeros<float>(64);
    halo_without_room<<<1, 64>>>(y, x, 64);
    return 0;
}

// Room for the sums of 8 warps; the block has 16.
__global__ void warp_sums_of_8(float *out, const float *x)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    if (t < 8) sums[t] = 0;
    __syncthreads();
    if (t % 32 == 0) sums[t / 32] = x[t];  // BUG warp_sums_of_8 out-of-bounds-shared
    __syncthreads();
    if (t < 8) out[t] = sums[t];
}
CASE(warp_sums_of_8)
{
    float *x = counting<float>(512), *out = zeros<float>(8);
    warp_sums_of_8<<<1, 512>>>(out, x);
    return 0;
}

// A scan that looks `offset` elements to the left without asking whether they exist
__global__ void scan_without_guard(int *y, const int *x)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int offset = 1; offset < 128; offset *= 2) {
        __syncthreads();
        int left = s[t - offset];  // BUG scan_without_guard out-of-bounds-shared
        __syncthreads();
        s[t] += left;
    }
    y[t] = s[t];
}
CASE(scan_without_guard)
{
    scan_without_guard<<<1, 128>>>(zeros<int>(128), counting<int>(128));
    return 0;
}

__global__ void reverse_dynamic(float *y, const float *x)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    // BUG dynamic_none out-of-bounds-shared, dynamic_half out-of-bounds-shared
    s[t] = x[t];
    __syncthreads();
    // BUG dynamic_none out-of-bounds-shared, dynamic_half out-of-bounds-shared
    y[t] = s[blockDim.x - 1 - t];
}
CASE(dynamic_none)
{
    float *x = counting<float>(256), *y = zeros<float>(256);
    reverse_dynamic<<<1, 256>>>(y, x);
    return 0;
}
CASE(dynamic_half)
{
    float *x = counting<float>(256), *y = zeros<float>(256);
    reverse_dynamic<<<1, 256, 256 * sizeof(float) / 2>>>(y, x);
    return 0;
}

// Two arrays share the dynamic memory; the launch counts the bytes of one.
__global__ void two_arrays(float *y, const float *x, int n)
{
    extern __shared__ float room[];
    float *values = room, *squares = room + n;
    int t = threadIdx.x;
    values[t] = x[t];
    squares[t] = x[t] * x[t];  // BUG second_dynamic_array out-of-bounds-shared
    __syncthreads();
    // BUG second_dynamic_array out-of-bounds-shared
    y[t] = values[n - 1 - t] + squares[n - 1 - t];
}
CASE(second_dynamic_array)
{
    float *x = counting<float>(96), *y = zeros<float>(96);
    two_arrays<<<1, 96, 96 * sizeof(float)>>>(y, x, 96);
    return 0;
}

// 33 rows in a tile of 32
__global__ void row_past_tile(float *y, const float *x, int rows)
{
    __shared__ float tile[32][33];
    int c = threadIdx.x;
    for (int r = 0; r < rows; r++)
        tile[r][c] = x[r * 32 + c];  // BUG row_past_tile out-of-bounds-shared
    __syncthreads();
    y[c] = tile[c][31 - c];
}
CASE(row_past_tile)
{
    float *x = counting<float>(33 * 32), *y = zeros<float>(32);
    row_past_tile<<<1, 32>>>(y, x, 33);
    return 0;
}

__global__ void four_best(float *y, const float *x, int n)
{
    float best[4] = {-1, -1, -1, -1};
    int count = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        best[count++] = x[i];  // BUG local_overrun out-of-bounds-local
    y[threadIdx.x] = best[0] + best[1] + best[2] + best[3];
}
CASE(local_overrun)
{
    float *x = counting<float>(5 * 32), *y = zeros<float>(32);
    four_best<<<1, 32>>>(y, x, 5 * 32);
    return 0;
}

// Insertion into a sorted list moves the first element out of it.
__global__ void insert_before_first(float *y, const float *x, int n)
{
    float best[8];
    for (int k = 0; k < 8; k++)
        best[k] = -1;
    for (int i = 0; i < n; i++) {
        float v = x[i * blockDim.x + threadIdx.x];
        int k = 7;
        while (k >= 0 && best[k] < v) {
            best[k] = best[k - 1];  // BUG local_before_first out-of-bounds-local
            k--;
        }
        if (k < 7) best[k + 1] = v;
    }
    for (int k = 0; k < 8; k++)
        y[k * blockDim.x + threadIdx.x] = best[k];
}
CASE(local_before_first)
{
    float *x = counting<float>(9 * 32), *y = zeros<float>(8 * 32);
    insert_before_first<<<1, 32>>>(y, x, 9);
    return 0;
}

// The bin comes from the data; the last value has none.
__global__ void private_bins(int *y, const int *x, int n)
{
    int bins[16] = {0};
    for (int i = 0; i < n; i++)
        bins[x[i]]++;  // BUG local_index_from_data out-of-bounds-local
    for (int k = 0; k < 16; k++)
        y[k] = bins[k];
}
CASE(local_index_from_data)
{
    private_bins<<<1, 1>>>(zeros<int>(16), counting<int>(17), 17);
    return 0;
}

// Every thread has its own local memory: the pointer of thread 0 means nothing to others.
__global__ void row_of_thread_0(float *y, const float *x)
{
    __shared__ float *row;
    float mine[64];
    int t = threadIdx.x;
    if (t == 0) row = mine;
    __syncthreads();
    row[t] = x[t];  // BUG row_of_thread_0 out-of-bounds-local
    __syncthreads();
    y[t] = row[63 - t];  // BUG row_of_thread_0 out-of-bounds-local
    __syncthreads();
}
CASE(row_of_thread_0)
{
    float *x = counting<float>(64), *y = zeros<float>(64);
    row_of_thread_0<<<1, 64>>>(y, x);
    return 0;
}

// There is room for K values, but the one that drops out is stored too.
__global__ void insert_past_k(float *out, const float *x, int n)
{
    constexpr int K = 8;
    float best[K];
    int kept = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int at = kept;
        while (at > 0 && best[at - 1] < x[i]) {
            best[at] = best[at - 1];  // BUG insert_past_k out-of-bounds-local
            at--;
        }
        best[at] = x[i];  // BUG insert_past_k out-of-bounds-local
        if (kept < K) kept++;
    }
    for (int k = 0; k < K; k++)
        out[threadIdx.x * K + k] = best[k];
}
CASE(insert_past_k)
{
    insert_past_k<<<1, 4>>>(zeros<float>(32), counting<float>(400), 400);
    return 0;
}
