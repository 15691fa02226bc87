// mistakes.cu - one mistake of each kind, for docs/check.md:
//
//     make check FILE=docs/check/mistakes.cu ARGS=no_tail
//
// The last two cases have no mistake. They are slow, and check mode shows why.
#include "cuda/pdl.cuh"

#include <cuda_pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, THREADS = 256, BLOCKS = (N + THREADS - 1) / THREADS };

// Each case gets two buffers of N floats: x holds zeros, and nothing has written y.
static float host[2 * N];

// --- memory -----------------------------------------------------------------------------

__global__ void no_tail(float *x, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= a;
}
static void case_no_tail(float *x, float *)
{
    no_tail<<<BLOCKS, THREADS>>>(x, 2);
}

__global__ void add_rows(float *sum, const float *x, int rows, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= n) return;
    for (int row = 0; row < rows; row++)
        sum[col] += x[row * n + col];
}
static void case_unwritten_sum(float *x, float *y)
{
    add_rows<<<1, THREADS>>>(y, x, 4, 250);
}

__global__ void add_one(float *row)
{
    float4 *v = (float4 *)row + threadIdx.x;
    v->x += 1, v->y += 1, v->z += 1, v->w += 1;
}
static void case_second_row(float *x, float *)
{
    add_one<<<1, 32>>>(x + 130);  // rows of 130 floats
}

__global__ void scale(float *x, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
static void case_host_array(float *, float *)
{
    float *values = (float *)calloc(N, sizeof(float));
    scale<<<BLOCKS, THREADS>>>(values, N, 2);
    cudaDeviceSynchronize();
    free(values);
}

static void case_too_much(float *x, float *)
{
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
}

static void case_freed(float *, float *)
{
    float *scratch;
    cudaMalloc(&scratch, N * sizeof(float));
    cudaMemset(scratch, 0, N * sizeof(float));
    cudaFree(scratch);
    scale<<<BLOCKS, THREADS>>>(scratch, N, 2);
}

static void case_never_freed(float *, float *)
{
    float *scratch;
    cudaMalloc(&scratch, N * sizeof(float));
}

// --- races ------------------------------------------------------------------------------

__global__ void block_sum(float *sum, const float *x)
{
    __shared__ float s[THREADS];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2)
        if (t < d) s[t] += s[t + d];
    if (t == 0) *sum = s[0];
}
static void case_block_sum(float *x, float *y)
{
    block_sum<<<1, THREADS>>>(y, x);
}

__global__ void warp_reverse(float *y, const float *x)
{
    __shared__ float s[32];
    int lane = threadIdx.x;
    s[lane] = x[lane];
    y[lane] = s[31 - lane];
}
static void case_warp_reverse(float *x, float *y)
{
    warp_reverse<<<1, 32>>>(y, x);
}

__global__ void count_blocks(float *count)
{
    if (threadIdx.x == 0) *count += 1;
}
static void case_count_blocks(float *x, float *)
{
    count_blocks<<<8, 32>>>(x);
}

__global__ void find_zero(float *found, const float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == 0) *found = 1;
}
static void case_same_flag(float *x, float *y)
{
    find_zero<<<BLOCKS, THREADS>>>(y, x, N);
}

// --- barriers, masks, loops -------------------------------------------------------------

__global__ void shift(float *y, const float *x, int n)
{
    __shared__ float s[THREADS];
    int t = threadIdx.x;
    if (t < n) {
        s[t] = x[t];
        __syncthreads();
        y[t] = s[(t + 1) % n];
    }
    __syncthreads();
    if (t < n) y[t] += s[n - 1 - t];
}
static void case_barrier_in_if(float *x, float *y)
{
    shift<<<1, THREADS>>>(y, x, 100);
}

__global__ void add_lanes(float *sum, const float *x, int n)
{
    int lane = threadIdx.x;
    if (lane >= n) return;
    float v = x[lane];
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffff, v, d);
    if (lane == 0) *sum = v;
}
static void case_full_mask(float *x, float *y)
{
    add_lanes<<<1, 32>>>(y, x, 20);
}

// 16777216 + 1 is 16777216 in float.
__global__ void harmonic(float *sum)
{
    for (float i = 16777210; i <= 16777220; i += 1)
        *sum += 1 / i;
}
static void case_endless(float *x, float *)
{
    harmonic<<<1, 1>>>(x);
}

