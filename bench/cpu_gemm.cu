/* cpu_gemm.cu - times cuBLAS GEMMs of the CPU back end for cpu_gemm.py.
 *
 * Reads lines "m n k transa transb batch rounds" (column-major, as in cuBLAS) and answers
 * each with the best time of one GEMM in nanoseconds.
 */
#include <cublas_v2.h>
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

int main(void)
{
    cublasHandle_t h;
    if (cublasCreate(&h) != CUBLAS_STATUS_SUCCESS) return 1;
    int m, n, k, ta, tb, batch, rounds;
    while (scanf("%d %d %d %d %d %d %d", &m, &n, &k, &ta, &tb, &batch, &rounds) == 7) {
        float *a = filled((size_t)m * k * batch), *b = filled((size_t)k * n * batch);
        float *c = filled((size_t)m * n * batch);
        const float one = 1, zero = 0;
        double best = 1e30;
        for (int r = 0; r < rounds; r++) {
            double start = now();
            cublasSgemmStridedBatched(
                h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n,
                k, &one, a, ta ? k : m, (long long)m * k, b, tb ? n : k, (long long)k * n,
                &zero, c, m, (long long)m * n, batch);
            cudaDeviceSynchronize();
            double time = now() - start;
            if (time < best) best = time;
        }
        printf("%.0f\n", best);
        fflush(stdout);
        cudaFree(a), cudaFree(b), cudaFree(c);
    }
    cublasDestroy(h);
    return 0;
}
