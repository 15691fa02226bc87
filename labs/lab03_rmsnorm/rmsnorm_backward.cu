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

/* One warp per row, as in the forward pass. With u = dout (offset + w):
 *     dx = dres + rstd (u - x rstd k),   k = rstd mean_c(u x)
 * In this form nothing overflows or underflows, however large or small x is. */
template <typename E>
static __global__ void dx_rows(
    E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int C,
    float offset)
{
    int row = blockIdx.x;  // [0, R)
    // TODO(03.3): the row's sum of u x (warp_sum), then dx. dres may be NULL. 8 lines.
}

/* dw needs a sum down the columns, over rows that different blocks own. Atomics would add
 * in a different order each time and change the last bits. So each block sums some rows
 * into a row of its own in the workspace, and a second kernel adds those rows. */
template <typename E>
static __global__ void dw_partial(
    float *partial, const E *dout, const E *x, const float *rstd, int R, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C): column
    if (c >= C) return;
    // TODO(03.4): sum dout x rstd over the rows blockIdx.y, blockIdx.y + gridDim.y, ...
    // into partial[blockIdx.y * C + c]. About 5 lines.
}

static __global__ void add_partials(float *dw, const float *partial, int P, int C)
{
    // TODO(03.4): dw[c] += the sum of the P partial rows, in a fixed order. 5 lines.
}

/* --- launchers ---------------------------------------------------------------------- */

/* Bytes of partial sums: the workspace of backward, the same for every element type */
static size_t backward_workspace(int R, int C)
{
    // TODO(03.4): a row of C floats for each block that sums rows; never less for
    // larger R or C. Until dw is written, 0 is correct.
    return 0;
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
    // TODO(03.4): launch dw_partial and add_partials here: dx may be dout, so dw_partial
    // must read dout before dx is written. Until then only 03.3 can pass.
    // TODO(03.3): launch dx_rows, then return wb_launched().
    (void)partial, (void)add_partials;
    return WB_TODO;
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
