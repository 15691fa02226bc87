/* swiglu.cu - lab 01: gated activations. swiglu.h is the specification.
 *
 * Both activations are z s(g(z)) with the logistic sigmoid s: SiLU has g(z) = z, and since
 * (1 + tanh(u)) / 2 = s(2u), the tanh form of GELU has g(z) = 2k (z + 0.044715 z^3). So one
 * forward and one backward kernel serve all functions:
 *     act(z) = z s        act'(z) = s (1 + z g'(z) (1 - s))        with s = s(g(z))
 *
 * Nothing is summed and every element is read once: memory is the only limit. A thread owns
 * PER_THREAD elements and asks for all of them before it uses the first.
 */
#include "swiglu.h"

typedef enum activation { SILU, GELU_TANH } activation;

/* TODO(01.1): a kernel that gives each element of out to one thread:
 * out = z s(z) up. Think about exp(-z) for z = -100. About 10 lines.
 *
 * Part 01.2 asks for ld, the distance between two rows of gate and of up: start with it.
 * Part 01.5 asks for E = wb_f16 and wb_bf16: convert to float, compute, round once. */
template <typename E>
__global__ void forward_kernel(E *out, const E *gate, const E *up, int R, int F, int ld)
{
}

/* TODO(01.4): GeGLU. Its activation can be written as z s(g(z)) too, see the guide: which
 * g? Then the kernels of 01.1 and 01.3 need little more than a template parameter. Keep
 * z^3 from overflowing: the result for z = 1e20 is 1e20, not NaN. About 20 lines. */

template <activation A, typename E>
static wb_status
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    // TODO(01.1): launch forward_kernel<<<grid, block, 0, stream>>>(...), then
    // return wb_launched(). About 4 lines.
    (void)stream;
    return WB_TODO;
}

/* TODO(01.3): a kernel that gives each column of dgate and dup to one thread:
 *     dgate = dout up s(z) (1 + z (1 - s(z)))      dup = dout z s(z)
 * dgate may be gate and dup may be up: read all three before you write. About 15 lines. */

template <activation A, typename E>
static wb_status backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!dgate || !dup || !dout || !gate || !up) return WB_BAD_SHAPE;
    // TODO(01.3): launch the backward kernel. About 4 lines.
    (void)stream;
    return WB_TODO;
}

/* the functions of swiglu.h */
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
