// limits.cu - right for the shapes of a first test; each function has a limit of its own.
// fails: empty,three,residual_wide,dx_offset,dw_rows,dw_long,dw_wide,dw_space
// says: dw is computed from dx
// says: returned WB_OK, expected WB_NO_SPACE
#include "rmsnorm.h"

static __device__ float block_sum(float v)
{
    __shared__ float part[1024];
    part[threadIdx.x] = v;
    __syncthreads();  // every term is in part
    for (int i = 1; threadIdx.x == 0 && i < (int)blockDim.x; i++)
        part[0] += part[i];
    __syncthreads();  // the sum is in part[0]
    return part[0];
}

/* One block per row; a thread per column, without a loop */
static __global__ void forward_rows(
    float *out, float *sum, float *rstd, const float *x, const float *res, const float *w,
    int C, float eps, float offset)
{
    size_t at = (size_t)blockIdx.x * C + threadIdx.x;
    float v = x[at] + (res ? res[at] : 0.0f);
    float r = 1.0f / sqrtf(block_sum(v * v) / C + eps);
    if (sum) sum[at] = v;
    out[at] = v * r * (offset + w[threadIdx.x]);
    if (rstd && threadIdx.x == 0) rstd[blockIdx.x] = r;
}

wb_status rmsnorm_residual_forward_f32(
    float *out, float *sum, float *rstd, const float *x, const float *res, const float *w,
    int R, int C, float eps, float offset, cudaStream_t stream)
{
    int threads = C < 1024 ? C : 1024;
    forward_rows<<<R, threads, 0, stream>>>(out, sum, rstd, x, res, w, C, eps, offset);
    return wb_launched();
}

/* One thread per row, as many as the grid has */
static __global__ void forward_grid(
    float *out, float *rstd, const float *x, const float *w, int R, int C, float eps,
    float offset)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) return;
    const float *xr = x + (size_t)row * C;
    float squares = 0.0f;
    for (int c = 0; c < C; c++)
        squares += xr[c] * xr[c];
    float r = 1.0f / sqrtf(squares / C + eps);
    for (int c = 0; c < C; c++)
        out[(size_t)row * C + c] = xr[c] * r * (offset + w[c]);
    if (rstd) rstd[row] = r;
}

wb_status rmsnorm_forward_f32(
    float *out, float *rstd, const float *x, const float *w, int R, int C, float eps,
    float offset, cudaStream_t stream)
{
    int blocks = (R + 255) / 256;
    if (blocks > 4) blocks = 4;
    forward_grid<<<blocks, 256, 0, stream>>>(out, rstd, x, w, R, C, eps, offset);
    return wb_launched();
}

constexpr int MAX_PARTIALS = 1024;

/* Row blockIdx.x: dx, and then its terms of dw, from what may now be dx */
static __global__ void backward_row(
    float *dx, float *partial, const float *dout, const float *x, const float *w,
    const float *rstd, const float *dres, int C, float offset)
{
    int row = blockIdx.x;
    size_t start = (size_t)row * C;
    float ux = 0.0f, r = rstd[row];
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        ux += dout[start + c] * (offset + w[c]) * x[start + c];
    float k = r * (block_sum(ux) / C);
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float u = dout[start + c] * (offset + w[c]);
        dx[start + c] = (dres ? dres[start + c] : 0.0f) + r * (u - x[start + c] * r * k);
        partial[start + c] = dout[start + c] * (x[start + c] * r);
    }
}

static __global__ void add(float *dw, const float *partial, int P, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (c >= C) return;
    for (int p = 0; p < P; p++)
        sum += partial[(size_t)p * C + c];
    dw[c] += sum;
}

wb_status rmsnorm_backward_f32(
    float *dx, float *dw, const float *dout, const float *x, const float *w,
    const float *rstd, const float *dres, int R, int C, float offset, void *workspace,
    size_t workspace_bytes, cudaStream_t stream)
{
    int P = R < MAX_PARTIALS ? R : MAX_PARTIALS;
    backward_row<<<P, 32, 0, stream>>>(
        dx, (float *)workspace, dout, x, w, rstd, dres, C, offset);
    add<<<(C + 255) / 256, 256, 0, stream>>>(dw, (float *)workspace, P, C);
    (void)workspace_bytes;
    return wb_launched();
}

size_t rmsnorm_backward_workspace_f32(int R, int C)
{
    return (size_t)(R < MAX_PARTIALS ? R : MAX_PARTIALS) * C * sizeof(float);
}
