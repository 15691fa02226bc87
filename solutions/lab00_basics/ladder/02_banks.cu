/* 02_banks.cu - shared memory, without regard to its banks.
 *
 * Lesson: every access to device memory is coalesced now. What remains are bank
 * conflicts: a column of a tile of 32 x 32 lies in one bank, and so do partial sums that are 32
 * apart.
 */
// fails: tile_banks,sum_banks
#include "basics.h"

constexpr int THREADS = 256, TILE = 32;

static __global__ void transpose_kernel(float *out, const float *x, int R, int C)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[(size_t)r * C + c];
    __syncthreads();  // the tile is loaded
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
    if (r < R && c < C) out[(size_t)c * R + r] = tile[threadIdx.x][threadIdx.y];
}

/* The tree with growing distances: threads 0, 1, 2, ... add s[0], s[2 d], s[4 d], ... */
static __global__ void sum_rows_kernel(float *out, const float *x, int C)
{
    __shared__ float s[THREADS];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int c = t; c < C; c += THREADS)
        sum += x[(size_t)blockIdx.x * C + c];
    s[t] = sum;
    for (int d = 1; d < THREADS; d *= 2) {
        __syncthreads();  // s is written
        int i = 2 * d * t;
        if (i < THREADS) s[i] += s[i + d];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

wb_status transpose_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    dim3 grid((C + TILE - 1) / TILE, (R + TILE - 1) / TILE);
    transpose_kernel<<<grid, dim3(TILE, TILE), 0, stream>>>(out, x, R, C);
    return wb_launched();
}

wb_status sum_rows_f32(float *out, const float *x, int R, int C, cudaStream_t stream)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    sum_rows_kernel<<<R, THREADS, 0, stream>>>(out, x, C);
    return wb_launched();
}
