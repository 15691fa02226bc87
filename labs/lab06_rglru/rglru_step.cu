/* rglru_step.cu - lab 06.6: the recurrent block for one token. The contract is rglru.h. */
#include "rglru.h"

constexpr int MOST = 512;  // the largest M

static __device__ float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static __device__ float softplus(float x)  // log(1 + exp(x))
{
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

static __device__ float gelu(float y)
{
    float v = fminf(fmaxf(y, -16.0f), 16.0f);  // beyond, s is 0 or 1 and y^3 may overflow
    return y * sigmoid(1.5957691216057308f * v * (1.0f + 0.044715f * v * v));
}

template <typename E>
static __global__ void step_rows(
    E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
    const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
    const int *pos, int G, int M, int width, int ld)
{
    __shared__ float c[MOST];
    int g = blockIdx.x % G, j = threadIdx.x, p = pos[blockIdx.x / G];  // j in [0, M)
    int C = G * M, i = g * M + j;
    size_t b = blockIdx.x / G;
    E *ring = conv_state + b * width * C;
    float sum =
        (float)bias[i] + (float)w[(size_t)i * width + width - 1] * (float)x[b * ld + i];
    for (int s = 1; s < width && s <= p; s++)
        sum += (float)w[(size_t)i * width + width - 1 - s] *
               (float)ring[(size_t)((p - s) % width) * C + i];
    ring[(size_t)(p % width) * C + i] = x[b * ld + i];
    c[j] = sum;
    __syncthreads();  // all of the block's inputs are in c
    float px = (float)bx[i], pa = (float)ba[i];
    for (int k = 0; k < M; k++) {
        px += c[k] * (float)wx[((size_t)g * M + k) * M + j];
        pa += c[k] * (float)wa[((size_t)g * M + k) * M + j];
    }
    float log_a = -8.0f * sigmoid(pa) * softplus((float)a_param[i]);
    float z = sigmoid(px) * sum, h;
    if (p == 0)
        h = z;
    else
        h = expf(log_a) * state[b * C + i] + sqrtf(-expm1f(2.0f * log_a)) * z;
    state[b * C + i] = h;
    out[b * C + i] = (E)(h * gelu((float)y[b * ld + i]));
}

template <typename E>
static wb_status step(
    E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,
    const E *bias, const E *wx, const E *bx, const E *wa, const E *ba, const E *a_param,
    const int *pos, int B, int G, int M, int width, int ld, cudaStream_t stream)
{
    if (B < 0 || G < 1 || M < 1 || M > MOST || width < 2 || width > 8 || ld < G * M)
        return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!out || !conv_state || !state || !x || !y || !w || !bias || !wx || !bx || !wa ||
        !ba || !a_param || !pos)
        return WB_BAD_SHAPE;
    step_rows<<<(unsigned)B * G, M, 0, stream>>>(
        out, conv_state, state, x, y, w, bias, wx, bx, wa, ba, a_param, pos, G, M, width,
        ld);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status rglru_step_##e(                                                            \
        E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,         \
        const E *bias, const E *wx, const E *bx, const E *wa, const E *ba,               \
        const E *a_param, const int *pos, int B, int G, int M, int width, int ld,        \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return step<E>(                                                                  \
            out, conv_state, state, x, y, w, bias, wx, bx, wa, ba, a_param, pos, B, G,   \
            M, width, ld, stream);                                                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
