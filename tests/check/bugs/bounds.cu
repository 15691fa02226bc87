// bounds.cu - accesses outside of a buffer in device memory, or of a variable there.
#include "../cases.h"

__global__ void no_tail_guard(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i % 1000];  // BUG no_tail_guard out-of-bounds
}
CASE(no_tail_guard)
{
    float *x = counting<float>(1000), *y = zeros<float>(1000);
    no_tail_guard<<<4, 256>>>(y, x);
    return 0;
}

// The call itself reads and writes the buffers.
static __device__ float4 twice(float4 v)
{
    v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
    return v;
}
__global__ void vector_argument(float4 *y, const float4 *x)
{
    int i = threadIdx.x;
    y[i] = twice(x[i]);  // BUG vector_argument out-of-bounds
}
CASE(vector_argument)
{
    const float4 *x = (const float4 *)counting<float>(124);
    vector_argument<<<1, 32>>>(zeros<float4>(32), x);
    return 0;
}

__global__ void guard_off_by_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = 1;  // BUG guard_off_by_one out-of-bounds
}
CASE(guard_off_by_one)
{
    guard_off_by_one<<<4, 256>>>(zeros<float>(1000), 1000);
    return 0;
}

// The weight of a neighbour that does not exist is 0, so no result is wrong.
__global__ void read_times_zero(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float weight = i < n - 1 ? 0.5f : 0.0f;
    float next = x[i + 1];  // BUG read_times_zero out-of-bounds
    y[i] = x[i] + weight * next;
}
CASE(read_times_zero)
{
    float *x = counting<float>(1024), *y = zeros<float>(1024);
    read_times_zero<<<4, 256>>>(y, x, 1024);
    return 0;
}

__global__ void left_neighbour(float *y, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] - x[i - 1];  // BUG left_neighbour out-of-bounds
}
CASE(left_neighbour)
{
    float *x = counting<float>(300), *y = zeros<float>(300);
    left_neighbour<<<2, 256>>>(y, x, 300);
    return 0;
}

// x is the window [first, first + 256) of a tensor with 2^32 elements: row * cols wraps.
__global__ void index_overflow(float *x, unsigned row, unsigned cols, size_t first)
{
    size_t at = row * cols + threadIdx.x;
    x[at - first] += 1;  // BUG index_overflow out-of-bounds
}
CASE(index_overflow)
{
    index_overflow<<<1, 256>>>(zeros<float>(256), 65537, 65536, (size_t)65537 * 65536);
    return 0;
}

// The last step of a grid-stride loop over n = 2^32 - 8 elements: past the end the index
// wraps to 0, and the guard lets it through. x is the window from first to n.
__global__ void last_step(char *x, unsigned step, unsigned n, size_t first)
{
    unsigned i = step * blockDim.x + threadIdx.x;
    if (i < n) x[i - first] = 1;  // BUG grid_stride_wraps out-of-bounds
}
CASE(grid_stride_wraps)
{
    unsigned n = 4294967288u, step = n / 96, first = step * 96;
    last_step<<<1, 96>>>(zeros<char>(n - first), step, n, first);
    return 0;
}

// n - 4 wraps to 4294967294 for n = 2.
__global__ void unsigned_bound(float *y, const float *x, unsigned n)
{
    unsigned i = threadIdx.x;
    if (i < n - 4) y[i] = x[i];  // BUG unsigned_bound out-of-bounds
}
CASE(unsigned_bound)
{
    float *x = counting<float>(2), *y = zeros<float>(2);
    unsigned_bound<<<1, 32>>>(y, x, 2);
    return 0;
}

// out is [cols][rows], but is addressed as [rows][cols] with its indices swapped.
__global__ void transpose_pitch(float *out, const float *in, int rows, int cols)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= cols) return;
    out[c * cols + r] = in[r * cols + c];  // BUG transpose_pitch out-of-bounds
}
CASE(transpose_pitch)
{
    float *in = counting<float>(20 * 50), *out = zeros<float>(50 * 20);
    transpose_pitch<<<dim3(4, 2), dim3(16, 16)>>>(out, in, 20, 50);
    return 0;
}

