/* step_gemv.cuh - one row of x and a large matrix: a stream of weights through shared
 * memory.
 *
 * The whole matrix is read once, so the speed depends on how many requests to memory are
 * in flight. A block has a few outputs. Their rows of w, one after another, are cut into
 * equal shares for its warps, regardless of where a row ends. Each lane copies what it
 * alone will use, STAGES iterations ahead, into its own slots of shared memory, so the
 * copies need no barrier. A multiprocessor holds several blocks with up to 160 KB in
 * flight, and the grid is one wave: a second wave would start with nothing in flight.
 */
#ifndef STEP_GEMV_CUH
#define STEP_GEMV_CUH
#include "step.cuh"
#include "step_plan.h"

constexpr int UNROLL = 5;  // iterations computed together

/* The address of four floats of vector i of u: h = 0 the first four, 1 the next four. The
 * first four of all vectors are contiguous, then come the next four, so that the lanes of
 * a warp read neighbouring addresses. */
template <int V>
static __device__ __forceinline__ float4 *quad(float *u, int i, int h, int I)
{
    return (float4 *)(u + h * (I / (V / 4))) + i;
}

/* Stores u = x (offset + norm) as floats in shared memory; returns the sum of x^2 over
 * the block. */
template <typename E, int V>
static __device__ float
stage_row(float *u, const E *x, const E *norm, int I, float offset)
{
    __shared__ float warp_sums[GEMV_WARPS];
    for (int i = (int)threadIdx.x; norm && i < I / V; i += GEMV_THREADS) {
        float f[V];
        load_float<V>(f, norm + i * V, V);
#pragma unroll
        for (int h = 0; h < V / 4; h++)
            *quad<V>(u, i, h, I) = make_float4(
                offset + f[4 * h], offset + f[4 * h + 1], offset + f[4 * h + 2],
                offset + f[4 * h + 3]);
    }
    pdl_wait();
    float squares = 0.0f;
    for (int i = (int)threadIdx.x; i < I / V; i += GEMV_THREADS) {
        float y[V];
        load_float<V>(y, x + i * V, V);
#pragma unroll
        for (int h = 0; h < V / 4; h++) {
            float4 *at = quad<V>(u, i, h, I);
            float4 f = norm ? *at : make_float4(1.0f, 1.0f, 1.0f, 1.0f);
            const float *z = y + h * 4;
            squares += z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3];
            *at = make_float4(z[0] * f.x, z[1] * f.y, z[2] * f.z, z[3] * f.w);
        }
    }
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = squares;
    __syncthreads();  // u and warp_sums are complete
    float sum = 0.0f;
    for (int k = 0; k < GEMV_WARPS; k++)
        sum += warp_sums[k];
    return sum;
}

/* The work of a block: outputs first to first + n - 1, of both gates. Each of their rows
 * of w takes `steps` iterations; warp k has those from begin(k) to begin(k + 1) - 1. */
struct row_share {
    int first, n, rows, steps;
    __device__ row_share(int O, int gates, int steps_of_row)
    {
        first = (int)((long long)O * blockIdx.x / gridDim.x);
        n = (int)((long long)O * (blockIdx.x + 1) / gridDim.x) - first;
        rows = gates * n, steps = steps_of_row;
    }
    __device__ int begin(int k) const
    {
        return (int)((long long)rows * steps * k / GEMV_WARPS);
    }
};

/* Sums of rows that one warp has alone, of rows that start in a warp, of rows that
 * continue in it */
struct row_sums {
    float *whole, *started, *continued;
    __device__ float of(const row_share &s, int row) const
    {
        int from = row * s.steps, k = 0;
        while (s.begin(k + 1) <= from)
            k++;
        if (s.begin(k + 1) >= from + s.steps) return whole[row];
        float sum = started[k];
        while (s.begin(++k) < from + s.steps)
            if (s.begin(k) < s.begin(k + 1)) sum += continued[k];
        return sum;
    }
};

