/* 03_online.cu - maximum and sum in one pass: whenever the running maximum grows, the
 * running sum is rescaled. That saves one pass over x: three passes over memory, not
 * four. The reductions are butterflies within warps: one barrier per row, not twenty. */
// fails: once,causal_once,back_once,grad_once
#include "softmax.h"
#include <float.h>

#include "capped.cuh"
#include "online.cuh"

template <typename E>
static __global__ void
softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    int row = blockIdx.x;         // [0, R)
    int n = N - T + row % T + 1;  // visible columns; T = 1: all
    x += (size_t)row * N, out += (size_t)row * N;

    stats s = {-FLT_MAX, 0.0f};
    for (int j = threadIdx.x; j < n; j += THREADS)
        online_softmax(s, (float)x[j] * scale);
    s = combine(s);
    for (int j = threadIdx.x; j < N; j += THREADS)
        out[j] = j < n ? E(expf((float)x[j] * scale - s.max) / s.sum) : E(0.0f);
}

template <typename E>
static __global__ void
backward_kernel(E *dx, const E *dout, const E *p, int R, int N, float scale)
{
    size_t row = (size_t)blockIdx.x * N;
    dx += row, dout += row, p += row;

    float dot = 0.0f;
    for (int j = threadIdx.x; j < N; j += THREADS)
        dot += (float)p[j] * (float)dout[j];
    dot = block_sum(dot);
    for (int j = threadIdx.x; j < N; j += THREADS)
        dx[j] = E(scale * (float)p[j] * ((float)dout[j] - dot));
}

template <typename E>
static __global__ void cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore)
{
    int row = blockIdx.x;  // [0, R)
    const E *x = logits + (size_t)row * ld;
    int t = target[row], n = t == ignore ? 0 : V;

    stats s = {-FLT_MAX, 0.0f};
    float z_target = 0.0f;  // only the thread that reads it knows it
    for (int j = threadIdx.x; j < n; j += THREADS) {
        float z = capped((float)x[j], softcap);
        if (j == t) z_target = z;
        online_softmax(s, z);
    }
    s = combine(s);
    if (n > 0 && threadIdx.x == t % THREADS) loss[row] = logf(s.sum) + (s.max - z_target);
    if (n == 0 && threadIdx.x == 0) loss[row] = 0.0f;
    if (!dlogits) return;

    float g = gscale ? *gscale : 1.0f;
    E *d = dlogits + (size_t)row * ld;
    for (int j = threadIdx.x; j < ld; j += THREADS) {
        if (j >= n) {  // padding, and all of an ignored row
            d[j] = E(0.0f);
            continue;
        }
        float z = capped((float)x[j], softcap);
        float dz = g * (expf(z - s.max) / s.sum - (j == t ? 1.0f : 0.0f));
        if (softcap > 0) dz *= 1.0f - (z / softcap) * (z / softcap);
        d[j] = E(dz);
    }
}

template <typename E>
static void
forward(E *out, const E *x, int R, int T, int N, float scale, cudaStream_t stream)
{
    softmax_kernel<<<R, THREADS, 0, stream>>>(out, x, R, T, N, scale);
}

template <typename E>
static void
backward(E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t stream)
{
    backward_kernel<<<R, THREADS, 0, stream>>>(dx, dout, p, R, N, scale);
}

template <typename E>
static void entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t stream)
{
    cross_entropy_kernel<<<R, THREADS, 0, stream>>>(
        loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore);
}

#include "contract.h"
