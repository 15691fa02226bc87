/* scan_01_serial.cu - parts 06.4 and 06.5: a thread per row and channel walks through
 * time, as the formula reads.
 *
 * Neighbouring threads take neighbouring rows, T C elements apart: each of a warp's 32
 * accesses needs a memory sector of its own and uses 2 or 4 bytes of it. And a thread
 * loads one step at a time, so the latency of memory is the limit, not its bandwidth.
 */
// fails: scan_coalesced,scan_once,fused_coalesced,slope_once
#include "rglru_contract.cuh"

constexpr int THREADS = 128;

// s(x) = 1 / (1 + exp(-x)), with an exponent that is never positive
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
    // beyond 16, s is 0 or 1 and y^3 may overflow
    float v = fminf(fmaxf(y, -16.0f), 16.0f);
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
    float back = dh_last ? dh_last[row] : 0.0f;  // a[t+1] dz[t+1]
    for (int t = T - 1; t >= 0; t--, at -= C) {
        float d = (float)dh[at] + back;
        float before = t ? (float)h[at - C] : h0 ? h0[row] : 0.0f;
        dz[at] = (E)d;
        da[at] = (E)(d * before);
        back = (float)a[at] * d;
    }
    if (dh0) dh0[row] = back;
}

template <typename E> static __global__ void fused_rows(rglru_call<E> call)
{
    int B = call.B, T = call.T, C = call.C;
    size_t n = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
    if (n >= (size_t)B * C) return;
    size_t b = n % B, i = n / B;
    float rate = -8.0f * softplus((float)call.a_param[i]);
    float s = call.state ? call.state[b * C + i] : 0.0f;
    for (int t = 0; t < T; t++) {
        size_t token = b * T + t, at = token * C + i;
        bool first = call.pos ? call.pos[token] == 0 : t == 0;
        float log_a = rate * sigmoid((float)call.pa[at]);
        float a = first ? 0.0f : expf(log_a);
        float m = first ? 1.0f : sqrtf(-expm1f(2.0f * log_a));
        s = (first ? 0.0f : a * s) + m * sigmoid((float)call.px[at]) * (float)call.c[at];
        float slope, side = 1.0f;
        if (call.y) side = gelu((float)call.y[token * call.ldy + i], &slope);
        call.out[at] = (E)(s * side);
        if (call.h) call.h[at] = s;
        int len = call.len ? call.len[b] : T;
        if (call.state && t + 1 == len) call.state[b * C + i] = s;
    }
}

/* A thread per channel takes all rows, one after another, so da_param is the sum of one
 * thread, always in the same order. */
template <typename E> static __global__ void fused_rows_backward(rglru_back_call<E> call)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, T = call.T, C = call.C;  // i: [0, C)
    if (i >= C) return;
    float plus = softplus((float)call.a_param[i]), sum = 0.0f;
    for (int b = 0; b < call.B; b++) {
        float back = 0.0f;  // a[t+1] dz[t+1]
        for (int t = T - 1; t >= 0; t--) {
            size_t token = (size_t)b * T + t, at = token * C + i;
            bool first = call.pos ? call.pos[token] == 0 : t == 0;
            float x = (float)call.c[at], gx = sigmoid((float)call.px[at]);
            float ga = sigmoid((float)call.pa[at]), log_a = -8.0f * ga * plus;
            float a = first ? 0.0f : expf(log_a);
            float q = first ? 1.0f : -expm1f(2.0f * log_a), m = sqrtf(q);
            float slope = 0.0f, g = (float)call.dout[at];
            if (call.y) {
                size_t at_y = token * call.ldy + i;
                float side = gelu((float)call.y[at_y], &slope);
                call.dy[at_y] = (E)(g * call.h[at] * slope);
                g *= side;
            }
            float dz = g + back;
            float da = first || !t ? 0.0f : dz * call.h[at - C];
            float dq = dz * gx * x * rsqrtf(fmaxf(4.0f * q, 1e-6f));
            float dlog = first ? 0.0f : da * a - 2.0f * a * a * dq;
            call.dc[at] = (E)(dz * m * gx);
            call.dpx[at] = (E)(dz * m * x * gx * (1.0f - gx));
            call.dpa[at] = (E)(-8.0f * plus * ga * (1.0f - ga) * dlog);
            sum += -8.0f * ga * dlog;
            back = a * dz;
        }
    }
    call.da_param[i] += sum * sigmoid((float)call.a_param[i]);
}

static unsigned block_count(int B, int C)
{
    return (unsigned)(((size_t)B * C + THREADS - 1) / THREADS);
}

template <typename E> static size_t linear_scan_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status linear_scan(scan_call<E> call, void *, cudaStream_t stream)
{
    scan_rows<<<block_count(call.B, call.C), THREADS, 0, stream>>>(
        call.h, call.h_last, call.a, call.z, call.h0, call.B, call.T, call.C);
    return wb_launched();
}

template <typename E> static size_t linear_scan_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status linear_scan_back(scan_back_call<E> call, void *, cudaStream_t stream)
{
    scan_rows_backward<<<block_count(call.B, call.C), THREADS, 0, stream>>>(
        call.da, call.dz, call.dh0, call.dh, call.dh_last, call.a, call.h, call.h0,
        call.B, call.T, call.C);
    return wb_launched();
}

template <typename E> static size_t rglru_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status rglru(rglru_call<E> call, void *, cudaStream_t stream)
{
    fused_rows<<<block_count(call.B, call.C), THREADS, 0, stream>>>(call);
    return wb_launched();
}

template <typename E> static size_t rglru_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status rglru_back(rglru_back_call<E> call, void *, cudaStream_t stream)
{
    fused_rows_backward<<<block_count(1, call.C), THREADS, 0, stream>>>(call);
    return wb_launched();
}

DEFINE_LINEAR_SCAN_FORWARD(float, f32)
DEFINE_LINEAR_SCAN_FORWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_FORWARD(wb_bf16, bf16)
DEFINE_LINEAR_SCAN_BACKWARD(float, f32)
DEFINE_LINEAR_SCAN_BACKWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_BACKWARD(wb_bf16, bf16)
DEFINE_RGLRU_FORWARD(float, f32)
DEFINE_RGLRU_FORWARD(wb_f16, f16)
DEFINE_RGLRU_FORWARD(wb_bf16, bf16)
DEFINE_RGLRU_BACKWARD(float, f32)
DEFINE_RGLRU_BACKWARD(wb_f16, f16)
DEFINE_RGLRU_BACKWARD(wb_bf16, bf16)
