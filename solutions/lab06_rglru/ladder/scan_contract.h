/* scan_contract.h - the end of every rung of part 06.4: the linear scans of rglru.h in each
 * element type, from the templates scan_forward and scan_backward and from scan_workspace
 * above the #include. */
#define DEFINE_SCAN(E, e)                                                                \
    wb_status linear_scan_forward_##e(                                                   \
        E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T,      \
        int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!h || !a || !z) return WB_BAD_SHAPE;                                         \
        if (workspace_bytes < scan_workspace(B, T, C)) return WB_NO_SPACE;               \
        scan_forward<E>(h, h_last, a, z, h0, B, T, C, workspace, stream);                \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t linear_scan_forward_workspace_##e(int B, int T, int C)                        \
    {                                                                                    \
        return scan_workspace(B, T, C);                                                  \
    }                                                                                    \
    wb_status linear_scan_backward_##e(                                                  \
        E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a,         \
        const E *h, const float *h0, int B, int T, int C, void *workspace,               \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!da || !dz || !dh || !a || !h) return WB_BAD_SHAPE;                          \
        if (workspace_bytes < scan_workspace(B, T, C)) return WB_NO_SPACE;               \
        scan_backward<E>(da, dz, dh0, dh, dh_last, a, h, h0, B, T, C, workspace, stream); \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t linear_scan_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return scan_workspace(B, T, C);                                                  \
    }
DEFINE_SCAN(float, f32)
DEFINE_SCAN(wb_f16, f16)
DEFINE_SCAN(wb_bf16, bf16)
