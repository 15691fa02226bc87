/* step_row.cuh - one row of x: a stream of weights through shared memory.
 *
 * The whole matrix goes by once, so all that counts is that memory always has enough to
 * do. A block has a few outputs; their rows of w, one behind the other, are cut into equal
 * shares for its warps, wherever a row may end. Each lane copies what it alone will use,
 * SLOTS steps ahead, into its own places of shared memory, and needs no barrier for it.
 * A multiprocessor has several blocks, with up to 160 KB under way, and all of them are
 * there at once: a second round would begin with nothing under way.
 */
#ifndef STEP_ROW_CUH
#define STEP_ROW_CUH
#include "early.cuh"
#include "step.cuh"

constexpr int ROW_THREADS = 256, ROW_WARPS = ROW_THREADS / 32;
constexpr int SLOTS = 10;                     // steps ahead, a pack of each lane
constexpr int TOGETHER = 5;                   // steps that are taken at once
constexpr int RING = ROW_WARPS * SLOTS * 32;  // packs
constexpr int LONGEST_ROW = 16384;            // of x: it lies in shared memory, as floats
constexpr int MOST_SUMS = 2048;               // rows of w of a block
constexpr int MOST_BLOCKS = 4;                // of a multiprocessor, at once

/* Shared memory: the packs, u as floats, sums of rows */
static inline int row_bytes(int I, int rows)
{
    return RING * 16 + (I + rows) * (int)sizeof(float);
}

/* Blocks that a multiprocessor has room for: more would be a second round. */
static inline int blocks_at_once(int I)
{
    int fit = (227 << 10) / (row_bytes(I, 64) + 2048);
    return fit < 1 ? 1 : fit < MOST_BLOCKS ? fit : MOST_BLOCKS;
}

/* Where the floats of pack i of u lie: four of each pack side by side, then the next four,
 * so that the lanes of a warp read neighbours. */
template <int V>
static __device__ __forceinline__ float4 *quarter(float *u, int i, int h, int I)
{
    return (float4 *)(u + h * (I / (V / 4))) + i;
}

/* u = x (offset + norm) as floats into shared memory, and the sum of x^2 over the block */
template <typename E, int V>
static __device__ float
stage_row(float *u, const E *x, const E *norm, int I, float offset)
{
    __shared__ float of_warp[ROW_WARPS];
    for (int i = (int)threadIdx.x; norm && i < I / V; i += ROW_THREADS) {
        float f[V];
        load<V>(f, norm + i * V, V);
#pragma unroll
        for (int h = 0; h < V / 4; h++)
            *quarter<V>(u, i, h, I) = make_float4(
                offset + f[4 * h], offset + f[4 * h + 1], offset + f[4 * h + 2],
                offset + f[4 * h + 3]);
    }
    wait_for_kernel_before();
    float squares = 0.0f;
    for (int i = (int)threadIdx.x; i < I / V; i += ROW_THREADS) {
        float y[V];
        load<V>(y, x + i * V, V);
#pragma unroll
        for (int h = 0; h < V / 4; h++) {
            float4 *at = quarter<V>(u, i, h, I);
            float4 f = norm ? *at : make_float4(1.0f, 1.0f, 1.0f, 1.0f);
            const float *z = y + h * 4;
            squares += z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3];
            *at = make_float4(z[0] * f.x, z[1] * f.y, z[2] * f.z, z[3] * f.w);
        }
    }
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
    __syncthreads();  // u and every warp's squares are there
    float sum = 0.0f;
    for (int k = 0; k < ROW_WARPS; k++)
        sum += of_warp[k];
    return sum;
}

/* What a block has: outputs first .. first + n - 1, of both gates; their rows of w have
 * `steps` each, and warp k the steps from begin(k) on. */
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
        return (int)((long long)rows * steps * k / ROW_WARPS);
    }
};

/* The sums of rows that one warp has alone, and of those that begin or go on in a warp */
struct row_sums {
    float *whole, *begun, *continued;
    __device__ float of(const row_share &s, int row) const
    {
        int from = row * s.steps, k = 0;
        while (s.begin(k + 1) <= from)
            k++;
        if (s.begin(k + 1) >= from + s.steps) return whole[row];
        float sum = begun[k];
        while (s.begin(++k) < from + s.steps)
            if (s.begin(k) < s.begin(k + 1)) sum += continued[k];
        return sum;
    }
};

