/* 04_registers.cu - accesses of 16 bytes, four of them under way at once, and the row
 * waits in registers from the first pass to the last: x is read once. Rows of more than
 * 4 packs a thread are read twice. Still one block a row, however short or long it is. */
#include "softmax.h"
#include <float.h>

enum { WARP = 32, THREADS = 256 };

/* V neighbouring elements that move as one access: 16 bytes, or V = 1: a single one */
template <typename E, int V> struct alignas(V * sizeof(E)) pack {
    E e[V];
};
static __device__ float warp_max(float v)
{
    for (int o = WARP / 2; o > 0; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
static __device__ float warp_sum(float v)
{
    for (int o = WARP / 2; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

/* What is known of some columns: their maximum, and the sum of exp(column - max). */
struct stats {
    float max, sum;
};

static __device__ void add(stats &s, float t)
{
    if (t > s.max) {  // the sum is in units of the old maximum
        s.sum *= expf(s.max - t);
        s.max = t;
    }
    s.sum += expf(t - s.max);
}

static __device__ stats combine_warp(stats own)
{
    float m = warp_max(own.max);
    return {m, warp_sum(own.sum * expf(own.max - m))};
}

/* Over the block, in every thread. -FLT_MAX, not -inf: (-inf) - (-inf) is NaN. */
static __device__ stats combine(stats own)
{
    __shared__ stats of_warp[THREADS / WARP];
    int lane = threadIdx.x % WARP;
    own = combine_warp(own);
    if (lane == 0) of_warp[threadIdx.x / WARP] = own;
    __syncthreads();  // every warp's stats are in of_warp
    return combine_warp(lane < THREADS / WARP ? of_warp[lane] : stats{-FLT_MAX, 0.0f});
}

/* A row of n visible columns: thread i has the packs i, i + THREADS, ...; whole packs
 * only, thread i also has column i of those behind the last whole pack. */
template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1)
    softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    const int K = V == 1 ? 8 : 4, step = K * THREADS;  // packs a thread keeps
    int row = blockIdx.x, thread = threadIdx.x;
    int n = N - T + row % T + 1;  // visible columns; T = 1: all
    int whole = n / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    x += (size_t)row * N, out += (size_t)row * N;
    const pack<E, V> *xp = (const pack<E, V> *)x;

    pack<E, V> in[K];  // at the end: those of the last step
    stats s = {-FLT_MAX, 0.0f};
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) in[k] = xp[i];
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (first + k * THREADS + thread >= whole) continue;
            for (int j = 0; j < V; j++)
                add(s, (float)in[k].e[j] * scale);
        }
    }
    float x_tail = tail < n ? (float)x[tail] : 0.0f;
    if (tail < n) add(s, x_tail * scale);
    s = combine(s);

    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) in[k] = xp[i];
            for (int j = 0; j < V; j++)
                in[k].e[j] = E(expf((float)in[k].e[j] * scale - s.max) / s.sum);
            ((pack<E, V> *)out)[i] = in[k];
        }
    if (tail < n) out[tail] = E(expf(x_tail * scale - s.max) / s.sum);
    for (int j = n + thread; j < N; j += THREADS)
        out[j] = E(0.0f);
}

template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1)
    backward_kernel(E *dx, const E *dout, const E *p, int R, int N, float scale)
{
    __shared__ float of_warp[THREADS / WARP];
    const int K = V == 1 ? 8 : 4, step = K * THREADS;  // packs a thread keeps
    int thread = threadIdx.x, whole = N / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    size_t row = (size_t)blockIdx.x * N;
    dx += row, dout += row, p += row;
    const pack<E, V> *dp = (const pack<E, V> *)dout, *pp = (const pack<E, V> *)p;

    pack<E, V> d[K], q[K];
    float dot = 0.0f, d_tail = 0.0f, q_tail = 0.0f;
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) d[k] = dp[i], q[k] = pp[i];
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (first + k * THREADS + thread >= whole) continue;
            for (int j = 0; j < V; j++)
                dot += (float)d[k].e[j] * (float)q[k].e[j];
        }
    }
    if (tail < N) {
        d_tail = (float)dout[tail], q_tail = (float)p[tail];
        dot += d_tail * q_tail;
    }
    dot = warp_sum(dot);
    int lane = thread % WARP;
    if (lane == 0) of_warp[thread / WARP] = dot;
    __syncthreads();  // every warp's sum is in of_warp
    dot = warp_sum(lane < THREADS / WARP ? of_warp[lane] : 0.0f);

    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) d[k] = dp[i], q[k] = pp[i];
            for (int j = 0; j < V; j++)
                d[k].e[j] = E(scale * (float)q[k].e[j] * ((float)d[k].e[j] - dot));
            ((pack<E, V> *)dx)[i] = d[k];
        }
    if (tail < N) dx[tail] = E(scale * q_tail * (d_tail - dot));
}

