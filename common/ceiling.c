/* ceiling.c - see ceiling.h. */
#include "ceiling.h"

#include "cuda_check.h"
#include "machine.h"
#include "ops.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 15, WARM = 3 };

typedef struct work {
    void *to;
    const void *a, *b;
    size_t bytes; /* of a copy */
    int n;        /* side of a matrix */
    wb_blas *blas;
} work;

static void copy(const work *w)
{
    CUDA_CHECK(cudaMemcpyAsync(w->to, w->a, w->bytes, cudaMemcpyDeviceToDevice, NULL));
}

static void gemm_f32(const work *w)
{
    WB_CHECK(matmul_forward_f32(
        w->to, w->a, w->b, NULL, NULL, w->n, w->n, w->n, w->blas, NULL));
}

static void gemm_bf16(const work *w)
{
    WB_CHECK(matmul_forward_bf16(
        w->to, w->a, w->b, NULL, NULL, w->n, w->n, w->n, w->blas, NULL));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double median_seconds(void (*call)(const work *w), const work *w)
{
    double seconds[CALLS];
    cudaEvent_t start, stop;
    CUDA_CHECK(cudaEventCreate(&start));
    CUDA_CHECK(cudaEventCreate(&stop));
    for (int i = -WARM; i < CALLS; i++) {
        float ms;
        CUDA_CHECK(cudaEventRecord(start, NULL));
        call(w);
        CUDA_CHECK(cudaEventRecord(stop, NULL));
        CUDA_CHECK(cudaEventSynchronize(stop));
        CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
        if (i >= 0) seconds[i] = ms * 1e-3;
    }
    CUDA_CHECK(cudaEventDestroy(start));
    CUDA_CHECK(cudaEventDestroy(stop));
    return median_of(seconds, CALLS);
}

// Device memory of this size, zeroed.
static void *zeroed(size_t bytes)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, bytes));
    CUDA_CHECK(cudaMemset(p, 0, bytes));
    return p;
}

double ceiling_copy(void)
{
    size_t bytes = (size_t)1 << (machine_is_gpu() ? 30 : 26);
    void *to = zeroed(bytes), *from = zeroed(bytes);
    const work w = {.to = to, .a = from, .bytes = bytes};
    double seconds = median_seconds(copy, &w);
    CUDA_CHECK(cudaFree(to));
    CUDA_CHECK(cudaFree(from));
    return 2.0 * (double)bytes / seconds;
}

// (n,n) numbers in [-1, 1): a GEMM of zeros needs less power and runs faster.
static void *random_matrix(size_t n, bool bf16, uint64_t seed)
{
    size_t size = bf16 ? 2 : 4, count = n * n;
    char *h = malloc(count * size);
    void *p = zeroed(count * size);
    for (size_t i = 0; h && i < count; i += 4) {
        uint32_t r[4];
        wb_random(r, seed, (uint32_t)i, (uint32_t)(i >> 32), 0, 0);
        for (int k = 0; k < 4; k++) {
            float x = (float)r[k] * 0x1p-31f - 1;
            const char *bits = (const char *)&x + (4 - size);  // bf16: the upper half
            memcpy(h + (i + (size_t)k) * size, bits, size);
        }
    }
    if (h) CUDA_CHECK(cudaMemcpy(p, h, count * size, cudaMemcpyHostToDevice));
    free(h);
    return p;
}

double ceiling_gemm(bool bf16)
{
    int n = machine_is_gpu() ? 8192 : 512;
    void *a = random_matrix((size_t)n, bf16, 1), *b = random_matrix((size_t)n, bf16, 2),
         *to = zeroed((size_t)n * (size_t)n * 4);
    work w = {.to = to, .a = a, .b = b, .n = n};
    WB_CHECK(wb_blas_create(&w.blas));
    double seconds = median_seconds(bf16 ? gemm_bf16 : gemm_f32, &w);
    wb_blas_destroy(w.blas);
    CUDA_CHECK(cudaFree(a));
    CUDA_CHECK(cudaFree(b));
    CUDA_CHECK(cudaFree(to));
    return 2.0 * n * n * n / seconds;
}
