/* contract.h - the end of every rung: the functions of softmax.h in each element type,
 * from the templates forward, backward and entropy above the #include. */
template <typename E>
static wb_status
checked_forward(E *out, const E *x, int R, int T, int N, float scale, cudaStream_t stream)
{
    if (R < 0 || T < 1 || N < T || R % T != 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    forward(out, x, R, T, N, scale, stream);
    return wb_launched();
}

template <typename E>
static wb_status checked_backward(
    E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t stream)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!dx || !dout || !p) return WB_BAD_SHAPE;
    backward(dx, dout, p, R, N, scale, stream);
    return wb_launched();
}

template <typename E>
static wb_status checked_entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t stream)
{
    if (R < 0 || V < 1 || ld < V || !(softcap >= 0)) return WB_BAD_SHAPE;
    if (ignore >= 0 && ignore < V) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!loss || !logits || !target) return WB_BAD_SHAPE;
    entropy(loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore, stream);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status softmax_forward_##e(                                                       \
        E *out, const E *x, int R, int N, float scale, void *, size_t,                   \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return checked_forward(out, x, R, 1, N, scale, stream);                          \
    }                                                                                    \
    size_t softmax_forward_workspace_##e(int, int)                                       \
    {                                                                                    \
        return 0;                                                                        \
    }                                                                                    \
    wb_status softmax_causal_forward_##e(                                                \
        E *out, const E *x, int R, int T, int S, float scale, cudaStream_t stream)       \
    {                                                                                    \
        return checked_forward(out, x, R, T, S, scale, stream);                          \
    }                                                                                    \
    wb_status softmax_backward_##e(                                                      \
        E *dx, const E *dout, const E *p, int R, int N, float scale,                     \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return checked_backward(dx, dout, p, R, N, scale, stream);                       \
    }                                                                                    \
    wb_status cross_entropy_##e(                                                         \
        float *loss, E *dlogits, const E *logits, const int *target,                     \
        const float *gscale, int R, int V, int ld, float softcap, int ignore,            \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return checked_entropy(                                                          \
            loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore, stream);   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