static __device__ float capped(float x, float softcap)
{
    return softcap > 0 ? softcap * tanhf(x / softcap) : x;
}

/* dlogits of one column */
static __device__ float slope(float z, stats s, float g, bool hit, float softcap)
{
    float dz = g * (expf(z - s.max) / s.sum - (hit ? 1.0f : 0.0f));
    if (softcap > 0) dz *= 1.0f - (z / softcap) * (z / softcap);
    return dz;
}

template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1) cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int classes, int ld, float softcap, int ignore)
{
    const int K = V == 1 ? 8 : 4, step = K * THREADS;  // packs a thread keeps
    int row = blockIdx.x, thread = threadIdx.x;
    int t = target[row], n = t == ignore ? 0 : classes;
    int whole = n / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    const E *x = logits + (size_t)row * ld;
    const pack<E, V> *xp = (const pack<E, V> *)x;

    pack<E, V> in[K];
    stats s = {-FLT_MAX, 0.0f};
    float z_target = 0.0f, z_tail = 0.0f;  // z_target: known to the thread that passes it
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) in[k] = xp[i];
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            for (int j = 0; j < V; j++) {
                float z = capped((float)in[k].e[j], softcap);
                if (i * V + j == t) z_target = z;
                add(s, z);
            }
        }
    }
    if (tail < n) {
        z_tail = capped((float)x[tail], softcap);
        if (tail == t) z_target = z_tail;
        add(s, z_tail);
    }
    s = combine(s);
    int owner = t < whole * V ? t / V % THREADS : t - whole * V;
    if (n > 0 && thread == owner) loss[row] = logf(s.sum) + (s.max - z_target);
    if (n == 0 && thread == 0) loss[row] = 0.0f;
    if (dlogits == NULL) return;

    float g = gscale ? *gscale : 1.0f;
    E *d = dlogits + (size_t)row * ld;
    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) in[k] = xp[i];
            for (int j = 0; j < V; j++) {
                float z = capped((float)in[k].e[j], softcap);
                in[k].e[j] = E(slope(z, s, g, i * V + j == t, softcap));
            }
            ((pack<E, V> *)d)[i] = in[k];
        }
    if (tail < n) d[tail] = E(slope(z_tail, s, g, tail == t, softcap));
    for (int j = n + thread; j < ld; j += THREADS)  // padding, and an ignored row
        d[j] = E(0.0f);
}

/* May rows that are `stride` elements apart be read in packs of 16 bytes? */
template <typename E> static bool aligned(const void *p, int R, int stride)
{
    return (uintptr_t)p % 16 == 0 && (R <= 1 || stride % (16 / sizeof(E)) == 0);
}

template <typename E>
static void
forward(E *out, const E *x, int R, int T, int N, float scale, cudaStream_t stream)
{
    constexpr int V = 16 / sizeof(E);
    bool wide = aligned<E>(out, R, N) && aligned<E>(x, R, N);
    auto kernel = wide ? softmax_kernel<E, V> : softmax_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(out, x, R, T, N, scale);
}

template <typename E>
static void
backward(E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t stream)
{
    constexpr int V = 16 / sizeof(E);
    bool wide = aligned<E>(dx, R, N) && aligned<E>(dout, R, N) && aligned<E>(p, R, N);
    auto kernel = wide ? backward_kernel<E, V> : backward_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(dx, dout, p, R, N, scale);
}

template <typename E>
static void entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t stream)
{
    constexpr int W = 16 / sizeof(E);
    bool wide = aligned<E>(dlogits, R, ld) && aligned<E>(logits, R, ld);
    auto kernel = wide ? cross_entropy_kernel<E, W> : cross_entropy_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(
        loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore);
}

#include "contract.h"
