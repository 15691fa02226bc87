/* softmax.cu - lab 04: softmax of each row, plain and causal. The contract is softmax.h.
 *
 * 04.1  rows that a block can share     04.3  the causal variant
 * 04.2  rows of any length              04.7  every row read once
 */
#include "softmax.h"

#include "rows.cuh"
#include "softmax_long.cuh"  // 04.2

/* --- kernel ------------------------------------------------------------------------- */

// BEGIN SOLUTION 04.1 (about 110 lines)
//> /* TODO(04.1, step 2): a kernel for rows that one block can share, in three loops of 2 to
//>  * 4 lines: the maximum of scale x, the sum of exp(scale x - max), the division. A first
//>  * version may read x three times. `./grade lab04 -k basic` grades it.
//>  *
//>  * In part 04.3 each row has its own number of visible columns: an argument T now saves a
//>  * kernel later. E is float, wb_f16 or wb_bf16: (float)x converts any E to float, E(y)
//>  * rounds: round once, at the end. */
//> template <typename E>
//> static __global__ void softmax_kernel(E *out, const E *x, int R, int N, float scale)
//> {
//>     int row = blockIdx.x;  // [0, R)
//>     x += (size_t)row * N, out += (size_t)row * N;
//> }
/* The rows are attention scores with T queries (see softmax.h). T = 1 is a plain softmax:
 * the only query is the last one and sees all N columns. n of them are visible. */
template <typename E, int V, int LANES>
static __global__ void __launch_bounds__(LANES ? SHORT_ROW_THREADS : ROW_THREADS)
    softmax_kernel(E *out, const E *x, int R, int T, int N, float scale)
{
    constexpr int K = VECS_PER_THREAD<V>;
    place p = my_place<LANES, V>();
    bool mine = p.row < R;  // no return: all lanes of a warp meet in combine
    int n = mine ? N - T + p.row % T + 1 : 0;
    share s = share_of<V>(n, p.lane, p.width);
    const E *xr = x + (size_t)p.row * N;

    raw<E, V> in[K] = {};  // all loads are issued before the first is used
    load_step<E, V>(in, xr, 0, s);
    float e[K][V], e_tail = s.tail < n ? (float)xr[s.tail] : 0.0f;
    stats own = no_columns();
#pragma unroll
    for (int k = 0; k < K; k++) {  // with a branch here nvcc would move loads after it
        to_float<E, V>(e[k], in[k]);
        float top = e[k][0] * scale;
        for (int j = 1; j < V; j++)
            top = fmaxf(top, e[k][j] * scale);
        own.max = k * p.width + p.lane < s.whole ? fmaxf(own.max, top) : own.max;
    }
    if (s.tail < n) own.max = fmaxf(own.max, e_tail * scale);
#pragma unroll
    for (int k = 0; k < K; k++) {  // subtract this thread's maximum: expf(89) is inf
        if (k * p.width + p.lane >= s.whole) continue;
        for (int j = 0; j < V; j++)
            own.sum += e[k][j] = term<E>(e[k][j], scale, own.max);
    }
    if (s.tail < n) own.sum += e_tail = term<E>(e_tail, scale, own.max);

    stats all = combine<LANES>(own);
    if (!mine) return;
    float factor = expf(own.max - all.max) / all.sum;  // from my maximum to the row's
    E *o = out + (size_t)p.row * N;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = k * p.width + p.lane;
        if (i < s.whole) {
            for (int j = 0; j < V; j++)
                e[k][j] *= factor;
            store_raw<E, V>(o, i, to_raw<E, V>(e[k]));
        } else if (n < N) {
            store_zeros<E, V>(o, i, n, N);
        }
    }
    if (s.tail < n) o[s.tail] = E(e_tail * factor);
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 04.1 (about 30 lines)
/* parts: the workspace for few long rows, or NULL. Unaligned rows (V = 1) are rare: for
 * them a block per row is enough. */
