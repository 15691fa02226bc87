/* 01_one_thread_per_row.cu - the formulas, word for word: one thread per row, in
 * three passes (maximum, sum, division). Neighbouring threads read elements that are N
 * apart, so every access of a warp touches 32 different lines of memory. */
// fails: coalesced,twice,once,causal_once,back_once,loss_once,grad_once
#include "softmax.h"
#include <float.h>

#include "capped.cuh"

constexpr int THREADS = 128;  // rows per block

template <typename E>
static __global__ void
softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    if (row >= R) return;
    int n = N - T + row % T + 1;  // visible columns; T = 1: all
    x += (size_t)row * N, out += (size_t)row * N;

    float m = -FLT_MAX;
    for (int j = 0; j < n; j++)
        m = fmaxf(m, (float)x[j] * scale);
    double sum = 0.0;            // 100,000 terms, added one by one, drift in float
    for (int j = 0; j < n; j++)  // subtract the max: expf(89) is inf
        sum += expf((float)x[j] * scale - m);
    for (int j = 0; j < n; j++)
        out[j] = E(expf((float)x[j] * scale - m) / (float)sum);
    for (int j = n; j < N; j++)
        out[j] = E(0.0f);
}

template <typename E>
static __global__ void
backward_kernel(E *dx, const E *dout, const E *p, int R, int N, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    if (row >= R) return;
    dx += (size_t)row * N, dout += (size_t)row * N, p += (size_t)row * N;

    double dot = 0.0;
    for (int j = 0; j < N; j++)
        dot += (float)p[j] * (float)dout[j];
    for (int j = 0; j < N; j++)
        dx[j] = E(scale * (float)p[j] * ((float)dout[j] - (float)dot));
}

template <typename E>
static __global__ void cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;  // [0, R)
    if (row >= R) return;
    const E *x = logits + (size_t)row * ld;
    int t = target[row], n = t == ignore ? 0 : V;

    float m = -FLT_MAX;
    for (int j = 0; j < n; j++)
        m = fmaxf(m, capped((float)x[j], softcap));
    double sum = 0.0;  // 100,000 terms, added one by one, drift in float
    for (int j = 0; j < n; j++)
        sum += expf(capped((float)x[j], softcap) - m);
    loss[row] = n == 0 ? 0.0f : logf((float)sum) + (m - capped((float)x[t], softcap));
    if (!dlogits) return;

    float g = gscale ? *gscale : 1.0f;
    E *d = dlogits + (size_t)row * ld;
    for (int j = 0; j < n; j++) {
        float z = capped((float)x[j], softcap);
        float dz = g * (expf(z - m) / (float)sum - (j == t ? 1.0f : 0.0f));
        if (softcap > 0) dz *= 1.0f - (z / softcap) * (z / softcap);
        d[j] = E(dz);
    }
    for (int j = n; j < ld; j++)  // padding, and all of an ignored row
        d[j] = E(0.0f);
}

template <typename E>
static void
forward(E *out, const E *x, int R, int T, int N, float scale, cudaStream_t stream)
{
    softmax_kernel<<<((unsigned)R + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        out, x, R, T, N, scale);
}

template <typename E>
static void
backward(E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t stream)
{
    backward_kernel<<<((unsigned)R + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        dx, dout, p, R, N, scale);
}

template <typename E>
static void entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t stream)
{
    cross_entropy_kernel<<<((unsigned)R + THREADS - 1) / THREADS, THREADS, 0, stream>>>(
        loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore);
}

#include "contract.h"
