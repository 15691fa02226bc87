/* rmsnorm.cu - lab 03: RMSNorm forward, alone and with the residual addition before it.
 * The contract is rmsnorm.h.
 *
 * 03.1  forward
 * 03.2  the residual sum and its norm
 * 03.5  every row read once
 *
 * The time goes into memory traffic, not arithmetic. What counts is how often a row is
 * read, and how many bytes are in flight.
 */
#include "rmsnorm.h"

#include "cuda/device.cuh"
#include "cuda/fold.cuh"
#include "cuda/vec.cuh"
#include "row_sum.cuh"

/* --- kernels ------------------------------------------------------------------------ */

/* A block of 32 threads, one warp, per row: thread t owns the columns t, t + 32, t + 64,
 * ... That is enough to pass; the guide shows the way to a fast kernel. */
template <typename E>
static __global__ void forward_rows(
    E *out, float *rstd, const E *x, const E *w, int C, float eps, float offset)
{
    int row = blockIdx.x;               // [0, R)
    const E *xr = x + (size_t)row * C;  // (C): this row
    E *yr = out + (size_t)row * C;
    float squares = 0.0f;  // always float, whatever E is
    // TODO(03.1): add the squares of this thread's columns. About 3 lines.
    // TODO(03.1): the row's sum: warp_sum of row_sum.cuh. About 1 line.
    // TODO(03.1): rstd; thread 0 stores it unless the pointer is NULL. About 2 lines.
    // TODO(03.1): the outputs of this thread's columns. About 2 lines.
}

/* --- launchers ---------------------------------------------------------------------- */

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

/* The functions of rmsnorm.h */
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
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
