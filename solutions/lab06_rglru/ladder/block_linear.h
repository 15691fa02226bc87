/* block_linear.h - the end of a rung that has part 06.1: the functions of rglru.h in each
 * element type, from the templates block_linear, block_linear_back and
 * block_linear_space above the #include. */
#define DEFINE(E, e)                                                                     \
    wb_status block_linear_forward_##e(                                                  \
        E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba,    \
        int R, int G, int M, cudaStream_t stream)                                        \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!px || !pa || !c || !wx || !bx || !wa || !ba) return WB_BAD_SHAPE;           \
        block_linear<E>(px, pa, c, wx, bx, wa, ba, R, G, M, stream);                     \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status block_linear_backward_##e(                                                 \
        E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in,           \
        const E *dpx, const E *dpa, const E *c, const E *wx, const E *wa, int R, int G,  \
        int M, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!dc || !dwx || !dbx || !dwa || !dba || !dpx || !dpa || !c || !wx || !wa)     \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < block_linear_space<E>(R, G, M)) return WB_NO_SPACE;        \
        block_linear_back<E>(                                                            \
            dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M,                 \
            (float *)workspace, stream);                                                 \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t block_linear_backward_workspace_##e(int R, int G, int M)                      \
    {                                                                                    \
        return block_linear_space<E>(R, G, M);                                           \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