// --- launches, streams, asynchronous copies ---------------------------------------------

static void case_large_block(float *x, float *)
{
    scale<<<1, N + 100>>>(x, N, 2);
}

static void case_two_streams(float *x, float *y)
{
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    scale<<<BLOCKS, THREADS, 0, a>>>(x, N, 2);
    cudaMemcpyAsync(y, x, N * sizeof(float), cudaMemcpyDeviceToDevice, b);
    cudaDeviceSynchronize();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

__global__ void load_tile(float *y, const float *x)
{
    __shared__ float s[THREADS];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &x[t], sizeof(float));
    __pipeline_commit();
    __syncthreads();
    y[t] = s[THREADS - 1 - t];
}
static void case_no_wait(float *x, float *y)
{
    load_tile<<<1, THREADS>>>(y, x);
}

__global__ void first(float *x)
{
    pdl_trigger();
    x[threadIdx.x] = 1;
}
__global__ void second(float *y, float *x)
{
    float v = x[threadIdx.x];
    pdl_wait();
    y[threadIdx.x] = v;
}
static void case_early_read(float *x, float *y)
{
    launch_pdl(first, 1, THREADS, 0, 0, x);
    launch_pdl(second, 1, THREADS, 0, 0, y, x);
}

// --- right, but slow --------------------------------------------------------------------

enum { R = 2048, C = 1024 };

// One thread per row
__global__ void subtract_mean(float *out, const float *in)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    float sum = 0;
    for (int c = 0; c < C; c++)
        sum += in[row * C + c];
    for (int c = 0; c < C; c++)
        out[row * C + c] = in[row * C + c] - sum / C;
}
static void case_rows(float *, float *)
{
    float *in, *out;
    cudaMalloc(&in, R * C * sizeof(float));
    cudaMalloc(&out, R * C * sizeof(float));
    cudaMemset(in, 0, R * C * sizeof(float));
    subtract_mean<<<R / 128, 128>>>(out, in);
    cudaFree(in);
    cudaFree(out);
}

// One warp transposes a matrix of 32 x 32.
__global__ void transpose(float *out, const float *in)
{
    __shared__ float tile[32][32];
    int t = threadIdx.x;
    for (int i = 0; i < 32; i++)
        tile[i][t] = in[i * 32 + t];
    __syncwarp();
    for (int i = 0; i < 32; i++)
        out[i * 32 + t] = tile[t][i];
}
static void case_transpose(float *, float *)
{
    float *in, *out;
    cudaMalloc(&in, 32 * 32 * sizeof(float));
    cudaMalloc(&out, 32 * 32 * sizeof(float));
    cudaMemset(in, 0, 32 * 32 * sizeof(float));
    transpose<<<1, 32>>>(out, in);
    cudaFree(in);
    cudaFree(out);
}

#define CASE(name)                                                                       \
    {                                                                                    \
#name, case_##name                                                               \
    }
static const struct {
    const char *name;
    void (*run)(float *x, float *y);
} cases[] = {
    CASE(no_tail),      CASE(unwritten_sum), CASE(second_row),  CASE(host_array),
    CASE(too_much),     CASE(freed),         CASE(never_freed), CASE(block_sum),
    CASE(warp_reverse), CASE(count_blocks),  CASE(same_flag),   CASE(barrier_in_if),
    CASE(full_mask),    CASE(endless),       CASE(large_block), CASE(two_streams),
    CASE(no_wait),      CASE(early_read),    CASE(rows),        CASE(transpose),
};

int main(int argc, char **argv)
{
    for (const auto &c : cases) {
        if (argc != 2 || strcmp(argv[1], c.name)) continue;
        float *x, *y;
        cudaMalloc(&x, N * sizeof(float));
        cudaMalloc(&y, N * sizeof(float));
        cudaMemset(x, 0, N * sizeof(float));
        cudaDeviceSynchronize();
        c.run(x, y);
        cudaFree(x);
        cudaFree(y);
        return 0;
    }
    fprintf(stderr, "usage: mistakes CASE, one of:");
    for (const auto &c : cases)
        fprintf(stderr, " %s", c.name);
    fprintf(stderr, "\n");
    return 2;
}
