// alignment.cu - addresses that are not a multiple of the access, and null pointers.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "../cases.h"

__global__ void sum_of_4(float *y, const float *x)
{
    float4 v = *(const float4 *)(x + 4 * threadIdx.x);  // BUG float4_offset misaligned
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
CASE(float4_offset)
{
    sum_of_4<<<1, 32>>>(zeros<float>(32), counting<float>(129) + 1);
    return 0;
}

// Rows of 1022 floats: every second row starts 8 bytes after a multiple of 16.
__global__ void scale_rows(float *x, int cols)
{
    float4 *row = (float4 *)(x + blockIdx.x * cols);
    for (int c = threadIdx.x; c < cols / 4; c += blockDim.x)
        row[c].x *= 2;  // BUG row_of_1022 misaligned
}
CASE(row_of_1022)
{
    scale_rows<<<2, 64>>>(counting<float>(2 * 1022), 1022);
    return 0;
}

__global__ void pairs(float *y, const half *x, int first)
{
    int i = first + 2 * threadIdx.x;
    half2 v = *(const half2 *)(x + i);  // BUG half2_at_odd misaligned
    y[threadIdx.x] = __low2float(v) + __high2float(v);
}
CASE(half2_at_odd)
{
    half *x = filled<half>(66, [](int i) { return (float)i; });
    pairs<<<1, 32>>>(zeros<float>(32), x, 1);
    return 0;
}

// A header of 4 bytes, then numbers of 8
__global__ void after_header(double *y, const char *file)
{
    const double *numbers = (const double *)(file + 4);
    y[threadIdx.x] = numbers[threadIdx.x];  // BUG double_after_header misaligned
}
CASE(double_after_header)
{
    after_header<<<1, 8>>>(zeros<double>(8), zeros<char>(68));
    return 0;
}

// A counter before the tile moves the tile off its alignment.
__global__ void counter_then_tile(float *y, const float *x)
{
    extern __shared__ char room[];
    int *counter = (int *)room, t = threadIdx.x;
    float *tile = (float *)(room + sizeof *counter);
    if (t == 0) *counter = 0;
    float4 v = ((const float4 *)x)[t];
    *(float4 *)(tile + 4 * t) = v;  // BUG shared_float4 misaligned
    __syncthreads();
    y[t] = tile[127 - t];
}
CASE(shared_float4)
{
    float *x = counting<float>(128), *y = zeros<float>(32);
    counter_then_tile<<<1, 32, 4 + 128 * sizeof(float)>>>(y, x);
    return 0;
}

// The padding against bank conflicts also moves the rows.
__global__ void padded_tile(float *y, const float *x)
{
    __shared__ __align__(16) float tile[8][33];
    int r = threadIdx.x / 8, c = threadIdx.x % 8 * 4;
    float4 v = *(const float4 *)(x + r * 32 + c);
    *(float4 *)&tile[r][c] = v;  // BUG padded_row misaligned
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x % 8][threadIdx.x / 8];
}
CASE(padded_row)
{
    padded_tile<<<1, 64>>>(zeros<float>(64), counting<float>(8 * 32));
    return 0;
}

__global__ void atomic_pair(char *room)
{
    auto *count = (unsigned long long *)(room + 12);
    atomicAdd(count, 1ull);  // BUG atomic_of_8_bytes misaligned
}
CASE(atomic_of_8_bytes)
{
    atomic_pair<<<1, 1>>>(zeros<char>(32));
    return 0;
}

__global__ void copy_16(float *y, const float *x)
{
    __shared__ __align__(16) float tile[128];
    int t = threadIdx.x;
    // BUG async_copy_of_16 misaligned
    __pipeline_memcpy_async(tile + 4 * t, x + 4 * t + 2, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = tile[127 - t];
}
CASE(async_copy_of_16)
{
    copy_16<<<1, 32>>>(zeros<float>(32), counting<float>(130));
    return 0;
}

// --- null-pointer ----------------------------------------------------------------------

__global__ void with_statistics(float *y, float *maximum, const float *x)
{
    int i = threadIdx.x;
    y[i] = 2 * x[i];
    if (i == 0) *maximum = x[63];  // BUG null_output null-pointer
}
CASE(null_output)
{
    with_statistics<<<1, 64>>>(zeros<float>(64), NULL, counting<float>(64));
    return 0;
}

__global__ void set_all(float *x, float value)
{
    x[threadIdx.x] = value;  // BUG failed_malloc null-pointer
}
CASE(failed_malloc)
{
    float *x = NULL;
    cudaMalloc(&x, (size_t)1 << 60);
    set_all<<<1, 64>>>(x, 1);
    return 0;
}

struct layer {
    const float *weight, *bias;
};
__global__ void linear(float *y, layer l)
{
    int i = threadIdx.x;
    y[i] = l.weight[i] + l.bias[i];  // BUG null_field null-pointer
}
CASE(null_field)
{
    layer without_bias = {counting<float>(64), NULL};
    linear<<<1, 64>>>(zeros<float>(64), without_bias);
    return 0;
}

// The table of pointers is zeroed, and one entry is not set.
__global__ void sum_of_rows(float *y, float *const *row, int rows)
{
    float sum = 0;
    for (int r = 0; r < rows; r++)
        sum += row[r][threadIdx.x];  // BUG null_in_table null-pointer
    y[threadIdx.x] = sum;
}
CASE(null_in_table)
{
    float *x = counting<float>(64), *host[3] = {x, x + 32, NULL},
          **row = zeros<float *>(3);
    cudaMemcpy(row, host, sizeof host, cudaMemcpyHostToDevice);
    sum_of_rows<<<1, 32>>>(zeros<float>(32), row, 3);
    return 0;
}
