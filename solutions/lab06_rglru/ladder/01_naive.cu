/* 01_naive.cu - parts 06.1 to 06.3, a thread per element, as the formulas read.
 *
 * Correct, but slow, each kernel for its own reason. block_linear: a thread walks down a
 * column of the matrix and reads 2 M numbers from memory for M products; no thread uses
 * what a neighbour has read. conv1d: every input is loaded `width` times, one element at
 * a time. Each sum over all tokens (dw, dbias, da_param) is one thread and one chain of
 * additions: with 16 channels, 16 threads work.
 */
// fails: blocks_once,back_once,conv_once,gates_wide
#include "rglru_contract.cuh"

constexpr int THREADS = 128;

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

/* --- 06.1 --------------------------------------------------------------------------- */

template <typename E>
static __global__ void block_linear_each(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, C = (size_t)G * M;
    if (i >= R * C) return;
    size_t j = i % M, g = i % C / M;
    const E *row = c + (i - j);  // (M): the inputs of this block
    wx += g * M * M + j, wa += g * M * M + j;
    float x = (float)bx[g * M + j], a = (float)ba[g * M + j];
    for (int k = 0; k < M; k++) {
        x += (float)row[k] * (float)wx[(size_t)k * M];
        a += (float)row[k] * (float)wa[(size_t)k * M];
    }
    px[i] = (E)x, pa[i] = (E)a;
}

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    block_linear_each<<<blocks_for((size_t)R * G * M), THREADS, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
    return wb_launched();
}

template <typename E>
static __global__ void dc_each(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M)
{
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x, C = (size_t)G * M;
    if (at >= R * C) return;
    size_t i = at % M, g = at % C / M;
    const E *dx = dpx + (at - i), *da = dpa + (at - i);  // (M)
    wx += (g * M + i) * M, wa += (g * M + i) * M;        // (M): row i of the matrices
    float sum = dc_in ? (float)dc_in[at] : 0.0f;
    for (int j = 0; j < M; j++)
        sum += (float)dx[j] * (float)wx[j] + (float)da[j] * (float)wa[j];
    dc[at] = (E)sum;
}

/* A thread per element of dw; those with i = 0 also sum the bias. */
template <typename E>
static __global__ void
dw_each(float *dw, float *db, const E *c, const E *dp, int R, int G, int M)
{
    size_t at = (size_t)blockIdx.x * THREADS + threadIdx.x, C = (size_t)G * M;
    if (at >= C * M) return;
    size_t j = at % M, i = at / M % M, g = at / M / M;
    float sum = 0.0f, bias = 0.0f;
    for (int r = 0; r < R; r++) {
        float d = (float)dp[r * C + g * M + j];
        sum += (float)c[r * C + g * M + i] * d;
        bias += d;
    }
    dw[at] += sum;
    if (i == 0) db[g * M + j] += bias;
}

template <typename E> static size_t block_linear_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M, float *,
    cudaStream_t stream)
{
    dc_each<<<blocks_for((size_t)R * G * M), THREADS, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M);
    unsigned blocks = blocks_for((size_t)G * M * M);
    dw_each<<<blocks, THREADS, 0, stream>>>(dwx, dbx, c, dpx, R, G, M);
    dw_each<<<blocks, THREADS, 0, stream>>>(dwa, dba, c, dpa, R, G, M);
    return wb_launched();
}

/* --- 06.2 --------------------------------------------------------------------------- */

template <typename E>
static __global__ void conv1d_each(
    E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    int B, int T, int C, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)B * T * C) return;
    size_t c = i % C, row = i / C, b = row / T;
    int t = (int)(row % T), p = pos ? pos[row] : t;
    float sum = (float)bias[c];
    for (int s = 0; s < width && s <= p; s++) {
        float before = 0.0f;
        if (s <= t)
            before = (float)x[(row - s) * ld + c];
        else if (conv_state)
            before = (float)conv_state[(b * width + (p - s) % width) * C + c];
        sum += (float)w[c * width + width - 1 - s] * before;
    }
    out[i] = (E)sum;
}

/* A second kernel, so that every token has read the ring before it is overwritten. */
template <typename E>
static __global__ void keep_last(
    E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
    int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)B * C) return;
    size_t c = i % C, b = i / C;
    int last = (len ? len[b] : T) - 1;
    if (last < 0) return;
    int p = pos ? pos[b * T + last] : last;
    for (int s = 0; s < width && s <= p && s <= last; s++)
        conv_state[(b * width + (p - s) % width) * C + c] =
            x[(b * T + last - s) * ld + c];
}

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    conv1d_each<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        out, conv_state, x, w, bias, pos, B, T, C, width, ld);
    if (conv_state)
        keep_last<<<blocks_for((size_t)B * C), THREADS, 0, stream>>>(
            conv_state, x, pos, len, B, T, C, width, ld);
    return wb_launched();
}

