/* naive.cu - a right and plain rmsnorm_forward_f32 that the programs in threats/ spoil. */
#include "rmsnorm.h"
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 128;

/* one block per row */
static __global__ void rows(
    float *out, float *rstd, const float *x, const float *w, int C, float eps, float offset)
{
    __shared__ float part[THREADS];
    int row = blockIdx.x, t = threadIdx.x;
    const float *xr = x + (size_t)row * C;  // (C)
    float squares = 0.0f;
    for (int c = t; c < C; c += THREADS)
        squares += xr[c] * xr[c];
    part[t] = squares;
    __syncthreads();
    for (int n = THREADS / 2; n > 0; n /= 2) {
        if (t < n) part[t] += part[t + n];
        __syncthreads();  // part[0..n) is summed
    }
    float r = 1.0f / sqrtf(part[0] / C + eps);
    if (t == 0 && rstd) rstd[row] = r;
    for (int c = t; c < C; c += THREADS)
        out[(size_t)row * C + c] = xr[c] * r * (offset + w[c]);
}

wb_status rmsnorm_forward_f32(
    float *out, float *rstd, const float *x, const float *w, int R, int C, float eps,
    float offset, cudaStream_t stream)
{
    if (C < 1 || R < 0 || !(eps > 0)) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x || !w) return WB_BAD_SHAPE;
    rows<<<R, THREADS, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
