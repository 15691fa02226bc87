/* conv1d.h - the end of a rung that has part 06.2: the functions of rglru.h in each element
 * type, from the templates conv1d, conv1d_back and conv1d_space above the #include. */
#define DEFINE(E, e)                                                                     \
    wb_status conv1d_forward_##e(                                                        \
        E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,    \
        const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !x || !w || !bias) return WB_BAD_SHAPE;                              \
        conv1d<E>(out, conv_state, x, w, bias, pos, len, B, T, C, width, ld, stream);    \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status conv1d_backward_##e(                                                       \
        E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w,           \
        const int *pos, int B, int T, int C, int width, int ld, void *workspace,         \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dx || !dw || !dbias || !dout || !x || !w) return WB_BAD_SHAPE;              \
        if (workspace_bytes < conv1d_space(B, T, C, width)) return WB_NO_SPACE;          \
        conv1d_back<E>(                                                                  \
            dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld, (float *)workspace,      \
            stream);                                                                     \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t conv1d_backward_workspace_##e(int B, int T, int C, int width)                 \
    {                                                                                    \
        return conv1d_space(B, T, C, width);                                             \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
