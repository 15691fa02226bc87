/* counts.cu - kernels whose requests, sectors and wavefronts are known. counts.py has the
 * numbers; those of shared memory agree with Nsight Compute on an H200. */
#include "cuda/tma.cuh"

#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
using namespace nvcuda;

#define N 4096
static float *x, *y;

static void end(void)
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e) {
        fprintf(stderr, "%s\n", cudaGetErrorString(e));
        exit(1);
    }
}

/* --- global memory ------------------------------------------------------------------ */

__global__ void coalesced(const float *a, float *b)
{
    b[threadIdx.x] = a[threadIdx.x];
}
__global__ void per_multiprocessor(const float *a, float *b)
{
    if (blockIdx.x == 0) b[threadIdx.x] = a[threadIdx.x];
}
__global__ void misaligned(const float *a, float *b)
{
    b[threadIdx.x + 1] = a[threadIdx.x + 1];
}
template <int K> __global__ void strided(const float *a, float *b)
{
    b[threadIdx.x * K] = a[threadIdx.x * K];
}
__global__ void broadcast(const float *a, float *b)
{
    b[threadIdx.x] = a[0];
}
__global__ void vectors(const float4 *a, float4 *b)
{
    b[threadIdx.x] = a[threadIdx.x];
}
struct pair {
    float a, b;
};
__global__ void pairs(const pair *a, pair *b)  // aligned to 4 bytes: two accesses
{
    b[threadIdx.x] = a[threadIdx.x];
}
__global__ void single_bytes(const char *a, char *b)
{
    b[threadIdx.x] = a[threadIdx.x];
}
__global__ void scattered(const float *a, float *b)  // four lanes in each of 8 sectors
{
    b[threadIdx.x] = a[threadIdx.x % 8 * 100 + threadIdx.x / 8];
}
__global__ void even_lanes(const float *a, float *b)
{
    if (threadIdx.x % 2 == 0) b[threadIdx.x] = a[threadIdx.x];
}
__global__ void two_branches(const float *a, float *b)
{
    if (threadIdx.x < 16)
        b[threadIdx.x] = a[threadIdx.x];
    else
        b[threadIdx.x] = a[threadIdx.x + 32] + 1;
}
__global__ void grid_stride(const float *a, float *b, int n)
{
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        b[i] = a[i];
}
__global__ void some_iterations(const float *a, float *b)  // a lane skips every other one
{
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += a[i * 32 + threadIdx.x];
        if ((threadIdx.x + i) % 2) sum += a[1024 + i * 32 + threadIdx.x];
    }
    b[threadIdx.x] = sum;
}
__global__ void causal(const float *a, float *b)  // lane l reads a[0] to a[l]
{
    float sum = 0;
    for (int j = 0; j <= (int)threadIdx.x; j++)
        sum += a[j];
    b[threadIdx.x] = sum;
}
__global__ void nested(const float *a, float *b)  // inner loops of different lengths
{
    float sum = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 1 + (int)threadIdx.x % 2; j++)
            sum += a[(i * 2 + j) * 64 + threadIdx.x];
        b[i * 64 + threadIdx.x] = sum;
    }
}
__global__ void read_twice(const float *a, float *b)
{
    float v = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = v + a[threadIdx.x];
}
__global__ void histogram(int *bins)
{
    atomicAdd(&bins[threadIdx.x % 4], 1);
}
__global__ void in_place(float *a)
{
    a[blockIdx.x * 32 + threadIdx.x] += 1;
}
static __device__ float twice(const float4 *a, int n)  // one float in each sector
{
    float sum = 0;
    for (int k = 0; k < 2; k++) {
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            sum += a[2 * i].x;
        __syncthreads();  // otherwise a warp runs both iterations before the next warp
    }
    return sum;
}
__global__ void small(const float4 *a, float *b)  // 1 MB
{
    b[threadIdx.x] = twice(a, 1 << 15);
}
__global__ void large(const float4 *a, float *b)  // 6 MB
{
    b[threadIdx.x] = twice(a, 6 << 15);
}

/* --- shared memory ------------------------------------------------------------------ */

