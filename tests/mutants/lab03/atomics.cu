// atomics.cu - adds the rows of dw in an order that varies.
// fails: dw_rows
#include "rmsnorm.h"

static __global__ void
add_row(float *dw, const float *dout, const float *x, const float *rstd, int C)
{
    size_t start = (size_t)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        atomicAdd(dw + c, dout[start + c] * x[start + c] * rstd[blockIdx.x]);
}

wb_status rmsnorm_backward_f32(
    float *dx, float *dw, const float *dout, const float *x, const float *w,
    const float *rstd, const float *dres, int R, int C, float offset, void *workspace,
    size_t workspace_bytes, cudaStream_t stream)
{
    (void)dx, (void)w, (void)dres, (void)offset, (void)workspace, (void)workspace_bytes;
    add_row<<<R, 32, 0, stream>>>(dw, dout, x, rstd, C);
    return wb_launched();
}

size_t rmsnorm_backward_workspace_f32(int R, int C)
{
    (void)R, (void)C;
    return 0;
}
