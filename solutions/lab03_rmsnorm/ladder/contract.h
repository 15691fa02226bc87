/* contract.h - the end of every rung: the functions of rmsnorm.h in each element type,
 * from the templates forward, backward and backward_workspace above the #include. */
#define DEFINE(E, e)                                                                     \
    wb_status rmsnorm_forward_##e(                                                       \
        E *out, float *rstd, const E *x, const E *w, int R, int C, float eps,            \
        float offset, cudaStream_t stream)                                               \
    {                                                                                    \
        if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;                        \
        if (R == 0) return WB_OK;                                                        \
        if (!out || !x || !w) return WB_BAD_SHAPE;                                       \
        forward<E>(                                                                      \
            out, (E *)NULL, rstd, x, (const E *)NULL, w, R, C, eps, offset, stream);     \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status rmsnorm_residual_forward_##e(                                              \
        E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C, \
        float eps, float offset, cudaStream_t stream)                                    \
    {                                                                                    \
        if (R < 0 || C < 1 || !(eps > 0.0f)) return WB_BAD_SHAPE;                        \
        if (R == 0) return WB_OK;                                                        \
        if (!out || !sum || !x || !res || !w) return WB_BAD_SHAPE;                       \
        forward<E>(out, sum, rstd, x, res, w, R, C, eps, offset, stream);                \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status rmsnorm_backward_##e(                                                      \
        E *dx, float *dw, const E *dout, const E *x, const E *w, const float *rstd,      \
        const E *dres, int R, int C, float offset, void *workspace,                      \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (R < 0 || C < 1) return WB_BAD_SHAPE;                                         \
        if (R == 0) return WB_OK;                                                        \
        if (!dx || !dw || !dout || !x || !w || !rstd) return WB_BAD_SHAPE;               \
        if (workspace_bytes < backward_workspace(R, C)) return WB_NO_SPACE;              \
        backward<E>(                                                                     \
            dx, dw, dout, x, w, rstd, dres, R, C, offset, (float *)workspace, stream);   \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t rmsnorm_backward_workspace_##e(int R, int C)                                  \
    {                                                                                    \
        return backward_workspace(R, C);                                                 \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