template <typename E>
static __global__ void conv1d_dx(
    E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
    int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)B * T * C) return;
    size_t c = i % C, row = i / C;
    int t = (int)(row % T);
    float sum = 0.0f;
    for (int s = 0; s < width && t + s < T; s++)
        if ((pos ? pos[row + s] : t + s) >= s)
            sum += (float)w[c * width + width - 1 - s] * (float)dout[(row + s) * C + c];
    dx[row * ld + c] = (E)sum;
}

/* A thread per channel and tap; that of s = 0 also sums the bias. */
template <typename E>
static __global__ void conv1d_dw(
    float *dw, float *dbias, const E *dout, const E *x, const int *pos, int B, int T,
    int C, int width, int ld)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)C * width) return;
    size_t c = i / width;
    int s = width - 1 - (int)(i % width);
    float sum = 0.0f, bias = 0.0f;
    for (size_t row = 0; row < (size_t)B * T; row++) {
        int t = (int)(row % T);
        float d = (float)dout[row * C + c];
        if (s <= t && (pos ? pos[row] : t) >= s) sum += d * (float)x[(row - s) * ld + c];
        bias += d;
    }
    dw[i] += sum;
    if (s == 0) dbias[c] += bias;
}

template <typename E> static size_t conv1d_back_workspace(int, int, int, int)
{
    return 0;
}

template <typename E>
static wb_status conv1d_back(
    E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, float *, cudaStream_t stream)
{
    conv1d_dx<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        dx, dout, w, pos, B, T, C, width, ld);
    conv1d_dw<<<blocks_for((size_t)C * width), THREADS, 0, stream>>>(
        dw, dbias, dout, x, pos, B, T, C, width, ld);
    return wb_launched();
}

/* --- 06.3 --------------------------------------------------------------------------- */

static __device__ float sigmoid(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

static __device__ float softplus(float v)
{
    return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));  // never overflows
}

template <typename E>
static __global__ void gates_each(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= (size_t)B * T * C) return;
    size_t row = i / C;
    bool first = (pos ? pos[row] : (int)(row % T)) == 0;
    float log_a = -8.0f * sigmoid((float)pa[i]) * softplus((float)a_param[i % C]);
    float m = first ? 1.0f : sqrtf(-expm1f(2.0f * log_a));
    a[i] = first ? 0.0f : expf(log_a);
    z[i] = m * sigmoid((float)px[i]) * (float)c[i];
}

template <typename E>
static wb_status gates(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, cudaStream_t stream)
{
    gates_each<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        a, z, c, px, pa, a_param, pos, B, T, C);
    return wb_launched();
}

/* A thread per channel, so da_param is the sum of one thread. */
template <typename E>
static __global__ void gates_slopes(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
{
    size_t channel = (size_t)blockIdx.x * THREADS + threadIdx.x;
    if (channel >= (size_t)C) return;
    float soft = softplus((float)a_param[channel]), sum = 0.0f;
    for (size_t row = 0; row < (size_t)B * T; row++) {
        size_t i = row * C + channel;
        bool first = (pos ? pos[row] : (int)(row % T)) == 0;
        float gx = sigmoid((float)px[i]), ga = sigmoid((float)pa[i]);
        float log_a = -8.0f * ga * soft, a = expf(log_a), q = -expm1f(2.0f * log_a);
        float m = first ? 1.0f : sqrtf(q), in = dz[i] * gx;
        float dq = in * (float)c[i] / sqrtf(fmaxf(4.0f * q, 1e-6f));
        float dlog_a = first ? 0.0f : da[i] * a - 2.0f * a * a * dq;
        dc[i] = (E)(in * m);
        dpx[i] = (E)(in * m * (float)c[i] * (1.0f - gx));
        dpa[i] = (E)(-8.0f * soft * ga * (1.0f - ga) * dlog_a);
        sum += -8.0f * ga * dlog_a;
    }
    da_param[channel] += sigmoid((float)a_param[channel]) * sum;
}

template <typename E> static size_t gates_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status gates_back(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    float *, cudaStream_t stream)
{
    gates_slopes<<<blocks_for(C), THREADS, 0, stream>>>(
        dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C);
    return wb_launched();
}

DEFINE_BLOCK_LINEAR_FORWARD(float, f32)
DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
DEFINE_BLOCK_LINEAR_BACKWARD(float, f32)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_bf16, bf16)
DEFINE_CONV1D_FORWARD(float, f32)
DEFINE_CONV1D_FORWARD(wb_f16, f16)
DEFINE_CONV1D_FORWARD(wb_bf16, bf16)
DEFINE_CONV1D_BACKWARD(float, f32)
DEFINE_CONV1D_BACKWARD(wb_f16, f16)
DEFINE_CONV1D_BACKWARD(wb_bf16, bf16)
DEFINE_GATES(float, f32)
DEFINE_GATES(wb_f16, f16)
DEFINE_GATES(wb_bf16, bf16)
