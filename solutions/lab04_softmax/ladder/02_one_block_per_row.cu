/* 02_one_block_per_row.cu - still three passes, but a block shares a row: neighbouring
 * threads read neighbouring elements. Maximum and sum are reduced in shared memory, in a
 * tree: half of the threads, a quarter, ... with a barrier after every step. */
// fails: twice,once,causal_once,back_once,loss_once,grad_once
#include "softmax.h"
#include <float.h>

#include "capped.cuh"

constexpr int THREADS = 256;

/* The maximum (or sum) of v over the block, in every thread. */
template <bool MAXIMUM> static __device__ float reduce(float v)
{
    __shared__ float part[THREADS];
    part[threadIdx.x] = v;
    __syncthreads();  // all parts are visible
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = part[threadIdx.x + half];
            part[threadIdx.x] =
                MAXIMUM ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
        }
        __syncthreads();  // this level is done
    }
    v = part[0];
    __syncthreads();  // all threads have read it: part can be used again
    return v;
}

template <typename E>
static __global__ void
softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    int row = blockIdx.x;         // [0, R)
    int n = N - T + row % T + 1;  // visible columns; T = 1: all
    x += (size_t)row * N, out += (size_t)row * N;

    float m = -FLT_MAX;
    for (int j = threadIdx.x; j < n; j += THREADS)
        m = fmaxf(m, (float)x[j] * scale);
    m = reduce<true>(m);
    float sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += THREADS)
        sum += expf((float)x[j] * scale - m);
    sum = reduce<false>(sum);
    for (int j = threadIdx.x; j < N; j += THREADS)
        out[j] = j < n ? E(expf((float)x[j] * scale - m) / sum) : E(0.0f);
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
    dot = reduce<false>(dot);
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

    float m = -FLT_MAX;
    for (int j = threadIdx.x; j < n; j += THREADS)
        m = fmaxf(m, capped((float)x[j], softcap));
    m = reduce<true>(m);
    float sum = 0.0f;
    for (int j = threadIdx.x; j < n; j += THREADS)
        sum += expf(capped((float)x[j], softcap) - m);
    sum = reduce<false>(sum);
    if (threadIdx.x == 0)
        loss[row] = n == 0 ? 0.0f : logf(sum) + (m - capped((float)x[t], softcap));
    if (!dlogits) return;

    __syncthreads();  // x[t] has been read: dlogits may be logits
    float g = gscale ? *gscale : 1.0f;
    E *d = dlogits + (size_t)row * ld;
    for (int j = threadIdx.x; j < ld; j += THREADS) {
        if (j >= n) {  // padding, and all of an ignored row
            d[j] = E(0.0f);
            continue;
        }
        float z = capped((float)x[j], softcap);
        float dz = g * (expf(z - m) / sum - (j == t ? 1.0f : 0.0f));
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
