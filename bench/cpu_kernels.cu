// cpu_kernels.cu - typical kernels on the CPU back end, and its overheads.
//
//   cpu_kernels            the names of all kernels
//   cpu_kernels NAME [N]   the best of N runs (default 5), in ms or ns, and a checksum
//
// `make bench-cpu` runs all of them. PROTOTYPE=DIR also runs them on another back end.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vector>

using namespace nvcuda;

/* --- element by element ------------------------------------------------------------- */

// x [n]: gate * sigmoid(gate) * up
__global__ void swiglu(float *out, const float *gate, const float *up, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

__device__ float silu(float x)
{
    return x / (1.0f + expf(-x));
}

__global__ void swiglu_float4(float4 *out, const float4 *gate, const float4 *up, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 g = gate[i], u = up[i];
    out[i] =
        make_float4(silu(g.x) * u.x, silu(g.y) * u.y, silu(g.z) * u.z, silu(g.w) * u.w);
}

__global__ void axpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

/* --- rows --------------------------------------------------------------------------- */

// One block per row. Each barrier halves the number of partial sums in shared memory.
__global__ void rmsnorm_tree(float *out, const float *x, const float *w, int C)
{
    __shared__ float sum[256];
    const float *xr = x + (size_t)blockIdx.x * C;
    float s = 0;
    for (int c = threadIdx.x; c < C; c += 256)
        s += xr[c] * xr[c];
    sum[threadIdx.x] = s;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
        __syncthreads();
    }
    float r = rsqrtf(sum[0] / C + 1e-5f);
    for (int c = threadIdx.x; c < C; c += 256)
        out[(size_t)blockIdx.x * C + c] = xr[c] * r * w[c];
}

__device__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}
__device__ float warp_max(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}

__global__ void rmsnorm_shuffle(float *out, const float *x, const float *w, int C)
{
    __shared__ float sum[8];
    const float *xr = x + (size_t)blockIdx.x * C;
    float s = 0;
    for (int c = threadIdx.x; c < C; c += 256)
        s += xr[c] * xr[c];
    s = warp_sum(s);
    if (threadIdx.x % 32 == 0) sum[threadIdx.x / 32] = s;
    __syncthreads();
    s = warp_sum(threadIdx.x % 32 < 8 ? sum[threadIdx.x % 32] : 0);
    float r = rsqrtf(s / C + 1e-5f);
    for (int c = threadIdx.x; c < C; c += 256)
        out[(size_t)blockIdx.x * C + c] = xr[c] * r * w[c];
}

// One warp per row.
__global__ void softmax_warp(float *out, const float *x, int C)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *xr = x + (size_t)row * C;
    float *yr = out + (size_t)row * C;
    float m = -INFINITY, s = 0;
    for (int c = lane; c < C; c += 32)
        m = fmaxf(m, xr[c]);
    m = warp_max(m);
    for (int c = lane; c < C; c += 32)
        s += yr[c] = expf(xr[c] - m);
    s = 1.0f / warp_sum(s);
    for (int c = lane; c < C; c += 32)
        yr[c] *= s;
}

/* --- GEMM, n x n -------------------------------------------------------------------- */

__global__ void matmul_naive(float *c, const float *a, const float *b, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y,
        col = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[row * n + k] * b[k * n + col];
    c[row * n + col] = s;
}

template <int T>
__global__ void matmul_tiled(float *c, const float *a, const float *b, int n)
{
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float s = 0;
    for (int k0 = 0; k0 < n; k0 += T) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < T; k++)
            s += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = s;
}

// A block computes 64 x 64 elements of c, a thread 8 x 8.
__global__ void matmul_register(float *c, const float *a, const float *b, int n)
{
    __shared__ float as[8][64], bs[8][64];
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8, row0 = blockIdx.y * 64,
        col0 = blockIdx.x * 64;
    float acc[8][8] = {};
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int i = threadIdx.x; i < 512; i += 64) {
            as[i % 8][i / 8] = a[(row0 + i / 8) * n + k0 + i % 8];
            bs[i / 64][i % 64] = b[(k0 + i / 64) * n + col0 + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 8; k++)
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++)
                    acc[i][j] += as[k][ty * 8 + i] * bs[k][tx * 8 + j];
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            c[(row0 + ty * 8 + i) * n + col0 + tx * 8 + j] = acc[i][j];
}

/* --- causal attention with tensor cores: one warp per 16 queries of a head, D = 64 -- */

