// structs.cu - accesses that happen where a function gets or returns a struct by value,
// and __device__ variables that a pointer leaves.
#include "../cases.h"

struct row {
    float v[16];
};
static __device__ __noinline__ float sum_vector(float4 v)
{
    return v.x + v.y + v.z + v.w;
}
static __device__ __attribute__((noinline)) float sum_row(row r)
{
    float sum = 0;
    for (int i = 0; i < 16; i++)
        sum += r.v[i];
    return sum;
}

__global__ void vector_sums(float *y, const float4 *x)
{
    y[threadIdx.x] = sum_vector(x[threadIdx.x]);  // BUG vector_by_value out-of-bounds
}
CASE(vector_by_value)
{
    vector_sums<<<1, 32>>>(zeros<float>(32), (const float4 *)counting<float>(31 * 4));
    return 0;
}

// The caller of the function is not inlined either.
static __device__ __noinline__ float sum_at(const row *x, int i)
{
    return sum_row(x[i]);  // BUG row_by_value uninitialized
}
__global__ void row_sums(float *y, const row *x)
{
    y[threadIdx.x] = sum_at(x, threadIdx.x);
}
CASE(row_by_value)
{
    row *x = unwritten<row>(32);
    cudaMemset(x, 0, 31 * sizeof *x);
    row_sums<<<1, 32>>>(zeros<float>(32), x);
    return 0;
}

__global__ void shared_vectors(float *y, const float *x)
{
    __shared__ float4 s[64];
    int t = threadIdx.x;
    s[t] = make_float4(x[t], x[t], x[t], x[t]);  // BUG shared_by_value race-shared
    y[t] = sum_vector(s[63 - t]);                // BUG shared_by_value race-shared
}
CASE(shared_by_value)
{
    shared_vectors<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}

// Only x and y are set.
__global__ void half_a_vector(float4 *y, const float *x)
{
    __shared__ float4 s[32];
    int t = threadIdx.x;
    s[t].x = x[t];
    s[t].y = -x[t];
    y[t] = s[t];  // BUG half_a_vector uninitialized-shared
}
CASE(half_a_vector)
{
    half_a_vector<<<1, 32>>>(zeros<float4>(32), counting<float>(32));
    return 0;
}

// The blocks write different values; a struct is stored after both of its sides are known.
struct triple {
    float a, b, c;
};
__global__ void two_per_pair(float2 *pairs, triple *triples)
{
    float v = blockIdx.x;
    // BUG vectors_of_two_blocks race-blocks
    pairs[blockIdx.x / 2] = make_float2(v, v);
    triple t = {1, v, 2};
    triples[blockIdx.x / 2] = t;  // BUG structs_of_two_blocks race-blocks
}
CASE(vectors_of_two_blocks)
{
    two_per_pair<<<4, 1>>>(zeros<float2>(2), zeros<triple>(4));
    return 0;
}
CASE(structs_of_two_blocks)
{
    two_per_pair<<<4, 1>>>(zeros<float2>(2), zeros<triple>(2));
    return 0;
}
__global__ void equal_vectors(float4 *y)
{
    *y = make_float4(1, 2, 3, blockDim.x);  // BUG equal_vectors same-value
}
CASE(equal_vectors)
{
    equal_vectors<<<1, 32>>>(zeros<float4>(1));
    return 0;
}

// --- pointers that leave a variable ------------------------------------------------------

__device__ float left[16], middle[16], right[16];
static __device__ float scale;

__global__ void add_from(int first)
{
    const float *x = middle + first;  // lands in another variable, or between two
    // BUG pointer_past_variable out-of-bounds
    left[threadIdx.x] += x[threadIdx.x];
}
CASE(pointer_past_variable)
{
    add_from<<<1, 16>>>(16);
    return 0;
}
__global__ void clear_before(int n)
{
    float *end = right;
    for (int i = 1; i <= n; i++)
        *(end - i) = 0;  // BUG pointer_before_variable out-of-bounds
}
CASE(pointer_before_variable)
{
    clear_before<<<1, 1>>>(4);
    return 0;
}
__global__ void scale_all(float *x)
{
    const float *each = &scale;           // one for all
    x[threadIdx.x] *= each[threadIdx.x];  // BUG pointer_past_scalar out-of-bounds
}
CASE(pointer_past_scalar)
{
    scale_all<<<1, 16>>>(zeros<float>(16));
    return 0;
}
__global__ void write_all(float *x)
{
    x[threadIdx.x] = 1;  // BUG address_of_symbol out-of-bounds
}
CASE(address_of_symbol)
{
    void *x = NULL;
    cudaGetSymbolAddress(&x, left);
    write_all<<<1, 32>>>((float *)x);
    return 0;
}

// nvcc warns: the host has a variable of its own under this name.
__global__ void set_scale(float value)
{
    scale = value;
}
CASE(variable_in_host_code)
{
    set_scale<<<1, 1>>>(2);
    cudaDeviceSynchronize();
    float value = *(volatile float *)&scale;  // BUG variable_in_host_code device-pointer
    return value < 0;
}

// --- shared memory at file scope -------------------------------------------------------

__shared__ float tile[64];

__global__ void half_a_tile(float *y, const float *x)
{
    if (threadIdx.x < 32) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];  // BUG half_a_tile uninitialized-shared
}
CASE(half_a_tile)
{
    half_a_tile<<<1, 64>>>(zeros<float>(64), counting<float>(64));
    return 0;
}
__global__ void tile_with_halo(float *y, const float *x, int halo)
{
    float *inner = tile + halo;
    inner[threadIdx.x] = x[threadIdx.x];  // BUG tile_without_halo out-of-bounds-shared
    __syncthreads();
    y[threadIdx.x] = inner[threadIdx.x];  // BUG tile_without_halo out-of-bounds-shared
}
CASE(tile_without_halo)
{
    tile_with_halo<<<1, 64>>>(zeros<float>(64), counting<float>(64), 1);
    return 0;
}
