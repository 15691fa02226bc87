/* swiglu.cu - lab 01: gated activations. The contract is swiglu.h.
 *
 * 01.1, 01.2  SwiGLU forward          01.4  GeGLU, both directions
 * 01.3        SwiGLU backward         01.5  vectors
 *
 * All of it in float, f16 and bf16: (float)x converts any E to float, E(y) rounds to E.
 */
#include "swiglu.h"

#include "cuda/vec.cuh"

typedef enum activation { SILU, GELU_TANH } activation;

/* --- the activations ---------------------------------------------------------------- */

// A function act<A>(z) for both activations keeps the kernels short (01.1, 01.4).

/* --- kernels ------------------------------------------------------------------------ */

/* One thread for each element of out: R F of them. */
template <activation A, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int R, int F, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, R*F)
    if (i >= (size_t)R * F) return;
    // TODO(01.1): the row and the column of i, and their offset in gate and up. Rows of
    // gate and up start ld elements apart, rows of out F. About 2 lines.
    // TODO(01.1): out[i] = z s(z) u for A == SILU. About 3 lines. (float)x converts any
    // E to float, E(y) rounds: compute in float and round once, at the end.
    // TODO(01.4): the same for A == GELU_TANH.
}

/* One thread for each column of dgate and dup. dgate may be gate, dup may be up. */
template <activation A, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld)
{
    // TODO(01.3): read gate, up and dout, all three before anything is written. About 5
    // lines.
    // TODO(01.3): dgate = dout up s (1 + z (1 - s)) and dup = dout z s. About 4 lines.
    // TODO(01.4): the same for A == GELU_TANH, with the derivative in swiglu.h.
}

/* --- launchers ---------------------------------------------------------------------- */

template <activation A, typename E>
static wb_status
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    // TODO(01.1): forward_kernel<A><<<blocks, threads, 0, stream>>>(...) with enough
    // blocks for R F threads, then return wb_launched(). About 4 lines.
    // TODO(01.4): delete the next line when the kernel computes GELU_TANH.
    if (A == GELU_TANH) return WB_TODO;
    (void)stream;
    return WB_TODO;
}

template <activation A, typename E>
static wb_status backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!dgate || !dup || !dout || !gate || !up) return WB_BAD_SHAPE;
    // TODO(01.3): launch backward_kernel<A>. About 4 lines.
    // TODO(01.4): delete the next line when the kernel computes GELU_TANH.
    if (A == GELU_TANH) return WB_TODO;
    (void)stream;
    return WB_TODO;
}

/* The functions of swiglu.h */
#define DEFINE(name, ACTIVATION, E, e)                                                   \
    wb_status name##_forward_##e(                                                        \
        E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)   \
    {                                                                                    \
        return forward<ACTIVATION>(out, gate, up, R, F, ld, stream);                     \
    }                                                                                    \
    wb_status name##_backward_##e(                                                       \
        E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F,       \
        int ld, cudaStream_t stream)                                                     \
    {                                                                                    \
        return backward<ACTIVATION>(dgate, dup, dout, gate, up, R, F, ld, stream);       \
    }
DEFINE(swiglu, SILU, float, f32)
DEFINE(swiglu, SILU, wb_f16, f16)
DEFINE(swiglu, SILU, wb_bf16, bf16)
DEFINE(geglu, GELU_TANH, float, f32)
DEFINE(geglu, GELU_TANH, wb_f16, f16)
DEFINE(geglu, GELU_TANH, wb_bf16, bf16)
#undef DEFINE