__global__ void attention_wmma(
    float *out, const half *q, const half *k, const half *v, int T, float scale)
{
    enum { D = 64 };
    __shared__ float scores[16][16], acc[16][D], m[16], l[16];
    __shared__ half p[16][16];
    int lane = threadIdx.x, q0 = blockIdx.x * 16;
    size_t head = (size_t)blockIdx.y * T * D;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fq[D / 16], fp;
    for (int d = 0; d < D / 16; d++)
        wmma::load_matrix_sync(fq[d], q + head + q0 * D + d * 16, D);
    for (int i = lane; i < 16 * D; i += 32)
        acc[i / D][i % D] = 0;
    if (lane < 16) m[lane] = -INFINITY, l[lane] = 0;
    for (int k0 = 0; k0 <= q0; k0 += 16) {
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> fs, fo;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fk;
        wmma::fill_fragment(fs, 0.0f);
        for (int d = 0; d < D / 16; d++) {
            wmma::load_matrix_sync(fk, k + head + k0 * D + d * 16, D);
            wmma::mma_sync(fs, fq[d], fk, fs);
        }
        wmma::store_matrix_sync(&scores[0][0], fs, 16, wmma::mem_row_major);
        __syncwarp();
        if (lane < 16) {
            float top = m[lane], sum = 0;
            int last = q0 + lane - k0 < 15 ? q0 + lane - k0 : 15;
            for (int j = 0; j <= last; j++)
                top = fmaxf(top, scores[lane][j] * scale);
            for (int j = 0; j < 16; j++) {
                float e = j <= last ? expf(scores[lane][j] * scale - top) : 0;
                p[lane][j] = __float2half(e);
                sum += e;
            }
            float old = expf(m[lane] - top);
            l[lane] = l[lane] * old + sum;
            for (int d = 0; d < D; d++)
                acc[lane][d] *= old;
            m[lane] = top;
        }
        __syncwarp();
        wmma::load_matrix_sync(fp, &p[0][0], 16);
        for (int d = 0; d < D / 16; d++) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fv;
            wmma::load_matrix_sync(fv, v + head + k0 * D + d * 16, D);
            wmma::load_matrix_sync(fo, &acc[0][d * 16], D, wmma::mem_row_major);
            wmma::mma_sync(fo, fp, fv, fo);
            wmma::store_matrix_sync(&acc[0][d * 16], fo, D, wmma::mem_row_major);
        }
        __syncwarp();
    }
    for (int i = lane; i < 16 * D; i += 32)
        out[head + (q0 + i / D) * D + i % D] = acc[i / D][i % D] / l[i / D];
}

/* --- recurrence h[t] = a[t] h[t-1] + x[t], a and x (T,C) ---------------------------- */

__global__ void rglru_serial(float *h, const float *a, const float *x, int T, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    float s = 0;
    for (int t = 0; t < T; t++)
        h[t * C + c] = s = a[t * C + c] * s + x[t * C + c];
}

// One warp per channel scans the pairs (a, x) of 32 time steps in parallel.
__global__ void rglru_scan(float *h, const float *a, const float *x, int T, int C)
{
    int c = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    float carry = 0;
    for (int t0 = 0; t0 < T; t0 += 32) {
        float p = a[(t0 + lane) * C + c], s = x[(t0 + lane) * C + c];
        for (int o = 1; o < 32; o *= 2) {
            float po = __shfl_up_sync(0xffffffffu, p, o),
                  so = __shfl_up_sync(0xffffffffu, s, o);
            if (lane >= o) s += p * so, p *= po;
        }
        s += p * carry;
        h[(t0 + lane) * C + c] = s;
        carry = __shfl_sync(0xffffffffu, s, 31);
    }
}

/* --- overheads ---------------------------------------------------------------------- */

__global__ void empty() {}
__global__ void thread_cost(int *out)
{
    out[threadIdx.x] = threadIdx.x;
}
// In do-loops, so that the threads do not run as loops: what a wait of a fiber costs
__global__ void sync_cost(float *out, int n)
{
    do
        __syncthreads();
    while (--n > 0);
    if (threadIdx.x == 0) out[blockIdx.x] = 1;
}
__global__ void shfl_cost(float *out, int n)
{
    float v = threadIdx.x;
    do
        v += __shfl_sync(0xffffffffu, v, n & 31);
    while (--n > 0);
    out[threadIdx.x] = v * 0;
}
__global__ void atomic_cost(float *out, int n)
{
    for (int i = 0; i < n; i++)
        atomicAdd(out, 1.0f);
}

/* --- measuring ---------------------------------------------------------------------- */

