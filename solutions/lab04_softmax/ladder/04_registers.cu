/* 04_registers.cu - 16-byte accesses, four of them in flight together, and the row stays
 * in registers from the first pass to the last: x is read once. Rows of more than 4
 * vectors per thread are read twice. Every row still gets one block, however short or
 * long. */
#include "softmax.h"
#include <float.h>

#include "capped.cuh"
#include "cuda/vec.cuh"
#include "online.cuh"

template <int V> constexpr int VECS_PER_THREAD = V == 1 ? 8 : 4;

/* A row of n visible columns: thread i owns the whole vectors i, i + THREADS, ... and,
 * after the last whole vector, column i of the rest. */
template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1)
    softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>, step = K * THREADS;  // vectors of the block
    int row = blockIdx.x, thread = threadIdx.x;
    int n = N - T + row % T + 1;  // visible columns; T = 1: all
    int whole = n / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    x += (size_t)row * N, out += (size_t)row * N;

    vec<E, V> in[K];  // at the end: those of the last step
    stats s = {-FLT_MAX, 0.0f};
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) in[k] = load_vec<V>(x, i);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (first + k * THREADS + thread >= whole) continue;
            for (int j = 0; j < V; j++)
                online_softmax(s, (float)in[k][j] * scale);
        }
    }
    float x_tail = tail < n ? (float)x[tail] : 0.0f;
    if (tail < n) online_softmax(s, x_tail * scale);
    s = combine(s);

    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) in[k] = load_vec<V>(x, i);
            for (int j = 0; j < V; j++)
                in[k][j] = E(expf((float)in[k][j] * scale - s.max) / s.sum);
            store_vec(out, i, in[k]);
        }
    if (tail < n) out[tail] = E(expf(x_tail * scale - s.max) / s.sum);
    for (int j = n + thread; j < N; j += THREADS)
        out[j] = E(0.0f);
}

template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1)
    backward_kernel(E *dx, const E *dout, const E *p, int R, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>, step = K * THREADS;  // vectors of the block
    int thread = threadIdx.x, whole = N / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    size_t row = (size_t)blockIdx.x * N;
    dx += row, dout += row, p += row;

    vec<E, V> d[K], q[K];
    float dot = 0.0f, d_tail = 0.0f, q_tail = 0.0f;
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) d[k] = load_vec<V>(dout, i), q[k] = load_vec<V>(p, i);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (first + k * THREADS + thread >= whole) continue;
            for (int j = 0; j < V; j++)
                dot += (float)d[k][j] * (float)q[k][j];
        }
    }
    if (tail < N) {
        d_tail = (float)dout[tail], q_tail = (float)p[tail];
        dot += d_tail * q_tail;
    }
    dot = block_sum(dot);

    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) d[k] = load_vec<V>(dout, i), q[k] = load_vec<V>(p, i);
            for (int j = 0; j < V; j++)
                d[k][j] = E(scale * (float)q[k][j] * ((float)d[k][j] - dot));
            store_vec(dx, i, d[k]);
        }
    if (tail < N) dx[tail] = E(scale * q_tail * (d_tail - dot));
}

/* dlogits of one column */
static __device__ float slope(float z, stats s, float g, bool is_target, float softcap)
{
    float dz = g * (expf(z - s.max) / s.sum - (is_target ? 1.0f : 0.0f));
    if (softcap > 0) dz *= 1.0f - (z / softcap) * (z / softcap);
    return dz;
}

template <typename E, int V>
static __global__ void __launch_bounds__(THREADS, 1) cross_entropy_kernel(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int classes, int ld, float softcap, int ignore)
{
    constexpr int K = VECS_PER_THREAD<V>, step = K * THREADS;  // vectors of the block
    int row = blockIdx.x, thread = threadIdx.x;
    int t = target[row], n = t == ignore ? 0 : classes;
    int whole = n / V, tail = whole * V + thread;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    const E *x = logits + (size_t)row * ld;

    vec<E, V> in[K];
    stats s = {-FLT_MAX, 0.0f};
    float z_target = 0.0f,
          z_tail = 0.0f;  // z_target: only the thread that reads it knows it
    for (int first = 0; first < whole; first += step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i < whole) in[k] = load_vec<V>(x, i);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            for (int j = 0; j < V; j++) {
                float z = capped((float)in[k][j], softcap);
                if (i * V + j == t) z_target = z;
                online_softmax(s, z);
            }
        }
    }
    if (tail < n) {
        z_tail = capped((float)x[tail], softcap);
        if (tail == t) z_target = z_tail;
        online_softmax(s, z_tail);
    }
    s = combine(s);
    int owner = t < whole * V ? t / V % THREADS : t - whole * V;
    if (n > 0 && thread == owner) loss[row] = logf(s.sum) + (s.max - z_target);
    if (n == 0 && thread == 0) loss[row] = 0.0f;
    if (!dlogits) return;

    float g = gscale ? *gscale : 1.0f;
    E *d = dlogits + (size_t)row * ld;
    for (int first = last; first >= 0; first -= step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * THREADS + thread;
            if (i >= whole) continue;
            if (first < last) in[k] = load_vec<V>(x, i);
            for (int j = 0; j < V; j++) {
                float z = capped((float)in[k][j], softcap);
                in[k][j] = E(slope(z, s, g, i * V + j == t, softcap));
            }
            store_vec(d, i, in[k]);
        }
    if (tail < n) d[tail] = E(slope(z_tail, s, g, tail == t, softcap));
    for (int j = n + thread; j < ld; j += THREADS)  // padding, and an ignored row
        d[j] = E(0.0f);
}

/* Can rows that are `stride` elements apart be read in vectors of 16 bytes? */
template <typename E> static bool rows_aligned(const void *p, int R, int stride)
{
    return is_aligned(16, p) && (R <= 1 || stride % VEC16<E> == 0);
}

template <typename E>
static void
forward(E *out, const E *x, int R, int T, int N, float scale, cudaStream_t stream)
{
    bool vectors = rows_aligned<E>(out, R, N) && rows_aligned<E>(x, R, N);
    auto kernel = vectors ? softmax_kernel<E, VEC16<E>> : softmax_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(out, x, R, T, N, scale);
}

template <typename E>
static void
backward(E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t stream)
{
    bool vectors = rows_aligned<E>(dx, R, N) && rows_aligned<E>(dout, R, N) &&
                   rows_aligned<E>(p, R, N);
    auto kernel = vectors ? backward_kernel<E, VEC16<E>> : backward_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(dx, dout, p, R, N, scale);
}

template <typename E>
static void entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t stream)
{
    bool vectors = rows_aligned<E>(dlogits, R, ld) && rows_aligned<E>(logits, R, ld);
    auto kernel =
        vectors ? cross_entropy_kernel<E, VEC16<E>> : cross_entropy_kernel<E, 1>;
    kernel<<<R, THREADS, 0, stream>>>(
        loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore);
}

#include "contract.h"