/* A lane's stream of packs: to come, and at hand */
template <typename E, int V> struct row_stream {
    uint4 *places;   // of this lane, 32 apart
    const E *w;      // the next pack to copy, if its lane has one
    int left, step;  // steps that are not under way yet; of the row
    int steps, packs, to, at;
    size_t gate;     // from the last gate row to the first of the other gates
    int until_gate;  // rows until then

    __device__ void copy(void)
    {
        if (left > 0) {
            if (step * 32 + (int)threadIdx.x % 32 < packs)
                copy_async(places + to * 32, w, true);
            left--, step++, w += 32 * V;
            if (step == steps) {
                w += packs * V - steps * 32 * V, step = 0;
                if (--until_gate == 0) w += gate;
            }
        }
        to = to + 1 == SLOTS ? 0 : to + 1;
        copy_commit();
    }

    /* sum += u w over N steps from step p on, and N new ones are under way */
    template <int N> __device__ void take(float (&sum)[2], float *u, int p)
    {
        pack<E, V> x[N];
        copy_wait<SLOTS - N>();
#pragma unroll
        for (int k = 0; k < N; k++) {
            x[k] = *(const pack<E, V> *)(places + at * 32);
            at = at + 1 == SLOTS ? 0 : at + 1;
        }
#pragma unroll
        for (int k = 0; k < N; k++)
            copy();  // into the places just read
#pragma unroll
        for (int k = 0; k < N; k++) {
            int i = (p + k) * 32 + (int)threadIdx.x % 32;
            if (i >= packs) continue;
#pragma unroll
            for (int h = 0; h < V / 4; h++) {
                float4 y = *quarter<V>(u, i, h, packs * V);
                sum[0] += y.x * (float)x[k].e[4 * h];
                sum[1] += y.y * (float)x[k].e[4 * h + 1];
                sum[0] += y.z * (float)x[k].e[4 * h + 2];
                sum[1] += y.w * (float)x[k].e[4 * h + 3];
            }
        }
    }
};

template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(ROW_THREADS, MOST_BLOCKS) row_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act)
{
    extern __shared__ uint4 shared[];
    __shared__ float begun[ROW_WARPS], continued[ROW_WARPS];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int packs = z.I / V, steps = (packs + 31) / 32;
    row_share s(z.O, GATES, steps);
    int begin = s.begin(warp), end = s.begin(warp + 1);
    int row = begin / steps, p = begin % steps;
    float *u = (float *)(shared + RING);
    row_sums sums = {u + z.I, begun, continued};

    row_stream<E, V> stream = {
        shared + warp * SLOTS * 32 + lane, w,        end - begin, p, steps, packs, 0, 0,
        (size_t)(z.O - s.n) * z.I,         s.n - row};
    stream.w += (size_t)(s.first + row) * z.I + ((size_t)p * 32 + lane) * V;
    if (stream.until_gate <= 0) stream.w += stream.gate;
    let_next_kernel_start();
    for (int k = 0; k < SLOTS; k++)
        stream.copy();
    float squares = stage_row<E, V>(u, x, norm, z.I, z.offset);
    float rstd = norm ? rsqrtf(squares / (float)z.I + z.eps) : 1.0f, addend = 0.0f;
    int o = s.first + (int)threadIdx.x;  // this thread's first output
    bool mine = (int)threadIdx.x < s.n;
    if (bias && mine) addend = (float)bias[o];
    if (res && mine) addend += (float)res[o];

    for (int at = begin; at < end; row++, p = 0) {
        int n = min(steps - p, end - at);
        float sum[2] = {};
        int k = p;
        for (; k + TOGETHER <= p + n; k += TOGETHER)
            stream.template take<TOGETHER>(sum, u, k);
        for (; k < p + n; k++)
            stream.template take<1>(sum, u, k);
        float total = warp_sum(sum[0] + sum[1]);
        if (lane == 0)
            *(n == steps ? sums.whole + row
              : p        ? continued + warp
                         : begun + warp) = total;
        at += n;
    }
    __syncthreads();  // all sums are there
    for (int j = (int)threadIdx.x; j < s.n; j += ROW_THREADS, o += ROW_THREADS) {
        if (j >= ROW_THREADS)
            addend = (bias ? (float)bias[o] : 0.0f) + (res ? (float)res[o] : 0.0f);
        float y = sums.of(s, j) * rstd + addend;
        if (GATES == 2) {
            float other = sums.of(s, s.n + j) * rstd;
            if (bias) other += (float)bias[z.O + o];
            y = activated(act, y) * other;
        }
        out[o] = Out(y);
    }
}

#endif
