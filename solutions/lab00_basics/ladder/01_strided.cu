/* 01_strided.cu - one thread per row; columns written from rows.
 *
 * Lesson: the results are right, but neighbouring threads access elements that are a row
 * apart. Each of the 32 elements of a request lies in a sector of its own.
 */
// fails: rows_sectors,tile_sectors
#include "basics.h"

constexpr int THREADS = 256;

static __global__ void
scale_rows_kernel(float *out, const float *x, const float *w, int R, int C)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= R) return;
    for (int c = 0; c < C; c++)
        out[(size_t)r * C + c] = w[r] * x[(size_t)r * C + c];
}

/* Reads along a row of x, which is a column of out. */
static __global__ void transpose_kernel(float *out, const float *x, int R, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < R && c < C) out[(size_t)c * R + r] = x[(size_t)r * C + c];
}

static __global__ void sum_rows_kernel(float *out, const float *x, int R, int C)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= R) return;
    float sum = 0.0f;
    for (int c = 0; c < C; c++)
        sum += x[(size_t)r * C + c];
    out[r] = sum;
}

wb_status scale_rows_f32(
    float *out, const float *x, const float *w, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    int blocks = (R + THREADS - 1) / THREADS;
    scale_rows_kernel<<<blocks, THREADS, 0, stream>>>(out, x, w, R, C);
    return wb_launched();
}

wb_status transpose_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    dim3 block(32, 8), grid((C + 31) / 32, (R + 7) / 8);
    transpose_kernel<<<grid, block, 0, stream>>>(out, x, R, C);
    return wb_launched();
}

wb_status sum_rows_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    int blocks = (R + THREADS - 1) / THREADS;
    sum_rows_kernel<<<blocks, THREADS, 0, stream>>>(out, x, R, C);
    return wb_launched();
}
