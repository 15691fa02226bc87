/* softmax_long.cuh - lab 04, part 04.2: the kernels of softmax.cu for rows that one block
 * cannot keep in registers.
 */
#ifndef SOFTMAX_LONG_CUH
#define SOFTMAX_LONG_CUH
#include "cuda/pdl.cuh"
#include "long_row.cuh"

// BEGIN SOLUTION 04.2 (about 110 lines)
//> /* 32 rows of 256,000 columns keep 32 blocks busy, but the GPU has room for a thousand.
//>  * Let many blocks share a row, in three steps. `./grade lab04 -k 04.2` grades them
//>  * together:
//>  *     TODO(04.2, step 1): block (x,y) stores the maximum and the sum of part x of row y,
//>  *     4096 columns, in the workspace. About 10 lines.
//>  *     TODO(04.2, step 2): a second kernel with the same grid combines the parts of its
//>  *     row, and writes its part of out. About 12 lines.
//>  *     TODO(04.2, step 3): forward_workspace, and the launches for rows of more than 8192
//>  *     columns. About 10 lines. */

/* A row, or its visible columns, per cluster of BLOCKS blocks */
template <typename E, int V, int BLOCKS>
static __global__ void __launch_bounds__(LONG_ROW_THREADS, LONG_BLOCKS_PER_SM)
    softmax_long_kernel(E *out, const E *x, int T, int N, float scale, int hold)
{
    extern __shared__ uint4 dynamic_smem[];
    place p = long_row_place<BLOCKS>();
    int n = N - T + p.row % T + 1;
    share s = share_of<V>(n, p.lane, p.width);
    const E *xr = x + (size_t)p.row * N;
    E *o = out + (size_t)p.row * N;
    long_row<E, V> r = make_long_row<E, V>(dynamic_smem, xr, s, hold);

    stats own = no_columns();
    float v[V], v_tail[1];
    if (s.tail < n) {
        v_tail[0] = (float)xr[s.tail];
        online_softmax<E, 1>(own, v_tail, scale);
    }
    first_pass<E, V>(r, [&](const raw<E, V> &y, int) {
        to_float<E, V>(v, y);
        online_softmax<E, V>(own, v, scale);
    });
    stats all = combine_blocks<BLOCKS>(own);

    float factor = 1.0f / all.sum;
    second_pass<E, V>(r, [&](const raw<E, V> &y, int i) {
        to_float<E, V>(v, y);
        for (int j = 0; j < V; j++)
            v[j] = term<E>(v[j], scale, all.max) * factor;
        store_raw<E, V>(o, i, to_raw<E, V>(v));
    });
    for (int i = s.whole + s.lane; (long long)i * V < N; i += s.width)
        store_zeros<E, V>(o, i, n, N);
    if (s.tail < n) o[s.tail] = E(term<E>(v_tail[0], scale, all.max) * factor);
}

/* Few long rows: a block takes SPLIT_COLUMNS of one. The first kernel stores the stats of
 * every part in the workspace, the second normalises. It runs backwards, so that it finds
 * in the L2 what the first one read last. */
constexpr int SPLIT_COLUMNS = 4096;  // of a shared row, per block
constexpr int SPLIT_ABOVE = 32768;   // columns: longer rows are shared between blocks
constexpr int SPLIT_MAX_ROWS = 256;  // more rows keep the GPU busy anyway

template <typename E, int V>
static __global__ void __launch_bounds__(ROW_THREADS)
    split_stats_kernel(stats *parts, const E *x, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>;
    int part = blockIdx.x, row = blockIdx.y;
    int from = part * SPLIT_COLUMNS, n = min(SPLIT_COLUMNS, N - from);
    share s = share_of<V>(n, threadIdx.x, blockDim.x);
    const E *xr = x + (size_t)row * N + from;

    pdl_trigger();
    raw<E, V> in[K];
    load_step<E, V>(in, xr, 0, s);
    stats own = no_columns();
#pragma unroll
    for (int k = 0; k < K; k++) {
        if (k * s.width + s.lane >= s.whole) continue;
        float v[V];
        to_float<E, V>(v, in[k]);
        online_softmax<E, V>(own, v, scale);
    }
    if (s.tail < n) {
        float v[1] = {(float)xr[s.tail]};
        online_softmax<E, 1>(own, v, scale);
    }
    stats all = combine<0>(own);
    if (s.lane == 0) parts[(size_t)row * gridDim.x + part] = all;
}

/* What is loaded for the last time and what is stored leave the L2 first: it holds the
 * parts of x that are still to be read. */
template <typename E, int V>
static __device__ __forceinline__ raw<E, V> load_last(const E *row, int i)
{
    if constexpr (V == 1) {
        return load_raw<E, V>(row, i);
    } else {
        uint4 x = __ldcs((const uint4 *)row + i);
        return {{x.x, x.y, x.z, x.w}};
    }
}
template <typename E, int V>
static __device__ __forceinline__ void store_streaming(E *row, int i, raw<E, V> x)
{
    if constexpr (V == 1)
        store_raw<E, V>(row, i, x);
    else
        __stcs((uint4 *)row + i, make_uint4(x[0], x[1], x[2], x[3]));
}

template <typename E, int V>
static __global__ void __launch_bounds__(ROW_THREADS)
    split_normalise_kernel(E *out, const E *x, const stats *parts, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>;
    int part = gridDim.x - 1 - blockIdx.x, row = gridDim.y - 1 - blockIdx.y;
    int from = part * SPLIT_COLUMNS, n = min(SPLIT_COLUMNS, N - from);
    share s = share_of<V>(n, threadIdx.x, blockDim.x);
    const E *xr = x + (size_t)row * N + from;
    E *o = out + (size_t)row * N + from;

    raw<E, V> in[K];
#pragma unroll
    for (int k = 0; k < K; k++)
        if (k * s.width + s.lane < s.whole)
            in[k] = load_last<E, V>(xr, k * s.width + s.lane);
    pdl_wait();                // for the stats of the parts; x was there before
    stats all = no_columns();  // every warp combines all parts, in the same order
    for (int i = s.lane % WARP; i < (int)gridDim.x; i += WARP) {
        stats part_stats = parts[(size_t)row * gridDim.x + i];
        rescale(all, part_stats.max);
        all.sum += part_stats.sum * expf(part_stats.max - all.max);
    }
    all = combine<WARP>(all);
    float factor = 1.0f / all.sum;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = k * s.width + s.lane;
        if (i >= s.whole) continue;
        float v[V];
        to_float<E, V>(v, in[k]);
        for (int j = 0; j < V; j++)
            v[j] = term<E>(v[j], scale, all.max) * factor;
        store_streaming<E, V>(o, i, to_raw<E, V>(v));
    }
    if (s.tail < n) o[s.tail] = E(term<E>((float)xr[s.tail], scale, all.max) * factor);
}
// END SOLUTION
#endif
