/* rmsnorm_backward.cu - lab 03: RMSNorm backward. The contract is rmsnorm.h.
 *
 * 03.3  dx: one sum per row
 * 03.4  dw: one sum per column
 * 03.5  every row read once
 */
#include "rmsnorm.h"

#include "backward_rows.cuh"  // 03.5
#include "cuda/device.cuh"
#include "cuda/fold.cuh"
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

constexpr int SUM_COLUMNS = 8;  // of a block: 8 floats are one sector of 32 bytes
constexpr int MAX_SLICES = 32;  // threads that share a column of partial sums

/* dw += the sum of P partial rows. 8 threads read 8 neighbouring columns, and blockDim.y
 * such groups share the rows. Small blocks need fewer registers, so they start sooner.
 * The order of the additions is fixed, so equal inputs give equal bits. */
static __global__ void add_partials(float *dw, const float *partial, int P, int C)
{
    __shared__ float part[MAX_SLICES][SUM_COLUMNS];
    int c = blockIdx.x * SUM_COLUMNS + threadIdx.x;  // [0, C)
    float before = 0.0f, sum = 0.0f;
    pdl_wait();                                     // for the partial sums
    if (threadIdx.y == 0 && c < C) before = dw[c];  // loaded together with the sums
    if (c < C) sum = sum_column(partial + c, threadIdx.y, blockDim.y, P, C);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();  // the slices' sums are in part
    if (threadIdx.y || c >= C) return;
#pragma unroll
    for (int s = 1; s < MAX_SLICES; s++)
        if (s < (int)blockDim.y) sum += part[s][threadIdx.x];
    dw[c] = before + sum;
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 03.4 (about 50 lines)
constexpr int COLUMNS_PER_SM = 8192;   // of dw, in the registers of an SM
constexpr int RESIDENT_THREADS = 512;  // of an SM, each with 128 registers
constexpr int MIN_ROWS_PER_GROUP = 4;  // with fewer, the partial sums cost more
constexpr int THREADS_PER_WORKER = 4;  // where they work alone: each has partial sums

/* How many rows of partial sums at most */
static int groups_for(int R, int C)
{
    int most = sm_count() * (C < COLUMNS_PER_SM ? COLUMNS_PER_SM / C : 1);
    int few = (R + MIN_ROWS_PER_GROUP - 1) / MIN_ROWS_PER_GROUP;
    return few < most ? few : most;
}

struct backward_plan {
    dim3 block;  // threads of a group, groups
    int blocks, stages;
    size_t smem;  // bytes
};

/* stages < 2: the rows are too wide for backward_rows. */
static backward_plan plan_backward(int R, int C, int element, int tensors)
{
    int groups = groups_for(R, C), sms = sm_count();
    int warps = (C + WARP * COLUMNS_PER_THREAD - 1) / (WARP * COLUMNS_PER_THREAD);
    int threads = C <= LANES_PER_ROW * COLUMNS_PER_THREAD ? LANES_PER_ROW : warps * WARP;
    int share = (groups + sms - 1) / sms;  // groups of an SM
    int rows = threads > WARP ? 1 : GROUPED_THREADS / threads;
    if (rows > share) rows = share;
    backward_plan p = {};
    for (;; rows = (rows + 1) / 2) {
        size_t row = (size_t)threads * COLUMNS_PER_THREAD * element * rows;
        size_t weights = threads > MAX_THREADS ? row : 0;
        int per_sm = share / rows, room_for = RESIDENT_THREADS / (threads * rows);
        if (per_sm > room_for) per_sm = room_for;
        if (per_sm < 1) per_sm = 1;
        for (; per_sm > 0; per_sm--) {
            size_t room = max_smem_per_block() / per_sm - 2048;  // the driver takes 1 KB
            p.stages = room < weights ? 0 : (int)((room - weights) / (tensors * row));
            if (p.stages > MAX_STAGES) p.stages = MAX_STAGES;
            p.block = dim3(threads, rows);
            p.blocks = groups / rows < per_sm * sms ? groups / rows : per_sm * sms;
            p.smem = p.stages * tensors * row + weights;
            if (p.stages > 1) break;
        }
        if (p.stages > 1 || rows == 1) break;
    }
    size_t sums = rows > 1 ? (size_t)rows * C * sizeof(float) : 0;
    if (p.smem < sums) p.smem = sums;
    return p;
}

template <typename E>
static wb_status launch_backward(
    E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,
    const E *dres, int R, int C, float offset, float *partial, cudaStream_t stream)
{
    constexpr int N = VEC16<E>, V = COLUMNS_PER_THREAD / N;
    constexpr int L = LANES_PER_ROW, G = GROUPED_THREADS;
    int P = groups_for(R, C);
    backward_plan p = plan_backward(R, C, sizeof(E), dres ? 3 : 2);
    int threads = p.block.x;
    row_inputs<E> in = {x, dout, dres, R, C / N};
    if (C % N == 0 && threads <= WIDE_THREADS && p.stages > 1 &&
        is_aligned(16, dx, dout, x, dres, w)) {
        auto kernel = threads == L             ? backward_rows<E, V, L, G>
                      : C <= WARP * 8          ? backward_rows<E, V / 2, WARP, G>
                      : threads == WARP        ? backward_rows<E, V, WARP, G>
                      : threads <= MAX_THREADS ? backward_rows<E, V, 0, MAX_THREADS>
                                               : backward_rows<E, V, 0, WIDE_THREADS>;
        if (waits_are_cheap()) {
            P = p.blocks;
            allow_smem(kernel, p.smem);
            kernel<<<P, p.block, p.smem, stream>>>(
                dx, partial, in, w, rstd, C, 1.0f / C, offset, p.stages);
        } else {
            int most = THREADS_PER_WORKER * sm_count();
            P = P < most ? P : most;
            rows_of_a_thread<<<P, 1, 0, stream>>>(
                dx, partial, in, w, rstd, C, 1.0f / C, offset);
        }
    } else {
        // dw first: dx may be dout
        P = P < 65535 ? P : 65535;  // the limit of gridDim.y
        threads = (C + WARP - 1) / WARP * WARP;
        if (threads > ANY_WIDTH_THREADS) threads = ANY_WIDTH_THREADS;
        dw_any_width<<<dim3((C + threads - 1) / threads, P), threads, 0, stream>>>(
            partial, dout, x, rstd, R, C);
        dx_any_width<<<R, ANY_WIDTH_THREADS, 0, stream>>>(
            dx, dout, x, w, rstd, dres, C, 1.0f / C, offset);
    }
    dim3 slices(SUM_COLUMNS, P < MAX_SLICES ? P : MAX_SLICES);
    int blocks = (C + SUM_COLUMNS - 1) / SUM_COLUMNS;
    launch_pdl(add_partials, blocks, slices, 0, stream, dw, partial, P, C);
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
    return launch_backward(dx, dw, dout, x, w, rstd, dres, R, C, offset, partial, stream);
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
