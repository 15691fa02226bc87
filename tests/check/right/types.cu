// types.cu - correct: neighbouring bytes, structs, vectors, variables in device memory,
// templates, lambdas, local arrays.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../cases.h"

// Four threads write the four bytes of one word.
__global__ void bytes_of_word(unsigned char *y)
{
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = 3 * t;
    __syncthreads();
    y[t] = s[63 - t];
}
CASE(bytes_of_word)
{
    unsigned char *y = zeros<unsigned char>(64);
    bytes_of_word<<<1, 64>>>(y);
    return differs(y, 64, [](int i) { return 3 * (63 - i); });
}

// Blocks write neighbouring halfwords of a word in device memory.
__global__ void block_per_element(half *y)
{
    if (threadIdx.x == 0) y[blockIdx.x] = __float2half(blockIdx.x);
}
CASE(block_per_half)
{
    half *y = unwritten<half>(17);
    block_per_element<<<17, 32>>>(y);
    half host[17];
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    return __half2float(host[16]) != 16;
}

// One thread writes the pair, its neighbour the half after it.
__global__ void half_next_to_pair(half *y)
{
    int i = 3 * threadIdx.x;
    bool even = i % 2 == 0;
    *(half2 *)(y + i + !even) = __floats2half2_rn(1, 2);
    y[even ? i + 2 : i] = __float2half(3);
}
CASE(half_next_to_pair)
{
    half *y = unwritten<half>(96), host[96];
    half_next_to_pair<<<1, 32>>>(y);
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    float sum = 0;
    for (int i = 0; i < 96; i++)
        sum += __half2float(host[i]);
    return sum != 32 * 6;
}

// Copies of structs with padding, which was never written and which no result depends
// on. initcheck is expected to report the copy, which moves whole words.
struct particle {
    char kind;
    double mass;
    short charge;
};
__global__ void copy_structs(particle *to, const particle *from)
{
    __shared__ particle s[32];
    int t = threadIdx.x;
    s[t] = from[t];
    __syncthreads();
    to[t] = s[31 - t];
}
__global__ void fill_structs(particle *p)
{
    int t = threadIdx.x;
    p[t].kind = 1;
    p[t].mass = t;
    p[t].charge = -t;
}
__global__ void sum_of_structs(double *out, const particle *p)
{
    int t = threadIdx.x;
    out[t] = p[t].mass + p[t].kind + p[t].charge;
}
CASE(structs_with_padding)
{
    particle *a = unwritten<particle>(32), *b = unwritten<particle>(32);
    double *out = zeros<double>(32);
    fill_structs<<<1, 32>>>(a);
    copy_structs<<<1, 32>>>(b, a);
    sum_of_structs<<<1, 32>>>(out, b);
    return differs(out, 32, [](int) { return 1; });
}

__global__ void vectors(float4 *y, const float4 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    y[i] = make_float4(v.w, v.z, v.y, v.x);
}
CASE(vectors_to_the_end)
{
    float *x = counting<float>(400), *y = unwritten<float>(400);
    vectors<<<1, 128>>>((float4 *)y, (const float4 *)x, 100);
    return differs(y, 400, [](int i) { return i / 4 * 4 + 3 - i % 4; });
}

// Vectors for most elements, and single elements for the tail
__global__ void vectors_and_tail(float *y, const float *x, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n)
        *(float4 *)(y + i) = *(const float4 *)(x + i);
    else
        for (; i < n; i++)
            y[i] = x[i];
}
CASE(vectors_and_tail)
{
    float *x = counting<float>(1023), *y = unwritten<float>(1023);
    vectors_and_tail<<<2, 256>>>(y, x, 1023);
    return differs(y, 1023, [](int i) { return i; });
}

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ float scale;
__device__ float offsets[32];
__device__ int calls;
__global__ void fill_offsets(void)
{
    offsets[threadIdx.x] = 100 * threadIdx.x;
    if (threadIdx.x == 0) calls++;
}
__global__ void from_variables(float *y)
{
    int t = threadIdx.x;
    y[t] = offsets[t] + scale * primes[t % 8] + calls;
}
CASE(variables)
{
    float two = 2, *y = zeros<float>(32);
    cudaMemcpyToSymbol(scale, &two, sizeof two);
    fill_offsets<<<1, 32>>>();
    from_variables<<<1, 32>>>(y);
    int host[] = {2, 3, 5, 7, 11, 13, 17, 19};
    return differs(y, 32, [=](int i) { return 100 * i + 2 * host[i % 8] + 1; });
}