template <typename E, int V>
static void forward(
    E *out, const E *x, int R, int T, int N, float scale, stats *parts, cudaStream_t s)
{
    constexpr int COLUMNS = COLUMNS_PER_THREAD<V>;
    if (V == 4 && N <= 4 * COLUMNS) {
        softmax_kernel<E, V, V == 4 ? 4 : 0>
            <<<short_blocks(R, 4), SHORT_ROW_THREADS, 0, s>>>(out, x, R, T, N, scale);
    } else if (V > 1 && N <= 8 * COLUMNS) {
        softmax_kernel<E, V, V == 1 ? 0 : 8>
            <<<short_blocks(R, 8), SHORT_ROW_THREADS, 0, s>>>(out, x, R, T, N, scale);
    } else if (V > 1 && N <= WARP * COLUMNS) {
        softmax_kernel<E, V, V == 1 ? 0 : WARP>
            <<<short_blocks(R, WARP), SHORT_ROW_THREADS, 0, s>>>(out, x, R, T, N, scale);
    } else if (N <= ROW_THREADS * COLUMNS) {
        softmax_kernel<E, V, 0>
            <<<R, row_threads<V>(N, ROW_THREADS), 0, s>>>(out, x, R, T, N, scale);
    } else if (parts) {
        dim3 grid((N + SPLIT_COLUMNS - 1) / SPLIT_COLUMNS, R);
        int threads = row_threads<V>(SPLIT_COLUMNS, ROW_THREADS);
        split_stats_kernel<E, V><<<grid, threads, 0, s>>>(parts, x, N, scale);
        launch_pdl(
            split_normalise_kernel<E, V>, grid, threads, 0, s, out, x, parts, N, scale);
    } else {
        long_plan p = plan_long<V>(N);
        auto kernel = p.blocks == 1   ? softmax_long_kernel<E, V, 1>
                      : p.blocks == 2 ? softmax_long_kernel<E, V, 2>
                      : p.blocks == 4 ? softmax_long_kernel<E, V, 4>
                                      : softmax_long_kernel<E, V, 8>;
        launch_long(kernel, p, R, s, out, x, T, N, scale, p.hold);
    }
}
// END SOLUTION

/* Bytes that few long rows need for the stats of their parts */
static size_t forward_workspace(int R, int N)
{
    // BEGIN SOLUTION 04.2 (about 3 lines)
    //> // TODO(04.2, step 3): the bytes of your partial results. Never less for larger R
    //> // or N.
    //> (void)R, (void)N;
    //> return 0;
    if (R <= 0 || N <= SPLIT_ABOVE) return 0;
    size_t parts = ((size_t)N + SPLIT_COLUMNS - 1) / SPLIT_COLUMNS;
    return sizeof(stats) * parts * (R < SPLIT_MAX_ROWS ? R : SPLIT_MAX_ROWS);
    // END SOLUTION
}

template <typename E>
static wb_status softmax_forward(
    E *out, const E *x, int R, int N, float scale, void *workspace,
    size_t workspace_bytes, cudaStream_t s)
{
    if (R < 0 || N < 1) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    if (workspace_bytes < forward_workspace(R, N)) return WB_NO_SPACE;
    if (forward_workspace(R, N) > 0 && !workspace) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 04.1 (about 6 lines)
    //> // TODO(04.1, step 2): launch softmax_kernel<<<grid, block, 0, s>>>(...), then
    //> // return wb_launched(). About 3 lines.
    //> (void)scale, (void)s;
    //> return WB_TODO;
    bool split = N > SPLIT_ABOVE && R <= SPLIT_MAX_ROWS;
    stats *parts = split ? (stats *)workspace : NULL;
    if (rows_aligned<E>(out, R, N) && rows_aligned<E>(x, R, N))
        forward<E, VEC16<E>>(out, x, R, 1, N, scale, parts, s);
    else
        forward<E, 1>(out, x, R, 1, N, scale, parts, s);
    return wb_launched();
    // END SOLUTION
}

template <typename E>
static wb_status softmax_causal_forward(
    E *out, const E *x, int R, int T, int S, float scale, cudaStream_t s)
{
    if (R < 0 || T < 1 || S < T || R % T != 0) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 04.3 (about 5 lines)
    //> // TODO(04.3): row r sees the columns j <= S-T + r%T. Do not even read the others:
    //> // NaN times 0 is NaN. Write exact zeros there. About 15 lines.
    //> (void)scale, (void)s;
    //> return WB_TODO;
    if (rows_aligned<E>(out, R, S) && rows_aligned<E>(x, R, S))
        forward<E, VEC16<E>>(out, x, R, T, S, scale, NULL, s);
    else
        forward<E, 1>(out, x, R, T, S, scale, NULL, s);
    return wb_launched();
    // END SOLUTION
}

/* The functions of softmax.h */
#define DEFINE(E, e)                                                                     \
    wb_status softmax_forward_##e(                                                       \
        E *out, const E *x, int R, int N, float scale, void *workspace,                  \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        return softmax_forward(out, x, R, N, scale, workspace, workspace_bytes, stream); \
    }                                                                                    \
    size_t softmax_forward_workspace_##e(int R, int N)                                   \
    {                                                                                    \
        return forward_workspace(R, N);                                                  \
    }                                                                                    \
    wb_status softmax_causal_forward_##e(                                                \
        E *out, const E *x, int R, int T, int S, float scale, cudaStream_t stream)       \
    {                                                                                    \
        return softmax_causal_forward(out, x, R, T, S, scale, stream);                   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
