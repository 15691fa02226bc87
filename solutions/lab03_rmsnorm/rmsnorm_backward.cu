/* rmsnorm_backward.cu - lab 03: RMSNorm backward. The contract is rmsnorm.h.
 *
 * 03.3  dx: one sum per row         03.5  the same in f16 and bf16
 * 03.4  dw: one sum per column      03.6  every row read once
 */
#include "rmsnorm.h"

#include "cuda/device.cuh"
#include "cuda/vec.cuh"
#include "row_sum.cuh"

/* --- kernels ------------------------------------------------------------------------ */

// BEGIN SOLUTION 03.3 (about 10 lines in a first version)
//> /* One warp per row, as in the forward pass. With u = dout (offset + w):
//>  *     dx = dres + rstd (u - x rstd k),   k = rstd mean_c(u x)
//>  * In this form nothing overflows or underflows, however large or small x is. */
//> template <typename E>
//> static __global__ void dx_rows(
//>     E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int C,
//>     float offset)
//> {
//>     int row = blockIdx.x;  // [0, R)
//>     // TODO(03.3): the row's sum of u x (warp_sum), then dx. dres may be NULL. 8 lines.
//> }
/* dx = dres + rstd (u - x rstd k) with u = dout (offset + w), k = rstd mean_c(u x): the
 * header's formula in a form where no factor overflows or underflows, whatever x is. */
static __device__ float dx_of(float dres, float u, float x, float r, float k)
{
    return dres + r * (u - x * r * k);
}

/* Stores the block's row of partial sums. If the block has several groups, they add their
 * sums first, one after the other, so that the order is always the same. */
template <int VECS, int N, int THREADS>
static __device__ void store_partial(float *partial, const float (&dw)[VECS][N], int C)
{
    __shared__ float total[THREADS ? VECS * THREADS * N : 1];
    for (int g = 0; g < (int)blockDim.y; g++) {
        bool last = g == (int)blockDim.y - 1;
        if ((int)threadIdx.y == g)
#pragma unroll
            for (int k = 0; k < VECS; k++)
                for (int j = 0; j < N; j++) {
                    int c = (threadIdx.x + k * blockDim.x) * N + j;
                    if (c >= C) continue;
                    float sum = g ? total[c] + dw[k][j] : dw[k][j];
                    if (last)
                        partial[c] = sum;
                    else
                        total[c] = sum;
                }
        if (!last) __syncthreads();  // this group's sums are in total
    }
}

/* dx and the partial sums of dw in one pass over dout and x. A group (LANES_PER_ROW
 * lanes, a warp, or for wide rows a block: THREADS = 0) takes the rows g, g + groups, ...
 * The columns of a thread stay the same, so its part of dw stays in registers; at the end
 * each block writes one row of `partial`. The next row is loaded before this row is
 * processed, so that memory never waits for the sum. */
template <typename E, int VECS, int THREADS>
static __global__ void
__launch_bounds__(THREADS ? WARPS_PER_BLOCK * THREADS : MAX_THREADS) backward_rows(
    E *dx, float *partial, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float inv_C, float offset)
{
    __shared__ float part[2][MAX_THREADS / WARP];
    constexpr int N = VEC16<E>;
    int group = blockIdx.x * blockDim.y + threadIdx.y, groups = gridDim.x * blockDim.y;
    int vecs = C / N, first = threadIdx.x, step = THREADS ? THREADS : blockDim.x;
    vec<E, N> f[VECS], a[VECS], d[VECS], next_a[VECS], next_d[VECS];
    float dw[VECS][N] = {};
    // a group's lanes wait only for each other: another group may have one row less
    constexpr int L = LANES_PER_ROW;
    unsigned lanes = ((1u << L) - 1) << threadIdx.y % (WARP / L) * L;

#pragma unroll
    for (int k = 0; k < VECS; k++) {
        int i = first + k * step;
        if (i >= vecs) continue;
        f[k] = load_vec<N>(w, i);
        if (group >= R) continue;
        a[k] = load_vec<N>(x, (size_t)group * vecs + i);
        d[k] = load_vec<N>(dout, (size_t)group * vecs + i);
    }
    for (int row = group, odd = 0; row < R; row += groups, odd ^= 1) {
        size_t at = (size_t)row * vecs + first, next = at + (size_t)groups * vecs;
        float ux = 0.0f, r = rstd[row];
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (first + k * step >= vecs || row + groups >= R) continue;
            next_a[k] = load_vec<N>(x, next + k * step);
            next_d[k] = load_vec<N>(dout, next + k * step);
        }
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (first + k * step >= vecs) continue;
            for (int j = 0; j < N; j++)
                ux += (float)d[k][j] * (offset + (float)f[k][j]) * (float)a[k][j];
        }
        float mean = r * (row_sum<THREADS>(ux, part[odd], lanes) * inv_C);
