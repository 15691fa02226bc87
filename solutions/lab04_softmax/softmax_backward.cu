/* softmax_backward.cu - lab 04: the backward pass of both softmaxes, for masked p are 0:
 *     dx = scale p (dout - sum_j p dout)
 * The contract is softmax.h. Parts 04.4 and 04.7.
 */
#include "softmax.h"

#include "rows.cuh"

/* --- kernel ------------------------------------------------------------------------- */

// BEGIN SOLUTION 04.4 (about 70 lines)
//> /* TODO(04.4): one sum per row, then dx. dx may be dout: every thread must read what it
//>  * needs before any thread writes. About 6 lines. */
//> template <typename E>
//> static __global__ void
//> backward_kernel(E *dx, const E *dout, const E *prob, int R, int N, float scale)
//> {
//>     size_t at = (size_t)blockIdx.x * N;  // of the row's first element
//>     dx += at, dout += at, prob += at;
//> }
/* The sum over the LANES lanes that share a row, or (LANES = 0) over the block, in all of
 * its threads */
template <int LANES> static __device__ float row_sum(float v)
{
    if constexpr (LANES > 0) {
        return group_sum<LANES>(v);
    } else {
        __shared__ float of_warp[ROW_THREADS / WARP];
        int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        v = group_sum<WARP>(v);
        if (lane == 0) of_warp[threadIdx.x / WARP] = v;
        __syncthreads();  // every warp's sum is in of_warp
        return group_sum<WARP>(lane < warps ? of_warp[lane] : 0.0f);
    }
}

/* A row longer than one step of the block is read twice, except for its last step, which
 * stays in registers: backwards, because the L2 has what was read last. */
template <typename E, int V, int LANES>
static __global__ void __launch_bounds__(LANES ? SHORT_ROW_THREADS : ROW_THREADS, 1)
    backward_kernel(E *dx, const E *dout, const E *prob, int R, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>;
    place p = my_place<LANES, V>();
    bool mine = p.row < R;  // no return: all lanes of a warp meet in row_sum
    share s = share_of<V>(mine ? N : 0, p.lane, p.width);
    size_t at = (size_t)p.row * N;
    dx += at, dout += at, prob += at;

    raw<E, V> d[K], q[K];
    float d_tail = s.tail < s.n ? (float)dout[s.tail] : 0.0f;
    float q_tail = s.tail < s.n ? (float)prob[s.tail] : 0.0f;
    float dot = d_tail * q_tail;
    for (int first = 0; first < s.whole; first += s.step) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * s.width + s.lane;
            if (i < s.whole)
                d[k] = load_raw<E, V>(dout, i), q[k] = load_raw<E, V>(prob, i);
        }
#pragma unroll
        for (int k = 0; k < K; k++) {
            if (first + k * s.width + s.lane >= s.whole) continue;
            float a[V], b[V];
            to_float<E, V>(a, d[k]), to_float<E, V>(b, q[k]);
            for (int j = 0; j < V; j++)
                dot += a[j] * b[j];
        }
    }
    dot = row_sum<LANES>(dot);  // no thread writes before all have read

    for (int first = s.last; first >= 0; first -= s.step)
#pragma unroll
        for (int k = 0; k < K; k++) {
            int i = first + k * s.width + s.lane;
            if (i >= s.whole) continue;
            if (first < s.last)
                d[k] = load_raw<E, V>(dout, i), q[k] = load_raw<E, V>(prob, i);
            float a[V], b[V];
            to_float<E, V>(a, d[k]), to_float<E, V>(b, q[k]);
            for (int j = 0; j < V; j++)
                a[j] = scale * b[j] * (a[j] - dot);
            store_raw<E, V>(dx, i, to_raw<E, V>(a));
        }
    if (s.tail < s.n) dx[s.tail] = E(scale * q_tail * (d_tail - dot));
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 04.4 (about 20 lines)
template <typename E, int V>
static void
backward(E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t s)
{
    constexpr int COLUMNS = COLUMNS_PER_THREAD<V>;
    if (V == 4 && N <= 4 * COLUMNS)
        backward_kernel<E, V, V == 4 ? 4 : 0>
            <<<short_blocks(R, 4), SHORT_ROW_THREADS, 0, s>>>(dx, dout, p, R, N, scale);
    else if (V > 1 && N <= 8 * COLUMNS)
        backward_kernel<E, V, V == 1 ? 0 : 8>
            <<<short_blocks(R, 8), SHORT_ROW_THREADS, 0, s>>>(dx, dout, p, R, N, scale);
    else if (V > 1 && N <= WARP * COLUMNS)
        backward_kernel<E, V, V == 1 ? 0 : WARP>
            <<<short_blocks(R, WARP), SHORT_ROW_THREADS, 0, s>>>(
                dx, dout, p, R, N, scale);
    else
        backward_kernel<E, V, 0>
            <<<R, row_threads<V>(N, ROW_THREADS), 0, s>>>(dx, dout, p, R, N, scale);
}
// END SOLUTION

template <typename E>
static wb_status softmax_backward(
    E *dx, const E *dout, const E *p, int R, int N, float scale, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!dx || !dout || !p) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 04.4 (about 5 lines)
    //> // TODO(04.4): launch backward_kernel, then return wb_launched(). About 3 lines.
    //> (void)scale, (void)s;
    //> return WB_TODO;
    if (rows_aligned<E>(dx, R, N) && rows_aligned<E>(dout, R, N) &&
        rows_aligned<E>(p, R, N))
        backward<E, VEC16<E>>(dx, dout, p, R, N, scale, s);
    else
        backward<E, 1>(dx, dout, p, R, N, scale, s);
    return wb_launched();
    // END SOLUTION
}

/* The functions of softmax.h */
#define DEFINE(E, e)                                                                     \
    wb_status softmax_backward_##e(                                                      \
        E *dx, const E *dout, const E *p, int R, int N, float scale,                     \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return softmax_backward(dx, dout, p, R, N, scale, stream);                       \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
