// openmp_loops.h - the work of cpu_loops.cu as plain loops.
#ifndef OPENMP_LOOPS_H
#define OPENMP_LOOPS_H

#include <math.h>

enum { N = 1 << 22, ROWS = 4096, COLUMNS = 1024, SIDE = 2048, M = 512, T = 512, D = 64 };

void saxpy_loop(float *y, float a, const float *x);  // [N]
void row_sums_loop(float *out, const float *x);      // x [ROWS, COLUMNS], out [ROWS]
void transpose_loop(float *out, const float *x);     // [SIDE, SIDE]
void matmul_loop(float *c, const float *a, const float *b);           // [M, M]
void softmax_loop(float *out, const float *x);                        // [ROWS, COLUMNS]
void histogram_loop(unsigned bins[256], const unsigned char *bytes);  // [N]
void block_scan_loop(float *out, const float *x);           // [N], blocks of 256
void dot_loop(float *out, const float *x, const float *y);  // [N], out [N / 1024]
void attention_loop(
    float *out, const float *q, const float *k, const float *v);  // [T, D]

// out [D] = the attention of the query q [D] to k and v [T, D]
__host__ __device__ static inline void
attend(float *out, const float *q, const float *k, const float *v)
{
    float score[T], most = -INFINITY, sum = 0;
    for (int j = 0; j < T; j++) {
        float s = 0;
        for (int d = 0; d < D; d++)
            s += q[d] * k[j * D + d];
        score[j] = s * 0.125f;
        most = fmaxf(most, score[j]);
    }
    for (int d = 0; d < D; d++)
        out[d] = 0;
    for (int j = 0; j < T; j++) {
        float p = expf(score[j] - most);
        sum += p;
        for (int d = 0; d < D; d++)
            out[d] += p * v[j * D + d];
    }
    for (int d = 0; d < D; d++)
        out[d] /= sum;
}

#endif
