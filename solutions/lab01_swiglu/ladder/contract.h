/* contract.h - the end of every rung: the functions of swiglu.h in each element type,
 * from the templates forward and backward above the #include. */
template <activation A, typename E>
static wb_status checked_forward(
    E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    forward<A>(out, gate, up, R, F, ld, stream);
    return wb_launched();
}

template <activation A, typename E>
static wb_status checked_backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!dgate || !dup || !dout || !gate || !up) return WB_BAD_SHAPE;
    backward<A>(dgate, dup, dout, gate, up, R, F, ld, stream);
    return wb_launched();
}

#define DEFINE(name, ACTIVATION, E, e)                                                   \
    wb_status name##_forward_##e(                                                        \
        E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)   \
    {                                                                                    \
        return checked_forward<ACTIVATION>(out, gate, up, R, F, ld, stream);             \
    }                                                                                    \
    wb_status name##_backward_##e(                                                       \
        E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F,       \
        int ld, cudaStream_t stream)                                                     \
    {                                                                                    \
        return checked_backward<ACTIVATION>(                                             \
            dgate, dup, dout, gate, up, R, F, ld, stream);                               \
    }
DEFINE(swiglu, SILU, float, f32)
DEFINE(swiglu, SILU, wb_f16, f16)
DEFINE(swiglu, SILU, wb_bf16, bf16)
DEFINE(geglu, GELU_TANH, float, f32)
DEFINE(geglu, GELU_TANH, wb_f16, f16)
DEFINE(geglu, GELU_TANH, wb_bf16, bf16)
#undef DEFINE
