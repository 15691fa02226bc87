/* basics.h - lab 00: CUDA for C programmers, in ten parts. Frozen: do not edit.
 *
 *     00.1  hello_f32           each thread writes its number
 *     00.2  add_f32             index and guard
 *     00.3  outer_f32           two dimensions
 *     00.4  saxpy_f32           more elements than threads: a grid-stride loop
 *     00.5  scale_f32           host code: allocate, copy, launch, check, free
 *     00.6  scale_rows_f32      coalesced accesses
 *     00.7  reverse_f32         shared memory and a barrier
 *           transpose_f32       a tile in shared memory
 *     00.8  sum_rows_f32        a block computes a sum
 *     00.9  sum_rows_warp_f32   a warp computes a sum
 *     00.10 smooth_f32          a kernel with two mistakes, for you to find
 *
 * Arrays are row-major: element (r,c) of an array (R,C) is x[r*C + c]. An argument host_x is
 * in host memory, every other array in device memory. All functions except scale_f32
 * are launchers: they only enqueue a kernel on the stream.
 *
 * Limits      any N, R, C >= 0; for outer and transpose R <= 500,000, because a grid has
 *             at most 65,535 blocks in y. R*C may exceed 2^31. If an output is empty, the
 *             function returns WB_OK and launches nothing: a grid of 0 blocks is an
 *             error.
 * Errors      WB_BAD_SHAPE: a negative size. WB_BAD_CUDA: a CUDA call or a launch failed.
 * Tolerance   hello, reverse, transpose: exact. Others: c = 2; sums: n = C, M = sum |x|.
 */
#ifndef BASICS_H
#define BASICS_H
#include "wb.h"
#ifdef __cplusplus
extern "C" {
#endif

/* 00.1  Thread t of block b writes 10000 b + t: thread 17 of block 3 writes 30017.
 * blocks < 1600, threads <= 1000. */
wb_status hello_f32(
    float *out,  // out (blocks,threads)
    int blocks, int threads, cudaStream_t stream);

/* 00.2  out[i] = a[i] + b[i] */
wb_status add_f32(
    float *out,      // out (N)
    const float *a,  // in  (N)
    const float *b,  // in  (N)
    int N, cudaStream_t stream);

/* 00.3  out[r,c] = a[r] * b[c] */
wb_status outer_f32(
    float *out,      // out (R,C)
    const float *a,  // in  (R)
    const float *b,  // in  (C)
    int R, int C, cudaStream_t stream);

/* 00.4  y[i] = a * x[i] + y[i], by a grid of `blocks` blocks of `threads` threads, for
 * any N. 1 <= threads <= 1024. */
wb_status saxpy_f32(
    float *y,        // inout (N)
    const float *x,  // in    (N)
    int N, float a, int blocks, int threads, cudaStream_t stream);

/* 00.5  host_out[i] = a * host_x[i], computed on the device, in blocks of `threads` threads.
 * Returns after host_out is written. Frees all device memory that it has allocated, even if
 * a call fails. WB_BAD_CUDA if one fails, for example the launch with threads = 2048. */
wb_status scale_f32(
    float *host_out,      // out (N), host memory
    const float *host_x,  // in  (N), host memory
    int N, float a, int threads);

/* 00.6  out[r,c] = w[r] * x[r,c] */
wb_status scale_rows_f32(
    float *out,      // out (R,C)
    const float *x,  // in  (R,C)
    const float *w,  // in  (R)
    int R, int C, cudaStream_t stream);

/* 00.7  Each group of BASICS_GROUP elements in reverse order; the last group may be
 * shorter: with groups of 4, 0 1 2 3 4 5 becomes 3 2 1 0 5 4. */
#define BASICS_GROUP 256
wb_status reverse_f32(
    float *out,      // out (N)
    const float *x,  // in  (N)
    int N, cudaStream_t stream);

/* 00.7  out[c,r] = x[r,c] */
wb_status transpose_f32(
    float *out,      // out (C,R)
    const float *x,  // in  (R,C)
    int R, int C, cudaStream_t stream);

/* 00.8  out[r] = sum of x[r,c] over c; 0 if C is 0. One block per row. */
wb_status sum_rows_f32(
    float *out,      // out (R)
    const float *x,  // in  (R,C)
    int R, int C, cudaStream_t stream);

/* 00.9  The same, with one warp per row. */
wb_status sum_rows_warp_f32(
    float *out,      // out (R)
    const float *x,  // in  (R,C)
    int R, int C, cudaStream_t stream);

/* 00.10  out[i] = (x[i-1] + x[i] + x[i+1]) / 3; x[-1] and x[N] count as 0. */
wb_status smooth_f32(
    float *out,      // out (N)
    const float *x,  // in  (N)
    int N, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
