/* 02_warp_per_row.cu - 32 threads share a row and read neighbouring columns.
 *
 * A warp's 32 loads now fill whole 128-byte lines, and every byte is used. 32 times as
 * many threads keep the memory busy. Shuffles add the 32 partial sums, without shared
 * memory or barriers. The second loop over the row finds it in the cache. dw: many blocks
 * share the rows of a column. Each writes a partial sum into a row of its own in the
 * workspace, and a second kernel adds those rows in a fixed order. Atomics would add in a
 * different order each time and change the last bits.
 *
 * What is left: in f16 an access moves only 2 bytes per thread. See 03_vector.cu.
 */
// fails: vectors,block,once,residual_once,back_twice,back_once
#include "rmsnorm.h"

#include "partials.cuh"

constexpr int ROWS_PER_BLOCK = 4;  // one warp each

static __device__ float warp_sum(float v)  // the same in every lane
{
    for (int m = 16; m > 0; m >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, m);
    return v;
}

template <typename E>
static __global__ void forward_rows(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset)
{
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x;
    if (row >= R) return;  // a whole warp
    size_t start = (size_t)row * C;
    float squares = 0.0f;
    for (int c = lane; c < C; c += WARP) {
        E a = x[start + c];
        if (res) sum[start + c] = a = (E)((float)a + (float)res[start + c]);
        squares += (float)a * (float)a;
    }
    float r = 1.0f / sqrtf(warp_sum(squares) / C + eps);
    if (rstd && lane == 0) rstd[row] = r;
    const E *a = res ? sum : x;  // each lane reads only what it wrote
    for (int c = lane; c < C; c += WARP)
        out[start + c] = (E)((float)a[start + c] * r * (offset + (float)w[c]));
}

template <typename E>
static __global__ void dx_rows(
    E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int R,
    int C, float offset)
{
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y, lane = threadIdx.x;
    if (row >= R) return;
    size_t start = (size_t)row * C;
    float ux = 0.0f;
    for (int c = lane; c < C; c += WARP)
        ux += (float)dout[start + c] * (offset + (float)w[c]) * (float)x[start + c];
    float r = rstd[row], mean = r * (warp_sum(ux) / C);
    for (int c = lane; c < C; c += WARP) {
        float u = (float)dout[start + c] * (offset + (float)w[c]);
        float through = dres ? (float)dres[start + c] : 0.0f;
        dx[start + c] = (E)(through + r * (u - (float)x[start + c] * r * mean));
    }
}

template <typename E>
static __global__ void
dw_partial(float *partial, const E *dout, const E *x, const float *rstd, int R, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= C) return;
    float sum = 0.0f;
    for (int row = blockIdx.y; row < R; row += gridDim.y)
        sum += (float)dout[(size_t)row * C + c] *
               ((float)x[(size_t)row * C + c] * rstd[row]);
    partial[(size_t)blockIdx.y * C + c] = sum;
}

template <typename E>
static void forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    int blocks = (R + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    forward_rows<<<blocks, dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
        out, sum, rstd, x, res, w, R, C, eps, offset);
}

template <typename E>
static void backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    int P = shares(R);
    dw_partial<<<dim3((C + 127) / 128, P), 128, 0, stream>>>(
        partial, dout, x, rstd, R, C);
    add_partials<<<(C + 127) / 128, 128, 0, stream>>>(dw, partial, P, C);
    int blocks = (R + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    dx_rows<<<blocks, dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
        dx, dout, x, w, rstd, dres, R, C, offset);
}

#include "contract.h"