// With one worker this is CPU time: other processes may share the CPU.
static double now()
{
    struct timespec t;
    const char *workers = getenv("WB_THREADS");
    bool one = workers && strcmp(workers, "1") == 0;
    clock_gettime(one ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static float *device_floats(size_t n, unsigned seed)
{
    std::vector<float> h(n);
    for (float &v : h)
        v = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
    float *d = NULL;
    if (cudaMalloc(&d, n * sizeof *d) != cudaSuccess) exit(1);
    cudaMemcpy(d, h.data(), n * sizeof *d, cudaMemcpyHostToDevice);
    return d;
}
static half *device_halves(size_t n, unsigned seed)
{
    std::vector<half> h(n);
    for (half &v : h)
        v = __float2half(
            (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f);
    half *d = NULL;
    if (cudaMalloc(&d, n * sizeof *d) != cudaSuccess) exit(1);
    cudaMemcpy(d, h.data(), n * sizeof *d, cudaMemcpyHostToDevice);
    return d;
}

static const char *const names[] = {
    "swiglu",          "swiglu_float4",   "axpy",           "rmsnorm_tree",
    "rmsnorm_shuffle", "softmax_warp",    "matmul_naive",   "matmul_tiled16",
    "matmul_tiled32",  "matmul_register", "attention_wmma", "rglru_serial",
    "rglru_scan",      "launch_1",        "launch_64",      "thread_cost",
    "sync_cost",       "shfl_cost",       "atomic_cost",
};

static float *x, *y, *z;
static half *hq, *hk, *hv;

// Runs a kernel. Returns how many operations it does, or 0 to time the kernel as a whole.
static double run(int which)
{
    const int N = 1 << 22, R = 1024, C = 4096, M = 512, T = 512;
    dim3 grid16(M / 16, M / 16), grid32(M / 32, M / 32), grid64(M / 64, M / 64);
    switch (which) {
    case 0:
        swiglu<<<N / 256, 256>>>(z, x, y, N);
        break;
    case 1:
        swiglu_float4<<<N / 1024, 256>>>((float4 *)z, (float4 *)x, (float4 *)y, N / 4);
        break;
    case 2:
        axpy<<<N / 256, 256>>>(z, x, 1e-9f, N);
        break;
    case 3:
        rmsnorm_tree<<<R, 256>>>(z, x, y, C);
        break;
    case 4:
        rmsnorm_shuffle<<<R, 256>>>(z, x, y, C);
        break;
    case 5:
        softmax_warp<<<R / 8, 256>>>(z, x, C);
        break;
    case 6:
        matmul_naive<<<grid16, dim3(16, 16)>>>(z, x, y, M);
        break;
    case 7:
        matmul_tiled<16><<<grid16, dim3(16, 16)>>>(z, x, y, M);
        break;
    case 8:
        matmul_tiled<32><<<grid32, dim3(32, 32)>>>(z, x, y, M);
        break;
    case 9:
        matmul_register<<<grid64, 64>>>(z, x, y, M);
        break;
    case 10:
        attention_wmma<<<dim3(256 / 16, 12), 32>>>(z, hq, hk, hv, 256, 0.125f);
        break;
    case 11:
        rglru_serial<<<2560 / 128, 128>>>(z, x, y, T, 2560);
        break;
    case 12:
        rglru_scan<<<2560 / 8, 256>>>(z, x, y, T, 2560);
        break;
    case 13:
        for (int i = 0; i < 10000; i++)
            empty<<<1, 1>>>();
        return 10000;
    case 14:
        for (int i = 0; i < 1000; i++)
            empty<<<64, 1>>>();
        return 1000;
    case 15:
        thread_cost<<<4096, 1024>>>((int *)z);
        return 4096.0 * 1024;
    case 16:
        sync_cost<<<8, 256>>>(z, 1000);
        return 8.0 * 256 * 1000;
    case 17:
        shfl_cost<<<8, 256>>>(z, 1000);
        return 8.0 * 256 * 1000;
    case 18:
        atomic_cost<<<8, 256>>>(z, 1000);
        return 8.0 * 256 * 1000;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int count = (int)(sizeof names / sizeof *names), which = -1;
    for (int i = 0; i < count; i++) {
        if (argc < 2) puts(names[i]);
        if (argc > 1 && strcmp(argv[1], names[i]) == 0) which = i;
    }
    if (argc < 2) return 0;
    if (which < 0) {
        fprintf(
            stderr, "cpu_kernels: no kernel %s; without arguments it prints all names\n",
            argv[1]);
        return 1;
    }
    x = device_floats(1 << 22, 1), y = device_floats(1 << 22, 2),
    z = device_floats(1 << 22, 3);
    hq = device_halves(12 * 256 * 64, 4), hk = device_halves(12 * 256 * 64, 5);
    hv = device_halves(12 * 256 * 64, 6);
    double best = 1e30, operations = 0;
    int runs = argc > 2 ? atoi(argv[2]) : 5;
    for (int i = 0; i <= runs; i++) {  // run 0 is a warm-up
        double start = now();
        operations = run(which);
        cudaDeviceSynchronize();
        double time = now() - start;
        if (i && time < best) best = time;
    }
    if (cudaGetLastError() != cudaSuccess) {
        fprintf(stderr, "cpu_kernels: %s failed\n", argv[1]);
        return 1;
    }
    std::vector<float> h(1 << 20);
    cudaMemcpy(h.data(), z, h.size() * sizeof(float), cudaMemcpyDeviceToHost);
    double sum = 0;
    for (float v : h)
        sum += v;
    printf(
        "%.4f %s %.6g\n", operations ? best * 1e9 / operations : best * 1e3,
        operations ? "ns" : "ms", sum);
    return 0;
}
