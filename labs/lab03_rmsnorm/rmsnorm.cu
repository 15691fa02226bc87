/* rmsnorm.cu - lab 03: root-mean-square normalisation. The contract is rmsnorm.h.
 *
 * All the work is memory traffic: a row is read once, stays in registers while its sum is
 * formed, and is written once. Kernels, then launchers, in the order of the parts.
 */
#include "rmsnorm.h"

// --- 03.1 and 03.2: forward ------------------------------------------------------------

/* A block of 32 threads, one warp, per row: thread t looks after the columns t, t + 32,
 * t + 64, ... That is enough to pass; the guide shows the way to a fast kernel. */
template <typename E>
static __global__ void forward_rows(
    E *out, float *rstd, const E *x, const E *w, int C, float eps, float offset)
{
    int row = blockIdx.x;               // [0, R)
    const E *xr = x + (size_t)row * C;  // (C): this row
    E *yr = out + (size_t)row * C;
    float squares = 0.0f;  // always float, whatever E is
    // TODO(03.1): add the squares of this thread's columns. About 3 lines.
    // TODO(03.1): the warp's sum, in every thread: __shfl_xor_sync. About 2 lines.
    // TODO(03.1): rstd; thread 0 stores it unless the pointer is NULL. About 2 lines.
    // TODO(03.1): the outputs of this thread's columns. About 2 lines.
}

template <typename E>
static wb_status forward(
    E *out, float *rstd, const E *x, const E *w, int R, int C, float eps, float offset,
    cudaStream_t stream)
{
    if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x || !w) return WB_BAD_SHAPE;
    // TODO(03.1): launch forward_rows on the stream, then return wb_launched().
    return WB_TODO;
}

template <typename E>
static wb_status residual_forward(
    E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C,
    float eps, float offset, cudaStream_t stream)
{
    if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !sum || !x || !res || !w) return WB_BAD_SHAPE;
    // TODO(03.2): a kernel that first rounds x + res to E and stores it in sum, then
    // normalises what it stored. out may be x and sum may be res: read before writing.
    return WB_TODO;
}

// --- 03.3 and 03.4: backward -----------------------------------------------------------

/* One warp per row, as in the forward pass. With u = dout (offset + w):
 *     dx = dres + rstd (u - x rstd k),   k = rstd mean_c(u x)
 * In this form nothing overflows or vanishes, however large or small x is. */
template <typename E>
static __global__ void dx_rows(
    E *dx, const E *dout, const E *x, const E *w, const float *rstd, const E *dres, int C,
    float offset)
{
    int row = blockIdx.x;  // [0, R)
    // TODO(03.3): the warp's sum of u x, then dx. dres may be NULL. About 8 lines.
}

/* dw needs a sum down the columns, over rows that many blocks hold. Without atomics
 * (their order changes from run to run, and so would the last bits): each block sums
 * some rows into a row of its own in the workspace, a second kernel adds those up. */
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

/* Bytes of partial sums: the workspace of backward, for every element type. */
static size_t backward_workspace(int R, int C)
{
    // TODO(03.4): a row of C floats for each block that sums rows; never less for
    // larger R or C. 0 is right as long as dw is not written.
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
    // TODO(03.4): launch dw_partial and add_partials here: dx may be dout, so dw must
    // have read dout before dx is written. Until then only 03.3 can pass.
    // TODO(03.3): launch dx_rows, then return wb_launched().
    (void)partial, (void)add_partials;
    return WB_TODO;
}

// --- 03.5: the contract's functions in each element type -------------------------------

#define DEFINE(E, e)                                                                     \
    wb_status rmsnorm_forward_##e(                                                       \
        E *out, float *rstd, const E *x, const E *w, int R, int C, float eps,            \
        float offset, cudaStream_t stream)                                               \
    {                                                                                    \
        return forward<E>(out, rstd, x, w, R, C, eps, offset, stream);                   \
    }                                                                                    \
    wb_status rmsnorm_residual_forward_##e(                                              \
        E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C, \
        float eps, float offset, cudaStream_t stream)                                    \
    {                                                                                    \
        return residual_forward<E>(                                                      \
            out, sum, rstd, x, res, w, R, C, eps, offset, stream);                       \
    }                                                                                    \
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
