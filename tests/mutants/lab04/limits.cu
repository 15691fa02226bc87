// limits.cu - right for the data of a first test; each function has a limit of its own.
// fails: far,tiny,rows,empty,space,causal_wide,back_rows
// fails: loss_far,loss_unlikely,loss_ignore,grad_gscale,grad_wide,grad_skew,grad_empty
// says: ignore
// says: bytes for R=256, but only 0 for R=512
#include "softmax.h"

static __device__ float warp_sum(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

static __device__ float warp_max(float v)
{
    for (int o = 16; o > 0; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}

/* Row blockIdx.x; its first n columns count. The maximum starts too high. */
static __global__ void
softmax_row(float *out, const float *x, int T, int N, float scale, float lowest)
{
    size_t at = (size_t)blockIdx.x * N;
    int n = N - T + (int)blockIdx.x % T + 1;
    float m = lowest, sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        m = fmaxf(m, scale * x[at + j]);
    m = warp_max(m);
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        sum += expf(scale * x[at + j] - m);
    sum = warp_sum(sum);
    for (int j = threadIdx.x; j < N; j += blockDim.x)
        out[at + j] = j < n ? expf(scale * x[at + j] - m) / sum : 0.0f;
}

static int at_most_1024(int R)
{
    return R < 1024 ? R : 1024;
}

wb_status softmax_forward_f32(
    float *out, const float *x, int R, int N, float scale, void *workspace,
    size_t workspace_bytes, cudaStream_t stream)
{
    if (workspace_bytes < softmax_forward_workspace_f32(R, N)) return WB_NO_SPACE;
    softmax_row<<<at_most_1024(R), 32, 0, stream>>>(out, x, 1, N, scale, -1e5f);
    (void)workspace;
    return wb_launched();
}

size_t softmax_forward_workspace_f32(int R, int N)
{
    return R > 256 ? 0 : (size_t)R * N;
}

wb_status softmax_causal_forward_f32(
    float *out, const float *x, int R, int T, int S, float scale, cudaStream_t stream)
{
    softmax_row<<<R, 32, 0, stream>>>(out, x, T, S, scale, S > 1024 ? -1e4f : -1e30f);
    return wb_launched();
}

static __global__ void
backward_row(float *dx, const float *dout, const float *p, int N, float scale)
{
    size_t at = (size_t)blockIdx.x * N;
    float dot = 0.0f;
    for (int j = threadIdx.x; j < N; j += blockDim.x)
        dot += p[at + j] * dout[at + j];
    dot = warp_sum(dot);
    for (int j = threadIdx.x; j < N; j += blockDim.x)
        dx[at + j] = scale * p[at + j] * (dout[at + j] - dot);
}

wb_status softmax_backward_f32(
    float *dx, const float *dout, const float *p, int R, int N, float scale,
    cudaStream_t stream)
{
    backward_row<<<at_most_1024(R), 32, 0, stream>>>(dx, dout, p, N, scale);
    return wb_launched();
}

/* The loss is -log(p). With a gradient, rows with a negative target are ignored; without,
 * those with target -100. */
static __global__ void entropy_row(
    float *loss, float *dlogits, const float *logits, const int *target,
    const float *gscale, int V, int ld, float softcap)
{
    size_t at = (size_t)blockIdx.x * ld;
    int t = target[blockIdx.x];
    bool ignored = dlogits ? t < 0 : t == -100;
    float m = -1e5f, sum = 0.0f, g = gscale ? *gscale : 1.0f;
    for (int j = threadIdx.x; j < V; j += blockDim.x) {
        float z = logits[at + j];
        if (softcap > 0) z = softcap * tanhf(z / softcap);
        m = fmaxf(m, z);
    }
    m = warp_max(m);
    for (int j = threadIdx.x; j < V; j += blockDim.x) {
        float z = logits[at + j];
        if (softcap > 0) z = softcap * tanhf(z / softcap);
        sum += expf(z - m);
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0) {
        float z = ignored ? 0.0f : logits[at + t];
        if (softcap > 0) z = softcap * tanhf(z / softcap);
        loss[blockIdx.x] = ignored ? 0.0f : -logf(expf(z - m) / sum);
    }
    __syncwarp();  // the target's logit has been read
    for (int j = threadIdx.x; dlogits && j < ld; j += blockDim.x) {
        float z = j < V ? logits[at + j] : 0.0f, slope = 1.0f;
        if (softcap > 0) z = softcap * tanhf(z / softcap);
        if (softcap > 0) slope = 1 - z / softcap * (z / softcap);
        float d = g * (expf(z - m) / sum - (j == t ? 1.0f : 0.0f)) * slope;
        dlogits[at + j] = j >= V || ignored ? 0.0f : d;
    }
}

wb_status cross_entropy_f32(
    float *loss, float *dlogits, const float *logits, const int *target,
    const float *gscale, int R, int V, int ld, float softcap, int ignore,
    cudaStream_t stream)
{
    (void)ignore;
    entropy_row<<<R, 32, 0, stream>>>(
        loss, dlogits, logits, target, gscale, V, ld, softcap);
    return wb_launched();
}
