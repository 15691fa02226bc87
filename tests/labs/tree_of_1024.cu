// tree_of_1024.cu - the backward pass of lab 03, right and slow: blocks of 1024 threads
// add in a tree, with a barrier after each step, and most have nothing to add.
#include "rmsnorm.h"

constexpr int THREADS = 1024;

static __device__ float block_sum(float v)
{
    __shared__ float part[THREADS];
    part[threadIdx.x] = v;
    __syncthreads();  // all terms are in part
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();  // this step is done
    }
    v = part[0];
    __syncthreads();  // all threads have read the sum
    return v;
}

static __global__ void dx_row(
    float *dx, const float *dout, const float *x, const float *w, const float *rstd,
    const float *dres, int C, float offset)
{
    size_t start = (size_t)blockIdx.x * C;
    float ux = 0.0f, r = rstd[blockIdx.x];
    for (int c = threadIdx.x; c < C; c += THREADS)
        ux += dout[start + c] * (offset + w[c]) * x[start + c];
    float mean = r * (block_sum(ux) / C);
    for (int c = threadIdx.x; c < C; c += THREADS) {
        float u = dout[start + c] * (offset + w[c]);
        dx[start + c] =
            (dres ? dres[start + c] : 0.0f) + r * (u - x[start + c] * r * mean);
    }
}

static __global__ void
dw_column(float *dw, const float *dout, const float *x, const float *rstd, int R, int C)
{
    float sum = 0.0f;
    for (int row = threadIdx.x; row < R; row += THREADS) {
        size_t at = (size_t)row * C + blockIdx.x;
        sum += dout[at] * (x[at] * rstd[row]);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) dw[blockIdx.x] += sum;
}

wb_status rmsnorm_backward_f32(
    float *dx, float *dw, const float *dout, const float *x, const float *w,
    const float *rstd, const float *dres, int R, int C, float offset, void *, size_t,
    cudaStream_t stream)
{
    if (R == 0) return WB_OK;
    dw_column<<<C, THREADS, 0, stream>>>(dw, dout, x, rstd, R, C);  // dx may be dout
    dx_row<<<R, THREADS, 0, stream>>>(dx, dout, x, w, rstd, dres, C, offset);
    return wb_launched();
}

size_t rmsnorm_backward_workspace_f32(int, int)
{
    return 0;
}
