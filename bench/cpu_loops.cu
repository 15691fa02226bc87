// cpu_loops.cu - kernels of textbooks on the CPU back end, next to the same work as plain
// loops under OpenMP.
//
//   cpu_loops [NAME]   the best times of 5 runs in ms, and their ratio; all rows, or one
//
// `make bench-cpu` runs all of them. With WB_THREADS=1 and OMP_NUM_THREADS=1 the times are
// CPU time. Exit code 1 if the results of a kernel and of its loops differ.
#include "openmp_loops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- kernels ------------------------------------------------------------------------ */

__global__ void saxpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

// One warp per row of x [ROWS, COLUMNS]; blocks of 8 warps.
__global__ void row_sums(float *out, const float *x)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = 0;
    for (int c = lane; c < COLUMNS; c += 32)
        v += x[(size_t)row * COLUMNS + c];
    for (int o = 16; o > 0; o /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    if (lane == 0) out[row] = v;
}
__global__ void row_sums_two_statements(float *out, const float *x)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float v = 0;
    for (int c = lane; c < COLUMNS; c += 32)
        v += x[(size_t)row * COLUMNS + c];
    for (int o = 16; o > 0; o /= 2) {
        float t = __shfl_xor_sync(0xffffffffu, v, o);
        v += t;
    }
    if (lane == 0) out[row] = v;
}

// Tiles of 32x32 by blocks of 32x8
__global__ void transpose(float *out, const float *x)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        tile[threadIdx.y + i][threadIdx.x] = x[(size_t)(r + i) * SIDE + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        out[(size_t)(r + i) * SIDE + c] = tile[threadIdx.x][threadIdx.y + i];
}

__global__ void
matmul(float *c, const float *a, const float *b)  // [M, M], tiles of 16x16
{
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty,
        column = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int k = 0; k < M; k += 16) {
        as[ty][tx] = a[row * M + k + tx];
        bs[ty][tx] = b[(k + ty) * M + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    c[row * M + column] = sum;
}

__global__ void softmax(float *out, const float *x)  // one warp per row
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    x += (size_t)row * COLUMNS, out += (size_t)row * COLUMNS;
    float most = -INFINITY, sum = 0;
    for (int c = lane; c < COLUMNS; c += 32)
        most = fmaxf(most, x[c]);
    for (int o = 16; o > 0; o /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, o));
    for (int c = lane; c < COLUMNS; c += 32)
        sum += out[c] = expf(x[c] - most);
    for (int o = 16; o > 0; o /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, o);
    for (int c = lane; c < COLUMNS; c += 32)
        out[c] /= sum;
}

__global__ void histogram(unsigned *bins, const unsigned char *bytes, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&mine[bytes[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void block_scan(float *out, const float *x)  // Hillis and Steele, 256 elements
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    out[i] = s[t];
}

// Each block computes the dot product of 1024 elements: a sum per thread, then a tree.
__global__ void dot(float *out, const float *x, const float *y)
{
    __shared__ float sums[256];
    int t = threadIdx.x, at = blockIdx.x * 1024 + t;
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += x[at + i * 256] * y[at + i * 256];
    sums[t] = sum;
    __syncthreads();
    int half = blockDim.x / 2;
    while (half > 0) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
        half /= 2;
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

// One thread per query
__global__ void attention(float *out, const float *q, const float *k, const float *v)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    attend(out + t * D, q + t * D, k, v);
}

/* --- measuring ---------------------------------------------------------------------- */

static float *x, *y, *z;
static unsigned char *bytes;

static void run_histogram(float *out)
{
    cudaMemset(out, 0, 256 * sizeof(unsigned));
    histogram<<<64, 256>>>((unsigned *)out, bytes, N);
}
static void run_histogram_loop(float *out)
{
    histogram_loop((unsigned *)out, bytes);
}
static const struct row {
    const char *name;
    void (*kernel)(float *out);
    void (*loop)(float *out);
    int count;  // elements of the result
} rows[] = {
    {"saxpy", [](float *o) { saxpy<<<N / 256, 256>>>(o, x, 1e-9f, N); },
     [](float *o) { saxpy_loop(o, 1e-9f, x); }, N},
    {"row_sums", [](float *o) { row_sums<<<ROWS / 8, 256>>>(o, x); },
     [](float *o) { row_sums_loop(o, x); }, ROWS},
    {"row_sums_two_statements",
     [](float *o) { row_sums_two_statements<<<ROWS / 8, 256>>>(o, x); },
     [](float *o) { row_sums_loop(o, x); }, ROWS},
    {"transpose",
     [](float *o) { transpose<<<dim3(SIDE / 32, SIDE / 32), dim3(32, 8)>>>(o, x); },
     [](float *o) { transpose_loop(o, x); }, SIDE *SIDE},
    {"matmul", [](float *o) { matmul<<<dim3(M / 16, M / 16), dim3(16, 16)>>>(o, x, y); },
     [](float *o) { matmul_loop(o, x, y); }, M *M},
    {"softmax", [](float *o) { softmax<<<ROWS / 8, 256>>>(o, x); },
     [](float *o) { softmax_loop(o, x); }, ROWS *COLUMNS},
    {"histogram", run_histogram, run_histogram_loop, 256},
    {"block_scan", [](float *o) { block_scan<<<N / 256, 256>>>(o, x); },
     [](float *o) { block_scan_loop(o, x); }, N},
    {"dot", [](float *o) { dot<<<N / 1024, 256>>>(o, x, y); },
     [](float *o) { dot_loop(o, x, y); }, N / 1024},
    {"attention", [](float *o) { attention<<<T / 64, 64>>>(o, x, y, z); },
     [](float *o) { attention_loop(o, x, y, z); }, T *D},
};

static double now()
{
    struct timespec t;
    const char *workers = getenv("WB_THREADS");
    bool one = workers && strcmp(workers, "1") == 0;
    clock_gettime(one ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}
static double best_of(void (*work)(float *), float *out)
{
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        double start = now();
        work(out);
        cudaDeviceSynchronize();
        best = fmin(best, now() - start);
    }
    return best;
}
static float *managed(unsigned seed)
{
    float *p = NULL;
    if (cudaMallocManaged(&p, N * sizeof *p) != cudaSuccess) exit(1);
    for (int i = 0; i < N; i++)
        p[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
    return p;
}

int main(int argc, char **argv)
{
    x = managed(1), y = managed(2), z = managed(3);
    bytes = (unsigned char *)y;
    float *a = managed(4), *b = managed(4);
    int wrong = 0, known = 0;
    for (const row &r : rows) {
        if (argc > 1 && strcmp(argv[1], r.name) != 0) continue;
        double kernel = best_of(r.kernel, a), loop = best_of(r.loop, b);
        // sums of up to 1024 values below 0.5, in another order
        bool right = true;
        for (int i = 0; i < r.count; i++) {
            float d = r.loop == run_histogram_loop ? ((int *)a)[i] - ((int *)b)[i]
                                                   : a[i] - b[i];
            right = right && fabsf(d) <= 1e-3f;
        }
        printf(
            "%-24s kernel %9.3f ms   loop %9.3f ms   ratio %6.2f%s\n", r.name, kernel,
            loop, kernel / loop, right ? "" : "   the results differ");
        wrong += !right;
        known++;
    }
    if (!known) fprintf(stderr, "cpu_loops: no row %s\n", argv[1]);
    return wrong || !known;
}
