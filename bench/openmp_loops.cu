// openmp_loops.cu - what a C programmer writes in place of the kernels of cpu_loops.cu.
#include "openmp_loops.h"

void saxpy_loop(float *y, float a, const float *x)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        y[i] += a * x[i];
}
void row_sums_loop(float *out, const float *x)
{
#pragma omp parallel for
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int c = 0; c < COLUMNS; c++)
            sum += x[(size_t)r * COLUMNS + c];
        out[r] = sum;
    }
}
void transpose_loop(float *out, const float *x)
{
#pragma omp parallel for
    for (int r = 0; r < SIDE; r += 32)
        for (int c = 0; c < SIDE; c += 32)
            for (int i = c; i < c + 32; i++)
                for (int j = r; j < r + 32; j++)
                    out[(size_t)i * SIDE + j] = x[(size_t)j * SIDE + i];
}
void matmul_loop(float *c, const float *a, const float *b)
{
#pragma omp parallel for
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < M; j++)
            c[i * M + j] = 0;
        for (int k = 0; k < M; k++)
            for (int j = 0; j < M; j++)
                c[i * M + j] += a[i * M + k] * b[k * M + j];
    }
}
void softmax_loop(float *out, const float *x)
{
#pragma omp parallel for
    for (int r = 0; r < ROWS; r++) {
        const float *xr = x + (size_t)r * COLUMNS;
        float *o = out + (size_t)r * COLUMNS, most = -INFINITY, sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            most = fmaxf(most, xr[c]);
        for (int c = 0; c < COLUMNS; c++)
            sum += o[c] = expf(xr[c] - most);
        for (int c = 0; c < COLUMNS; c++)
            o[c] /= sum;
    }
}
void histogram_loop(unsigned bins[256], const unsigned char *bytes)
{
    for (int i = 0; i < 256; i++)
        bins[i] = 0;
#pragma omp parallel for reduction(+ : bins[:256])
    for (int i = 0; i < N; i++)
        bins[bytes[i]]++;
}
void block_scan_loop(float *out, const float *x)
{
#pragma omp parallel for
    for (int b = 0; b < N; b += 256) {
        float sum = 0;
        for (int i = b; i < b + 256; i++)
            out[i] = sum += x[i];
    }
}
void dot_loop(float *out, const float *x, const float *y)
{
#pragma omp parallel for
    for (int b = 0; b < N / 1024; b++) {
        float sum = 0;
        for (int i = b * 1024; i < (b + 1) * 1024; i++)
            sum += x[i] * y[i];
        out[b] = sum;
    }
}
void attention_loop(float *out, const float *q, const float *k, const float *v)
{
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        attend(out + t * D, q + t * D, k, v);
}
