/* fused_contract.h - the same for part 06.5, from fused_forward, fused_backward and
 * fused_workspace. */
#define DEFINE_FUSED(E, e)                                                               \
    wb_status rglru_forward_##e(                                                         \
        E *out, float *h, float *state, const E *c, const E *px, const E *pa,            \
        const E *y, const E *a_param, const int *pos, const int *len, int B, int T,      \
        int C, int ldy, void *workspace, size_t workspace_bytes, cudaStream_t stream)    \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || (y && ldy < C)) return WB_BAD_SHAPE;              \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;                   \
        if (workspace_bytes < fused_workspace(B, T, C)) return WB_NO_SPACE;              \
        fused_forward<E>(                                                                \
            out, h, state, c, px, pa, y, a_param, pos, len, B, T, C, ldy, workspace,     \
            stream);                                                                     \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t rglru_forward_workspace_##e(int B, int T, int C)                              \
    {                                                                                    \
        return fused_workspace(B, T, C);                                                 \
    }                                                                                    \
    wb_status rglru_backward_##e(                                                        \
        E *dc, E *dpx, E *dpa, E *dy, float *da_param, const E *dout, const E *c,        \
        const E *px, const E *pa, const E *y, const float *h, const E *a_param,          \
        const int *pos, int B, int T, int C, int ldy, void *workspace,                   \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || (y && ldy < C) || !y != !dy) return WB_BAD_SHAPE; \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dc || !dpx || !dpa || !da_param || !dout || !c || !px || !pa || !h ||       \
            !a_param)                                                                    \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < fused_workspace(B, T, C)) return WB_NO_SPACE;              \
        fused_backward<E>(                                                               \
            dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, pos, B, T, C,    \
            ldy, workspace, stream);                                                     \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t rglru_backward_workspace_##e(int B, int T, int C)                             \
    {                                                                                    \
        return fused_workspace(B, T, C);                                                 \
    }
DEFINE_FUSED(float, f32)
DEFINE_FUSED(wb_f16, f16)
DEFINE_FUSED(wb_bf16, bf16)