/* The vectors of one lane: in flight, and ready */
template <typename E, int V> struct row_stream {
    uint4 *slots;     // of this lane, 32 apart
    const E *w;       // the next vector to copy, if its lane has one
    int left, step;   // iterations not yet in flight; the next one's number in its row
    int steps, vecs;  // of a row
    int write, read;  // slots
    size_t gate;      // elements from the last gate row's end to the other gate's first
    int rows_to_gate;

    __device__ void copy(void)
    {
        if (left > 0) {
            if (step * 32 + (int)threadIdx.x % 32 < vecs)
                cp_async(slots + write * 32, w, true);
            left--, step++, w += 32 * V;
            if (step == steps) {
                w += vecs * V - steps * 32 * V, step = 0;
                if (--rows_to_gate == 0) w += gate;
            }
        }
        write = write + 1 == STAGES ? 0 : write + 1;
        cp_async_commit();
    }

    /* sum += u w over N iterations from p on; starts the copies of N more. */
    template <int N> __device__ void add(float (&sum)[2], float *u, int p)
    {
        vec<E, V> x[N];
        cp_async_wait<STAGES - N>();
#pragma unroll
        for (int k = 0; k < N; k++) {
            x[k] = *(const vec<E, V> *)(slots + read * 32);
            read = read + 1 == STAGES ? 0 : read + 1;
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            copy();  // into the slots just read
#pragma unroll
        for (int k = 0; k < N; k++) {
            int i = (p + k) * 32 + (int)threadIdx.x % 32;
            if (i >= vecs) continue;
#pragma unroll
            for (int h = 0; h < V / 4; h++) {
                float4 y = *quad<V>(u, i, h, vecs * V);
                sum[0] += y.x * (float)x[k][4 * h];
                sum[1] += y.y * (float)x[k][4 * h + 1];
                sum[0] += y.z * (float)x[k][4 * h + 2];
                sum[1] += y.w * (float)x[k][4 * h + 3];
            }
        }
    }
};

template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(GEMV_THREADS, BLOCKS_PER_SM) gemv_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res,
    step_sizes z, int act)
{
    extern __shared__ uint4 smem[];
    __shared__ float started[GEMV_WARPS], continued[GEMV_WARPS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int vecs = z.I / V, steps = (vecs + 31) / 32;
    row_share s(z.O, GATES, steps);
    int begin = s.begin(warp), end = s.begin(warp + 1);
    int row = begin / steps, p = begin % steps;
    float *u = (float *)(smem + RING);
    row_sums sums = {u + z.I, started, continued};

    row_stream<E, V> stream = {
        smem + warp * STAGES * 32 + lane, w,        end - begin, p, steps, vecs, 0, 0,
        (size_t)(z.O - s.n) * z.I,        s.n - row};
    stream.w += (size_t)(s.first + row) * z.I + ((size_t)p * 32 + lane) * V;
    if (stream.rows_to_gate <= 0) stream.w += stream.gate;
    pdl_trigger();
    for (int k = 0; k < STAGES; k++)
        stream.copy();
    float squares = stage_row<E, V>(u, x, norm, z.I, z.offset);
    float rstd = norm ? rsqrtf(squares / (float)z.I + z.eps) : 1.0f, addend = 0.0f;
    int o = s.first + (int)threadIdx.x;  // this thread's first output
    bool has_output = (int)threadIdx.x < s.n;
    if (bias && has_output) addend = (float)bias[o];
    if (res && has_output) addend += (float)res[o];

    for (int at = begin; at < end; row++, p = 0) {
        int n = min(steps - p, end - at), k = p;
        float sum[2] = {};
        for (; k + UNROLL <= p + n; k += UNROLL)
            stream.template add<UNROLL>(sum, u, k);
        for (; k < p + n; k++)
            stream.template add<1>(sum, u, k);
        float total = warp_sum(sum[0] + sum[1]);
        float *to = n == steps ? sums.whole + row : p ? continued + warp : started + warp;
        if (lane == 0) *to = total;
        at += n;
    }
    __syncthreads();  // all sums are complete
    for (int j = (int)threadIdx.x; j < s.n; j += GEMV_THREADS, o += GEMV_THREADS) {
        if (j >= GEMV_THREADS)
            addend = (bias ? (float)bias[o] : 0.0f) + (res ? (float)res[o] : 0.0f);
        float y = sums.of(s, j) * rstd + addend;
        if (GATES == 2) {
            float other = sums.of(s, s.n + j) * rstd;
            if (bias) other += (float)bias[z.O + o];
            y = activate(act, y) * other;
        }
        out[o] = Out(y);
    }
}

#endif
