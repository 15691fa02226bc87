/* gates.h - the end of a rung that has part 06.3: the functions of rglru.h in each element
 * type, from the templates gates, gates_back and gates_space above the #include. */
#define DEFINE(E, e)                                                                     \
    wb_status rglru_gates_forward_##e(                                                   \
        float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,      \
        const int *pos, int B, int T, int C, cudaStream_t stream)                        \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!a || !z || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;               \
        gates<E>(a, z, c, px, pa, a_param, pos, B, T, C, stream);                        \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status rglru_gates_backward_##e(                                                  \
        E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz,        \
        const E *c, const E *px, const E *pa, const E *a_param, const int *pos, int B,   \
        int T, int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)      \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dc || !dpx || !dpa || !da_param || !da || !dz || !c || !px || !pa ||        \
            !a_param)                                                                    \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < gates_space(B, T, C)) return WB_NO_SPACE;                  \
        gates_back<E>(                                                                   \
            dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C,            \
            (float *)workspace, stream);                                                 \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t rglru_gates_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return gates_space(B, T, C);                                                     \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