template <typename E, int N> __global__ void reverse_rows(E *y, const E *x)
{
    __shared__ E row[N];
    int t = threadIdx.x;
    row[t] = x[blockIdx.x * N + t];
    __syncthreads();
    y[blockIdx.x * N + t] = row[N - 1 - t];
}
CASE(templates)
{
    double *y = zeros<double>(96);
    reverse_rows<double, 48><<<2, 48>>>(y, counting<double>(96));
    short *z = zeros<short>(60);
    reverse_rows<short, 20><<<3, 20>>>(z, counting<short>(60));
    return differs(y, 96, [](int i) { return i / 48 * 48 + 47 - i % 48; }) ||
           differs(z, 60, [](int i) { return i / 20 * 20 + 19 - i % 20; });
}

template <typename F> __global__ void apply(float *x, int n, F f)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        x[i] = f(x[i]);
}
CASE(lambda_and_grid_stride)
{
    float *x = counting<float>(1000), factor = 3;
    apply<<<2, 128>>>(x, 1000, [=] __device__(float v) { return factor * v + 1; });
    return differs(x, 1000, [](int i) { return 3 * i + 1; });
}

// A grid-stride loop whose index cannot overflow: 64 bits
__global__ void long_stride(char *x, size_t first, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = first + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        x[i - first] = (char)(i % 100);
}
CASE(long_stride)
{
    size_t first = ((size_t)1 << 32) - 200;
    char *x = unwritten<char>(500);
    long_stride<<<2, 64>>>(x, first, first + 500);
    return differs(x, 500, [=](int i) { return (int)((first + i) % 100); });
}

// Every element of the local list is written before it is read.
__global__ void four_best(float *y, const float *x, int n)
{
    float best[4] = {-1, -1, -1, -1};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int k = 4;
        for (; k > 0 && best[k - 1] < x[i]; k--)
            if (k < 4) best[k] = best[k - 1];
        if (k < 4) best[k] = x[i];
    }
    for (int k = 0; k < 4; k++)
        y[4 * threadIdx.x + k] = best[k];
}
CASE(local_list)
{
    float *x = filled<float>(320, [](int i) { return i * 7 % 320; });
    float *y = zeros<float>(128);
    four_best<<<1, 32>>>(y, x, 320);
    float got[128];
    cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 128; i++)
        if (i % 4 && got[i] > got[i - 1]) return 1;
    return 0;
}

// Reads past the end are avoided by the condition on the left of &&.
__global__ void run_lengths(int *y, const int *x, int n)
{
    int i = threadIdx.x, end = i;
    while (end < n && x[end] == x[i % n])
        end++;
    if (i < n) y[i] = end - i;
}
CASE(short_circuit)
{
    int *y = zeros<int>(50), *x = filled<int>(50, [](int i) { return i / 10; });
    run_lengths<<<1, 64>>>(y, x, 50);
    return differs(y, 50, [](int i) { return 10 - i % 10; });
}

// In place, and every thread reads and writes only its own element.
__global__ void gelu_in_place(__nv_bfloat16 *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = __float2bfloat16(2 * __bfloat162float(x[i]));
}
CASE(in_place)
{
    auto *x = filled<__nv_bfloat16>(100, [](int i) { return (float)i; });
    gelu_in_place<<<1, 128>>>(x, 100);
    __nv_bfloat16 host[100];
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 100; i++)
        if (__bfloat162float(host[i]) != 2 * i) return 1;
    return 0;
}

// Optional arguments are NULL, and the kernel asks.
__global__ void linear(float *y, const float *x, const float *bias, float *copy)
{
    int i = threadIdx.x;
    y[i] = 2 * x[i] + (bias ? bias[i] : 0);
    if (copy) copy[i] = y[i];
}
CASE(optional_arguments)
{
    float *y = zeros<float>(64);
    linear<<<1, 64>>>(y, counting<float>(64), NULL, NULL);
    return differs(y, 64, [](int i) { return 2 * i; });
}

// Structs by value, in functions that are not inlined; padding of 4 bytes at the end.
struct sample {
    double value;
    float weight;
};
static __device__ __noinline__ sample halved(sample s)
{
    s.value /= 2;
    return s;
}
__global__ void halve_all(sample *y, const sample *x)
{
    __shared__ sample s[32];
    int t = threadIdx.x;
    s[t].value = x[t].value;
    s[t].weight = 1;
    __syncthreads();
    y[t] = halved(s[31 - t]);
}
CASE(structs_by_value)
{
    sample host[32], *x = unwritten<sample>(32), *y = unwritten<sample>(32);
    for (int i = 0; i < 32; i++)
        host[i] = {2.0 * i, 0};
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    halve_all<<<1, 32>>>(y, x);
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        if (host[i].value != 31 - i || host[i].weight != 1) return 1;
    return 0;
}