template <int WIDTH> __global__ void transpose(const float *a, float *b)
{
    __shared__ float tile[32][WIDTH];
    tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    b[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
template <class T, int HOW> __global__ void permuted(T *b)
{
    __shared__ T s[64];
    int l = threadIdx.x;
    int i = HOW == 0   ? l
            : HOW == 1 ? 2 * l
                       : (l < 16 ? 2 * l : 2 * l - 31);  // a half uses half of the banks
    s[i] = b[l];
    __syncthreads();
    b[l] = s[i];
}
__global__ void same_word(double *b)
{
    __shared__ double s;
    if (threadIdx.x == 0) s = 1;
    __syncthreads();
    b[threadIdx.x] = s;
}
template <int VECTORS> __global__ void few_vectors(float4 *b)
{
    __shared__ float4 s[VECTORS];
    if (threadIdx.x < VECTORS) s[threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x % VECTORS];
}
__global__ void shared_atomics(int *b)
{
    __shared__ int s[32];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[0], 1);
    atomicAdd(&s[threadIdx.x], 1);
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x];
}

/* --- the instructions of matrix kernels --------------------------------------------- */

template <bool SWIZZLED> __global__ void matrices(unsigned *b)
{
    __shared__ __align__(128) wb_f16 s[32 * 64];
    int l = threadIdx.x;
    for (int i = l; i < 32 * 64; i += 32)
        s[i] = (wb_f16)0.0f;
    __syncthreads();
    unsigned r[4];
    int row = l % 16, chunk = l / 16;
    ldmatrix(r, s + (SWIZZLED ? swizzle<64>(row, chunk) : row * 64 + chunk * 8));
    b[l] = r[0] + r[1] + r[2] + r[3];
}
__global__ void async_copies(const float4 *a, float4 *b)
{
    __shared__ float4 s[64];
    int l = threadIdx.x;
    cp_async(&s[l], a + l, true);
    cp_async_commit();
    cp_async(&s[l + 32], a + l + 32, l < 8);  // the other lanes write zeros
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    b[l] = s[31 - l];
    cp_async_wait<0>();
    __syncthreads();
    b[l + 32] = s[63 - l];
}
template <class Use, class Layout>
__global__ void wmma_factor(const __half *a, float *b, int ld)
{
    __shared__ __half s[16 * 72];
    for (int i = threadIdx.x; i < 16 * 72; i += 32)
        s[i] = (__half)0.0f;
    __syncwarp();
    wmma::fragment<Use, 16, 16, 16, __half, Layout> f, g;
    wmma::load_matrix_sync(f, a, 64);
    wmma::load_matrix_sync(g, s, ld);
    b[threadIdx.x] = (float)f.x[0] + (float)g.x[0];
}
template <class T> __global__ void wmma_sum(T *a, int rows)
{
    __shared__ T s[16 * 24];
    wmma::layout_t layout = rows ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::fragment<wmma::accumulator, 16, 16, 16, T> f;
    wmma::load_matrix_sync(f, a, 64, layout);
    wmma::store_matrix_sync(s, f, 24, layout);
    wmma::load_matrix_sync(f, s, 24, layout);
    wmma::store_matrix_sync(a, f, 64, layout);
}

__global__ void tensor_cores(float *b)
{
    unsigned a[4] = {};
    float c[4] = {};
    mma<wb_f16>(c, a, 0, 0);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> f;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> g;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(f, 0.0f);
    wmma::fill_fragment(g, 0.0f);
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, f, g, sum);
    b[threadIdx.x] = c[0] + sum.x[0];
}

/* --- events ------------------------------------------------------------------------- */

__global__ void events(int *b)
{
    int v = threadIdx.x;
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffff, v, o);
    int w = __shfl_sync(0xffffffff, v, 3);
    w += __ballot_sync(0xffffffff, v > 0);
    __syncwarp();
    __syncthreads();
    w += __syncthreads_or(v);
    b[blockIdx.x * 64 + threadIdx.x] = w;
}

static void global_memory(void)
{
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    per_multiprocessor<<<multiprocessors, 32>>>(x, y);
    coalesced<<<1, 32>>>(x, y);
    misaligned<<<1, 32>>>(x, y);
    strided<2><<<1, 32>>>(x, y);
    strided<8><<<1, 32>>>(x, y);
    broadcast<<<1, 32>>>(x, y);
    vectors<<<1, 32>>>((float4 *)x, (float4 *)y);
    pairs<<<1, 32>>>((pair *)x, (pair *)y);
    single_bytes<<<1, 32>>>((char *)x, (char *)y);
    scattered<<<1, 32>>>(x, y);
    even_lanes<<<1, 32>>>(x, y);
    two_branches<<<1, 32>>>(x, y);
    grid_stride<<<2, 40>>>(x, y, 100);
    some_iterations<<<1, 32>>>(x, y);
    causal<<<1, 32>>>(x, y);
    nested<<<1, 64>>>(x, y);
    read_twice<<<1, 32>>>(x, y);
    histogram<<<2, 64>>>((int *)y);
    in_place<<<4, 32>>>(y);
    end();
}

