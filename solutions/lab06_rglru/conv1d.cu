/* conv1d.cu - lab 06, part 06.2. The contract is rglru.h. */
#include "rglru.h"

constexpr int THREADS = 128;

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

static __device__ size_t thread_index(void)
{
    return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

template <typename E>
static __global__ void conv1d_each(
    E *out, const E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    int B, int T, int C, int width, int ld)
{
    size_t i = thread_index();
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

/* A second kernel, so that every token has read the ring before it changes. */
template <typename E>
static __global__ void keep_last(
    E *conv_state, const E *x, const int *pos, const int *len, int B, int T, int C,
    int width, int ld)
{
    size_t i = thread_index();
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
static void conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    conv1d_each<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        out, conv_state, x, w, bias, pos, B, T, C, width, ld);
    if (conv_state)
        keep_last<<<blocks_for((size_t)B * C), THREADS, 0, stream>>>(
            conv_state, x, pos, len, B, T, C, width, ld);
}

template <typename E>
static __global__ void conv1d_dx(
    E *dx, const E *dout, const E *w, const int *pos, int B, int T, int C, int width,
    int ld)
{
    size_t i = thread_index();
    if (i >= (size_t)B * T * C) return;
    size_t c = i % C, row = i / C;
    int t = (int)(row % T);
    float sum = 0.0f;
    for (int s = 0; s < width && t + s < T; s++)
        if ((pos ? pos[row + s] : t + s) >= s)
            sum += (float)w[c * width + width - 1 - s] * (float)dout[(row + s) * C + c];
    dx[row * ld + c] = (E)sum;
}

/* A thread per channel and tap; that of the current token sees to the bias. */
template <typename E>
static __global__ void conv1d_dw(
    float *dw, float *dbias, const E *dout, const E *x, const int *pos, int B, int T,
    int C, int width, int ld)
{
    size_t i = thread_index();
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

static size_t conv1d_space(int, int, int, int)
{
    return 0;
}

template <typename E>
static void conv1d_back(
    E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, float *, cudaStream_t stream)
{
    conv1d_dx<<<blocks_for((size_t)B * T * C), THREADS, 0, stream>>>(
        dx, dout, w, pos, B, T, C, width, ld);
    conv1d_dw<<<blocks_for((size_t)C * width), THREADS, 0, stream>>>(
        dw, dbias, dout, x, pos, B, T, C, width, ld);
}

#define DEFINE(E, e)                                                                     \
    wb_status conv1d_forward_##e(                                                        \
        E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,    \
        const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !x || !w || !bias) return WB_BAD_SHAPE;                              \
        conv1d<E>(out, conv_state, x, w, bias, pos, len, B, T, C, width, ld, stream);    \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status conv1d_backward_##e(                                                       \
        E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w,           \
        const int *pos, int B, int T, int C, int width, int ld, void *workspace,         \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dx || !dw || !dbias || !dout || !x || !w) return WB_BAD_SHAPE;              \
        if (workspace_bytes < conv1d_space(B, T, C, width)) return WB_NO_SPACE;          \
        conv1d_back<E>(                                                                  \
            dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld, (float *)workspace,      \
            stream);                                                                     \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t conv1d_backward_workspace_##e(int B, int T, int C, int width)                 \
    {                                                                                    \
        return conv1d_space(B, T, C, width);                                             \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