#pragma unroll
        for (int k = 0; k < VECS; k++) {
            if (first + k * step >= vecs) continue;
            vec<E, N> through = {};
            if (dres) through = load_vec<N>(dres, at + k * step);
            for (int j = 0; j < N; j++) {
                float xj = (float)a[k][j], dj = (float)d[k][j];
                float u = dj * (offset + (float)f[k][j]);
                dw[k][j] += dj * (xj * r);
                d[k][j] = (E)dx_of((float)through[j], u, xj, r, mean);
            }
            store_vec(dx, at + k * step, d[k]);
            a[k] = next_a[k];
            d[k] = next_d[k];
        }
    }
    store_partial<VECS, N, THREADS>(partial + (size_t)blockIdx.x * C, dw, C);
}

/* Any width, dx only: one block per row reads it twice. */
template <typename E>
static __global__ void __launch_bounds__(ANY_WIDTH_THREADS) dx_any_width(
    E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int C,
    float inv_C, float offset)
{
    __shared__ float part[WARP];
    size_t start = (size_t)blockIdx.x * C;
    float ux = 0.0f;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        ux += (float)dout[start + c] * (offset + (float)w[c]) * (float)x[start + c];
    float r = rstd[blockIdx.x], mean = r * (row_sum<ANY_WIDTH_THREADS>(ux, part) * inv_C);
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float u = (float)dout[start + c] * (offset + (float)w[c]);
        float through = dres ? (float)dres[start + c] : 0.0f;
        dx[start + c] = (E)dx_of(through, u, (float)x[start + c], r, mean);
    }
}
// END SOLUTION

// BEGIN SOLUTION 03.4 (about 12 lines in a first version)
//> /* dw needs a sum down the columns, over rows that different blocks own. Atomics would add
//>  * in a different order each time and change the last bits. So each block sums some rows
//>  * into a row of its own in the workspace, and a second kernel adds those rows. */
//> template <typename E>
//> static __global__ void dw_partial(
//>     float *partial, const E *dout, const E *x, const float *rstd, int R, int C)
//> {
//>     int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C): column
//>     if (c >= C) return;
//>     // TODO(03.4): sum dout x rstd over the rows blockIdx.y, blockIdx.y + gridDim.y, ...
//>     // into partial[blockIdx.y * C + c]. About 5 lines.
//> }
//>
//> static __global__ void add_partials(float *dw, const float *partial, int P, int C)
//> {
//>     // TODO(03.4): dw[c] += the sum of the P partial rows, in a fixed order. 5 lines.
//> }
/* Any width, dw only: one thread per column, share blockIdx.y of gridDim.y of the rows */
template <typename E>
static __global__ void
dw_any_width(float *partial, const E *dout, const E *x, const float *rstd, int R, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= C) return;
    float dw = 0.0f;
    for (int row = blockIdx.y; row < R; row += gridDim.y)
        dw += (float)dout[(size_t)row * C + c] *
              ((float)x[(size_t)row * C + c] * rstd[row]);
    partial[(size_t)blockIdx.y * C + c] = dw;
}

constexpr int MAX_SLICES = 32;  // threads that share a column of partial sums

/* dw += the sum of P partial rows. A warp reads 32 neighbouring columns, and blockDim.y
 * warps share the rows. The order is fixed, so equal inputs give equal bits. */
