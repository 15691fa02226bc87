/* cpu_gemm.cu - times cuBLAS GEMMs of the CPU back end for cpu_gemm.py.
 *
 * Reads lines "m n k transa transb batch rounds bits" (column-major, as in cuBLAS) and
 * answers each with the best time of one GEMM in nanoseconds. With bits = 16, A and B are
 * bf16, and batch is 1.
 */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)  // nanoseconds
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static float *filled(size_t n)
{
    float *h_x = (float *)malloc(n * sizeof *h_x), *x = NULL;
    unsigned state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        h_x[i] = (float)(state >> 8) / (1 << 24) - 0.5f;
    }
    cudaMalloc(&x, n * sizeof *x);
    cudaMemcpy(x, h_x, n * sizeof *x, cudaMemcpyHostToDevice);
    free(h_x);
    return x;
}

static __nv_bfloat16 *rounded(const float *x, size_t n)
{
    float *h_x = (float *)malloc(n * sizeof *h_x);
    __nv_bfloat16 *h_y = (__nv_bfloat16 *)malloc(n * sizeof *h_y), *y = NULL;
    cudaMemcpy(h_x, x, n * sizeof *x, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < n; i++)
        h_y[i] = __nv_bfloat16(h_x[i]);
    cudaMalloc(&y, n * sizeof *y);
    cudaMemcpy(y, h_y, n * sizeof *y, cudaMemcpyHostToDevice);
    free(h_x), free(h_y);
    return y;
}

int main(void)
{
    cublasHandle_t h;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) return 1;
    int m, n, k, ta, tb, batch, rounds, bits;
    while (
        scanf("%d %d %d %d %d %d %d %d", &m, &n, &k, &ta, &tb, &batch, &rounds, &bits) ==
        8) {
        float *a = filled((size_t)m * k * batch), *b = filled((size_t)k * n * batch);
        float *c = filled((size_t)m * n * batch);
        __nv_bfloat16 *a16 = NULL, *b16 = NULL;
        if (bits == 16) a16 = rounded(a, (size_t)m * k), b16 = rounded(b, (size_t)k * n);
        const cublasOperation_t op_a = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasOperation_t op_b = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
        const float one = 1, zero = 0;
        double best = 1e30;
        for (int r = 0; r < rounds; r++) {
            double start = now();
            if (bits == 16)
                cublasGemmEx(
                    h, op_a, op_b, m, n, k, &one, a16, CUDA_R_16BF, ta ? k : m, b16,
                    CUDA_R_16BF, tb ? n : k, &zero, c, CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT);
            else
                cublasSgemmStridedBatched(
                    h, op_a, op_b, m, n, k, &one, a, ta ? k : m, (long long)m * k, b,
                    tb ? n : k, (long long)k * n, &zero, c, m, (long long)m * n, batch);
            cudaDeviceSynchronize();
            double time = now() - start;
            if (time < best) best = time;
        }
        printf("%.0f\n", best);
        fflush(stdout);
        cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(a16), cudaFree(b16);
    }
    cublasDestroy(h);
    return 0;
}
