// divides.cu - a scan that divides by the product of all a so far, which underflows.
// fails: scan_edges,scan_long
// says: NaN
#include "rglru.h"

static __global__ void scan_rows(
    float *h, float *h_last, const float *a, const float *z, const float *h0, int B, int T,
    int C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B * C) return;
    size_t row = i, at = (size_t)(i / C) * T * C + i % C;
    float product = 1.0f, sum = h0 ? h0[row] : 0.0f, state = 0.0f;
    for (int t = 0; t < T; t++, at += C) {
        product *= a[at];
        sum += z[at] / product;
        h[at] = state = product * sum;
    }
    if (h_last) h_last[row] = state;
}

wb_status linear_scan_forward_f32(
    float *h, float *h_last, const float *a, const float *z, const float *h0, int B, int T,
    int C, void *, size_t, cudaStream_t stream)
{
    scan_rows<<<(B * C + 127) / 128, 128, 0, stream>>>(h, h_last, a, z, h0, B, T, C);
    return wb_launched();
}

size_t linear_scan_forward_workspace_f32(int, int, int)
{
    return 0;
}