static __global__ void add_partials(float *dw, const float *partial, int P, int C)
{
    __shared__ float part[MAX_SLICES][WARP];
    int c = blockIdx.x * WARP + threadIdx.x;  // [0, C)
    float sum = 0.0f;
    if (c < C)
#pragma unroll 4
        for (int p = threadIdx.y; p < P; p += blockDim.y)
            sum += partial[(size_t)p * C + c];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();  // the slices' sums are in part
    if (threadIdx.y || c >= C) return;
    for (int s = 1; s < (int)blockDim.y; s++)
        sum += part[s][threadIdx.x];
    dw[c] += sum;
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 03.4 (about 50 lines)
constexpr int COLUMNS_PER_SM = 8192;   // of dw, in the registers of an SM
constexpr int MIN_ROWS_PER_GROUP = 4;  // with fewer, the partial sums cost more

/* How many rows of partial sums: one per group of threads */
static int groups_for(int R, int C)
{
    int most = sm_count() * (C < COLUMNS_PER_SM ? COLUMNS_PER_SM / C : 1);
    int few = (R + MIN_ROWS_PER_GROUP - 1) / MIN_ROWS_PER_GROUP;
    return few < most ? few : most;
}

template <typename E>
static wb_status launch_backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    constexpr int N = VEC16<E>, V = 16 / N;  // 16 columns per thread
    constexpr int L = LANES_PER_ROW;
    int P = groups_for(R, C);
    if (C % N == 0 && C <= COLUMNS_PER_SM && is_aligned(16, dx, dout, x, dres, w)) {
        auto kernel = C <= L * 16      ? backward_rows<E, V, L>
                      : C <= WARP * 8  ? backward_rows<E, V / 2, WARP>
                      : C <= WARP * 16 ? backward_rows<E, V, WARP>
                                       : backward_rows<E, V, 0>;
        dim3 block(C <= L * 16 ? L : (C + WARP * 16 - 1) / (WARP * 16) * WARP);
        if (block.x <= WARP) {  // several groups per block, but no more than P
            block.y = P < WARPS_PER_BLOCK ? P : WARPS_PER_BLOCK;
            P /= block.y;
        }
        kernel<<<P, block, 0, stream>>>(
            dx, partial, dout, x, w, rstd, dres, R, C, 1.0f / C, offset);
    } else {  // dw first: dx may be dout
        P = P < 65535 ? P : 65535;  // the limit of gridDim.y
        int threads = (C + WARP - 1) / WARP * WARP;
        if (threads > ANY_WIDTH_THREADS) threads = ANY_WIDTH_THREADS;
        dw_any_width<<<dim3((C + threads - 1) / threads, P), threads, 0, stream>>>(
            partial, dout, x, rstd, R, C);
        dx_any_width<<<R, ANY_WIDTH_THREADS, 0, stream>>>(
            dx, dout, x, w, rstd, dres, C, 1.0f / C, offset);
    }
    dim3 slices(WARP, P < MAX_SLICES ? P : MAX_SLICES);
    add_partials<<<(C + WARP - 1) / WARP, slices, 0, stream>>>(dw, partial, P, C);
    return wb_launched();
}
// END SOLUTION

/* Bytes of partial sums: the workspace of backward, the same for every element type */
static size_t backward_workspace(int R, int C)
{
    // BEGIN SOLUTION 03.4 (1 line in a first version)
    //> // TODO(03.4): a row of C floats for each block that sums rows; never less for
    //> // larger R or C. Until dw is written, 0 is correct.
    //> return 0;
    // An upper bound of groups_for(R, C) * C floats. It never falls as R or C grows; the
    // product itself does where COLUMNS_PER_SM / C is rounded down.
    if (R < 1 || C < 1) return 0;
    size_t few = (size_t)(R + MIN_ROWS_PER_GROUP - 1) / MIN_ROWS_PER_GROUP * C;
    size_t most = (size_t)sm_count() * (C < COLUMNS_PER_SM ? COLUMNS_PER_SM : C);
    return (few < most ? few : most) * sizeof(float);
    // END SOLUTION
}

template <typename E>
static wb_status backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, void *workspace, size_t workspace_bytes,
    cudaStream_t stream)
{
    if (R < 0 || C < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!dx || !dw || !dout || !x || !w || !rstd) return WB_BAD_SHAPE;
    if (workspace_bytes < backward_workspace(R, C)) return WB_NO_SPACE;
    float *partial = (float *)workspace;
    // BEGIN SOLUTION 03.3 (about 6 lines, 03.4 included)
    //> // TODO(03.4): launch dw_partial and add_partials here: dx may be dout, so dw_partial
    //> // must read dout before dx is written. Until then only 03.3 can pass.
    //> // TODO(03.3): launch dx_rows, then return wb_launched().
    //> (void)partial, (void)add_partials;
    //> return WB_TODO;
    return launch_backward(
        dx, dw, dout, x, w, rstd, dres, R, C, offset, partial, stream);
    // END SOLUTION
}

/* The functions of rmsnorm.h */
#define DEFINE(E, e)                                                                     \
    wb_status rmsnorm_backward_##e(                                                      \
        E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,      \
        const E *dres, int R, int C, float offset, void *workspace,                      \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        return backward<E>(                                                              \
            dx, dw, dout, x, w, rstd, dres, R, C, offset, workspace, workspace_bytes,    \
            stream);                                                                     \
    }                                                                                    \
    size_t rmsnorm_backward_workspace_##e(int R, int C)                                  \
    {                                                                                    \
        return backward_workspace(R, C);                                                 \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
