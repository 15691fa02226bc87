/* linear_scan.cu - lab 06.4: h[t] = a[t] h[t-1] + z[t]. The contract is rglru.h. */
#include "rglru.h"

constexpr int BLOCK = 128;

template <typename E>
static __global__ void scan_rows(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)B * C) return;
    size_t b = i % B, c = i / B;
    size_t at = b * T * C + c, row = b * C + c;
    float state = h0 ? h0[row] : 0.0f;  // float, whatever E is
    for (int t = 0; t < T; t++, at += C) {
        state = (float)a[at] * state + (float)z[at];
        h[at] = (E)state;
    }
    if (h_last) h_last[row] = state;
}

template <typename E>
static __global__ void scan_rows_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (i >= (size_t)B * C) return;
    size_t b = i % B, c = i / B;
    size_t row = b * C + c, at = (b * T + T - 1) * C + c;
    float back =
        dh_last ? dh_last[row] : 0.0f;  // a[t+1] dz[t+1]: what comes from the right
    for (int t = T - 1; t >= 0; t--, at -= C) {
        float d = (float)dh[at] + back;
        float before = t ? (float)h[at - C] : h0 ? h0[row] : 0.0f;
        dz[at] = (E)d;
        da[at] = (E)(d * before);
        back = (float)a[at] * d;
    }
    if (dh0) dh0[row] = back;
}

static unsigned blocks_for(int B, int C)
{
    return (unsigned)(((size_t)B * C + BLOCK - 1) / BLOCK);
}

template <typename E>
static void scan_forward(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C,
    void *, cudaStream_t stream)
{
    scan_rows<<<blocks_for(B, C), BLOCK, 0, stream>>>(h, h_last, a, z, h0, B, T, C);
}

template <typename E>
static void scan_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C, void *, cudaStream_t stream)
{
    scan_rows_backward<<<blocks_for(B, C), BLOCK, 0, stream>>>(
        da, dz, dh0, dh, dh_last, a, h, h0, B, T, C);
}

static size_t scan_workspace(int, int, int)
{
    return 0;
}

#define DEFINE(E, e)                                                                     \
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
        scan_backward<E>(                                                                \
            da, dz, dh0, dh, dh_last, a, h, h0, B, T, C, workspace, stream);             \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t linear_scan_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return scan_workspace(B, T, C);                                                  \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