__global__ void guard_in_x_only(float *x, int rows, int cols)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) x[r * cols + c] = (float)rows;  // BUG guard_in_x_only out-of-bounds
}
CASE(guard_in_x_only)
{
    guard_in_x_only<<<dim3(4, 2), dim3(16, 16)>>>(zeros<float>(20 * 50), 20, 50);
    return 0;
}

// The last vector begins inside the buffer and ends outside.
__global__ void vector_tail(float *y, const float *x, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    float4 v = *(const float4 *)(x + i);  // BUG vector_tail out-of-bounds
    y[i / 4] = v.x + v.y + v.z + v.w;
}
CASE(vector_tail)
{
    float *x = counting<float>(1022), *y = zeros<float>(256);
    vector_tail<<<1, 256>>>(y, x, 1022);
    return 0;
}

// The value 1.0 belongs to bin 64 of 64.
__global__ void histogram_last_bin(int *bins, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // BUG histogram_last_bin out-of-bounds
    if (i < n) atomicAdd(&bins[(int)(x[i] * 64)], 1);
}
CASE(histogram_last_bin)
{
    float *x = filled<float>(129, [](int i) { return i / 128.0f; });
    histogram_last_bin<<<1, 256>>>(zeros<int>(64), x, 129);
    return 0;
}

__global__ void bytes_as_elements(float *x, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[i] = 0;  // BUG bytes_as_elements out-of-bounds
}
CASE(bytes_as_elements)
{
    char *x = unwritten<char>(512);  // 512 bytes where 512 floats are meant
    bytes_as_elements<<<1, 128>>>((float *)x, 512);
    return 0;
}

// A token that the vocabulary does not have
__global__ void embedding(float *out, const float *table, const int *token, int channels)
{
    int c = threadIdx.x;
    float v = table[token[blockIdx.x] * channels + c];  // BUG token_outside out-of-bounds
    out[blockIdx.x * channels + c] = v;
}
CASE(token_outside)
{
    float *table = counting<float>(100 * 32), *out = zeros<float>(4 * 32);
    int *token = filled<int>(4, [](int i) { return 34 * i; });  // the last is 102
    embedding<<<4, 32>>>(out, table, token, 32);
    return 0;
}

__constant__ float taps[5];
__global__ void constant_overrun(float *y, const float *x, int n, int last)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + last >= n) return;
    float sum = 0;
    for (int k = 0; k <= last; k++)
        sum += taps[k] * x[i + k];  // BUG constant_overrun out-of-bounds-variable
    y[i] = sum;
}
CASE(constant_overrun)
{
    float ones[5] = {1, 1, 1, 1, 1}, *x = counting<float>(256), *y = zeros<float>(256);
    cudaMemcpyToSymbol(taps, ones, sizeof ones);
    constant_overrun<<<1, 256>>>(y, x, 256, 5);
    return 0;
}

__device__ int counts[30];
__global__ void lane_counts(const int *x)
{
    // BUG device_array_overrun out-of-bounds-variable
    counts[threadIdx.x] = x[threadIdx.x];
}
CASE(device_array_overrun)
{
    lane_counts<<<1, 32>>>(counting<int>(32));
    return 0;
}

__device__ float slopes[8];
__global__ void slope_before_first(float *y, int n)
{
    int i = threadIdx.x;
    if (i < n) y[i] = slopes[i - 1];  // BUG device_array_before out-of-bounds-variable
}
CASE(device_array_before)
{
    slope_before_first<<<1, 8>>>(zeros<float>(8), 8);
    return 0;
}

__device__ __align__(16) float six[6];
__global__ void copy_vectors(float4 *y)
{
    // BUG vector_overrun out-of-bounds
    y[threadIdx.x] = ((const float4 *)six)[threadIdx.x];
}
CASE(vector_overrun)
{
    copy_vectors<<<1, 2>>>(zeros<float4>(2));
    return 0;
}

__global__ void scale_all(float *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= 2;  // BUG managed_too_short out-of-bounds
}
CASE(managed_too_short)
{
    float *x;
    cudaMallocManaged((void **)&x, 100 * sizeof *x);
    scale_all<<<1, 128>>>(x);
    cudaDeviceSynchronize();
    cudaFree(x);
    return 0;
}
