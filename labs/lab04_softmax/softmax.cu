/* softmax.cu - lab 04: softmax of each row, plain and causal. The contract is softmax.h.
 *
 * 04.1  rows that a block can share     04.3  the causal variant
 * 04.2  rows of any length              04.7  every row read once
 */
#include "softmax.h"

#include "rows.cuh"
#include "softmax_long.cuh"  // 04.2

/* --- kernel ------------------------------------------------------------------------- */

/* TODO(04.1, step 2): a kernel for rows that one block can share, in three loops of 2 to
 * 4 lines: the maximum of scale x, the sum of exp(scale x - max), the division. A first
 * version may read x three times. `./grade lab04 -k basic` grades it.
 *
 * In part 04.3 each row has its own number of visible columns: an argument T now saves a
 * kernel later. E is float, wb_f16 or wb_bf16: (float)x converts any E to float, E(y)
 * rounds: round once, at the end. */
template <typename E>
static __global__ void softmax_kernel(E *out, const E *x, int R, int N, float scale)
{
    int row = blockIdx.x;  // [0, R)
    x += (size_t)row * N, out += (size_t)row * N;
}

/* --- launchers ---------------------------------------------------------------------- */

/* Bytes that few long rows need for the stats of their parts */
static size_t forward_workspace(int R, int N)
{
    // TODO(04.2, step 3): the bytes of your partial results. Never less for larger R
    // or N.
    (void)R, (void)N;
    return 0;
}

template <typename E>
static wb_status softmax_forward(
    E *out, const E *x, int R, int N, float scale, void *workspace,
    size_t workspace_bytes, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    if (workspace_bytes < forward_workspace(R, N)) return WB_NO_SPACE;
    if (forward_workspace(R, N) > 0 && !workspace) return WB_BAD_SHAPE;
    // TODO(04.1, step 2): launch softmax_kernel<<<grid, block, 0, s>>>(...), then
    // return wb_launched(). About 3 lines.
    (void)scale, (void)s;
    return WB_TODO;
}

template <typename E>
static wb_status softmax_causal_forward(
    E *out, const E *x, int R, int T, int S, float scale, cudaStream_t s)
{
    if (R < 0 || T < 1 || S < T || R % T != 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    // TODO(04.3): row r sees the columns j <= S-T + r%T. Do not even read the others:
    // NaN times 0 is NaN. Write exact zeros there. About 15 lines.
    (void)scale, (void)s;
    return WB_TODO;
}

/* The functions of softmax.h */
#define DEFINE(E, e)                                                                     \
    wb_status softmax_forward_##e(                                                       \
        E *out, const E *x, int R, int N, float scale, void *workspace,                  \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        return softmax_forward(out, x, R, N, scale, workspace, workspace_bytes, stream); \
    }                                                                                    \
    size_t softmax_forward_workspace_##e(int R, int N)                                   \
    {                                                                                    \
        return forward_workspace(R, N);                                                  \
    }                                                                                    \
    wb_status softmax_causal_forward_##e(                                                \
        E *out, const E *x, int R, int T, int S, float scale, cudaStream_t stream)       \
    {                                                                                    \
        return softmax_causal_forward(out, x, R, T, S, scale, stream);                   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
