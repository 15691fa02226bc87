/* scan_01_serial.cu - a thread per row and channel walks through time, as the formula reads.
 *
 * Neighbouring threads take neighbouring rows, T C elements apart: each of a warp's 32
 * accesses is a sector of memory of its own, of which 2 or 4 bytes are used. And a thread
 * asks for one step at a time, so memory answers at its latency, not at its bandwidth.
 */
#include "rglru.h"

constexpr int BLOCK = 128;

// s(x) = 1 / (1 + exp(-x)) in the form whose exponent is negative
static __device__ float sigmoid(float x)
{
    float e = expf(-fabsf(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static __device__ float softplus(float x)  // log(1 + exp(x))
{
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

/* gelu(y) = y s(g(y)), g(y) = 2 sqrt(2/pi) (y + 0.044715 y^3): (1 + tanh u)/2 = s(2u) */
static __device__ float gelu(float y, float *slope)
{
    float v = fminf(fmaxf(y, -16.0f), 16.0f);  // beyond, s is 0 or 1 and y^3 may overflow
    float s = sigmoid(1.5957691216057308f * v * (1.0f + 0.044715f * v * v));
    *slope = s + v * s * (1.0f - s) * 1.5957691216057308f * (1.0f + 0.134145f * v * v);
    return y * s;
}

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
    float back = dh_last ? dh_last[row] : 0.0f;  // a[t+1] dz[t+1]: from the right
    for (int t = T - 1; t >= 0; t--, at -= C) {
        float d = (float)dh[at] + back;
        float before = t ? (float)h[at - C] : h0 ? h0[row] : 0.0f;
        dz[at] = (E)d;
        da[at] = (E)(d * before);
        back = (float)a[at] * d;
    }
    if (dh0) dh0[row] = back;
}

template <typename E>
static __global__ void fused_rows(
    E *out, float *h, float *state, const E *c, const E *px, const E *pa, const E *y,
    const E *a_param, const int *pos, const int *len, int B, int T, int C, int ldy)
{
    size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (n >= (size_t)B * C) return;
    size_t b = n % B, i = n / B;
    float rate = -8.0f * softplus((float)a_param[i]);
    float s = state ? state[b * C + i] : 0.0f;
    for (int t = 0; t < T; t++) {
        size_t token = b * T + t, at = token * C + i;
        bool first = pos ? pos[token] == 0 : t == 0;
        float log_a = rate * sigmoid((float)pa[at]);
        float a = first ? 0.0f : expf(log_a);
        float m = first ? 1.0f : sqrtf(-expm1f(2.0f * log_a));
        s = (first ? 0.0f : a * s) + m * sigmoid((float)px[at]) * (float)c[at];
        float slope, side = y ? gelu((float)y[token * ldy + i], &slope) : 1.0f;
        out[at] = (E)(s * side);
        if (h) h[at] = s;
        if (state && t + 1 == (len ? len[b] : T)) state[b * C + i] = s;
    }
}

/* A thread per channel takes all rows, one after another: so da_param is one thread's sum,
 * always in the same order. */
template <typename E>
static __global__ void fused_rows_backward(
    E *dc, E *dpx, E *dpa, E *dy, float *da_param, const E *dout, const E *c, const E *px,
    const E *pa, const E *y, const float *h, const E *a_param, const int *pos, int B,
    int T, int C, int ldy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (i >= C) return;
    float plus = softplus((float)a_param[i]), sum = 0.0f;
    for (int b = 0; b < B; b++) {
        float back = 0.0f;  // a[t+1] dz[t+1]
        for (int t = T - 1; t >= 0; t--) {
            size_t token = (size_t)b * T + t, at = token * C + i;
            bool first = pos ? pos[token] == 0 : t == 0;
            float x = (float)c[at], gx = sigmoid((float)px[at]);
            float ga = sigmoid((float)pa[at]), log_a = -8.0f * ga * plus;
            float a = first ? 0.0f : expf(log_a);
            float q = first ? 1.0f : -expm1f(2.0f * log_a), m = sqrtf(q);
            float slope = 0.0f, g = (float)dout[at];
            if (y) {
                float side = gelu((float)y[token * ldy + i], &slope);
                dy[token * ldy + i] = (E)(g * h[at] * slope);
                g *= side;
            }
            float dz = g + back;
            float da = first || !t ? 0.0f : dz * h[at - C];
            float dq = dz * gx * x * rsqrtf(fmaxf(4.0f * q, 1e-6f));
            float dlog = first ? 0.0f : da * a - 2.0f * a * a * dq;
            dc[at] = (E)(dz * m * gx);
            dpx[at] = (E)(dz * m * x * gx * (1.0f - gx));
            dpa[at] = (E)(-8.0f * plus * ga * (1.0f - ga) * dlog);
            sum += -8.0f * ga * dlog;
            back = a * dz;
        }
    }
    da_param[i] += sum * sigmoid((float)a_param[i]);
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

template <typename E>
static void fused_forward(
    E *out, float *h, float *state, const E *c, const E *px, const E *pa, const E *y,
    const E *a_param, const int *pos, const int *len, int B, int T, int C, int ldy,
    void *, cudaStream_t stream)
{
    fused_rows<<<blocks_for(B, C), BLOCK, 0, stream>>>(
        out, h, state, c, px, pa, y, a_param, pos, len, B, T, C, ldy);
}

template <typename E>
static void fused_backward(
    E *dc, E *dpx, E *dpa, E *dy, float *da_param, const E *dout, const E *c, const E *px,
    const E *pa, const E *y, const float *h, const E *a_param, const int *pos, int B,
    int T, int C, int ldy, void *, cudaStream_t stream)
{
    fused_rows_backward<<<blocks_for(1, C), BLOCK, 0, stream>>>(
        dc, dpx, dpa, dy, da_param, dout, c, px, pa, y, h, a_param, pos, B, T, C, ldy);
}

static size_t scan_workspace(int, int, int)
{
    return 0;
}

static size_t fused_workspace(int, int, int)
{
    return 0;
}

#include "fused_contract.h"
#include "scan_contract.h"