static void caches(void)
{
    float4 *buffer;
    cudaMalloc((void **)&buffer, 6 << 20);
    cudaMemset(buffer, 0, 6 << 20);
    small<<<1, 32>>>(buffer, y);
    large<<<1, 32>>>(buffer, y);
    end();
    cudaFree(buffer);
}

static void shared_memory(void)
{
    transpose<32><<<1, dim3(32, 32)>>>(x, y);
    transpose<33><<<1, dim3(32, 32)>>>(x, y);
    permuted<float, 0><<<1, 32>>>(y);
    permuted<float, 1><<<1, 32>>>(y);
    permuted<float, 2><<<1, 32>>>(y);
    permuted<float2, 0><<<1, 32>>>((float2 *)y);
    permuted<float2, 1><<<1, 32>>>((float2 *)y);
    permuted<float2, 2><<<1, 32>>>((float2 *)y);
    permuted<float4, 0><<<1, 32>>>((float4 *)y);
    permuted<float4, 1><<<1, 32>>>((float4 *)y);
    permuted<float4, 2><<<1, 32>>>((float4 *)y);
    same_word<<<1, 32>>>((double *)y);
    few_vectors<1><<<1, 32>>>((float4 *)y);
    few_vectors<4><<<1, 32>>>((float4 *)y);
    shared_atomics<<<1, 32>>>((int *)y);
    matrices<false><<<1, 32>>>((unsigned *)y);
    matrices<true><<<1, 32>>>((unsigned *)y);
    async_copies<<<1, 32>>>((float4 *)x, (float4 *)y);
    const __half *h = (const __half *)x;
    wmma_factor<wmma::matrix_a, wmma::row_major><<<1, 32>>>(h, y, 64);
    wmma_factor<wmma::matrix_b, wmma::col_major><<<1, 32>>>(h, y, 72);
    wmma_sum<float><<<1, 32>>>(y, 1);
    tensor_cores<<<1, 32>>>(y);
    wmma_sum<__half><<<1, 32>>>((__half *)y, 1);
    end();
    events<<<2, 64>>>((int *)y);
    end();
}

/* 300 floats are too many for registers: the compiler calls memcpy. */
struct floats {
    float x[300];
};
__global__ void large_struct(floats *to, const floats *from, int i)
{
    floats one = *from;
    one.x[i] = 1;
    *to = one;
}
__global__ void builtin_copy(float *to, const float *from, size_t bytes)
{
    __builtin_memmove(to, from, bytes);
}
static void copies()
{
    large_struct<<<1, 1>>>((floats *)y, (const floats *)x, 5);
    builtin_copy<<<1, 1>>>(y, x, 1200);
    end();
}

/* Constant memory has a cache of its own: such reads are not global requests. */
__device__ float of_device[64];
__constant__ float of_constants[64];
__global__ void read_variables(float *to)
{
    int t = threadIdx.x;
    to[t] = of_device[2 * t] + of_constants[t];
}
static void other_memory()
{
    float *managed;
    cudaMallocManaged((void **)&managed, 32 * sizeof *managed);
    read_variables<<<1, 32>>>(managed);
    end();
    cudaFree(managed);
}

/* Rows of 128 bytes; the tiles begin 16 bytes after the start of a sector. */
__global__ void tiles(float *to, const __grid_constant__ tensor_map map)
{
    __shared__ __align__(128) float tile[2][4][8];
    __shared__ uint64_t loaded;
    if (threadIdx.x == 0) {
        mbarrier_init(&loaded, 1);
        mbarrier_fence_init();
        mbarrier_expect(&loaded, sizeof tile);
        tma_load(tile[0], &map, &loaded, 4, 0);
        tma_load(tile[1], &map, &loaded, 28, 62);
        mbarrier_wait(&loaded, 0);
        tma_store_bytes(to, tile, 64);
        tma_commit();
        tma_wait<0>();
    }
}
static void copies_by_tma()
{
    tensor_map map;
    if (!make_tensor_map(&map, x, {2, {32, 64}, {1, 32}, {8, 4}, 0})) exit(3);
    tiles<<<1, 32>>>(y, map);
    end();
}

int main(void)
{
    cudaMalloc((void **)&x, N * sizeof *x);
    cudaMalloc((void **)&y, N * sizeof *y);
    cudaMemset(x, 0, N * sizeof *x);
    cudaMemset(y, 0, N * sizeof *y);
    global_memory();
    caches();
    shared_memory();
    copies();
    other_memory();
    copies_by_tma();
    cudaFree(x);
    cudaFree(y);
    return 0;
}
