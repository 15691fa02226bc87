/* cross_entropy.cu - lab 04: the loss of a prediction and its gradient. The contract is
 * softmax.h.
 *
 * 04.5  the loss
 * 04.6  its gradient, in the same call
 * 04.7  every row read once
 */
#include "softmax.h"

#include "long_row.cuh"
#include "rows.cuh"

/* --- kernel ------------------------------------------------------------------------- */

// BEGIN SOLUTION 04.5 (about 140 lines; 12 in a first version)
//> /* 04.5 in three steps. The cases `loss_sum`; `loss` and `loss_ignore`; `loss_softcap` grade
//>  * them one by one. */
//>
//> /* Step 3: z of a logit */
//> static __device__ float capped(float logit, float softcap)
//> {
//>     // TODO(04.5, step 3): softcap tanh(logit / softcap), if softcap > 0. 1 line.
//>     return logit;
//> }
//>
//> /* A block per row. */
//> template <typename E>
//> static __global__ void cross_entropy_kernel(
//>     float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
//>     int R, int V, int ld, float softcap, int ignore)
//> {
//>     int row = blockIdx.x;                                // [0, R)
//>     const E *x = logits + (size_t)row * ld;              // (V)
//>     E *d = dlogits ? dlogits + (size_t)row * ld : NULL;  // (ld)
//>     int t = target[row];                                 // [0, V) or ignore
//>     float m = -FLT_MAX, sum = 0.0f, z_t = 0.0f;
//>     // TODO(04.5, step 1): m, the maximum of z[j] = capped((float)x[j], softcap) over the V
//>     // columns, and the sum of exp(z[j] - m), as in 04.1. Every thread needs both. About 8
//>     // lines.
//>     // TODO(04.5, step 2): z_t = z[t]. If t is `ignore`, there is no column t. 1 line.
//>     // TODO(04.5, step 2): where t is `ignore`, the loss is 0. 1 line.
//>     if (threadIdx.x == 0) loss[row] = logf(sum) + m - z_t;
//>     // TODO(04.6): the gradient, from the same maximum and sum. dlogits may be logits: z[t]
//>     // is gone once a thread has written there, so a barrier comes first. About 15 lines.
//>     (void)d, (void)t;
//> }
struct entropy {  // what all rows share
    const int *target;
    const float *gscale;
    int R, V, ld, ignore;
    float softcap;
};

/* What the gradient needs of a row: dlogits = (exp(z - max) factor - [j = t] g) dz */
struct slope {
    float max, factor, g;
};

/* z = softcap tanh(logits / softcap) */
template <int V> static __device__ __forceinline__ void cap(float (&z)[V], float softcap)
{
    if (softcap > 0)
        for (int j = 0; j < V; j++)
            z[j] = softcap * tanhf(z[j] / softcap);
}

/* Adds the vector at column c to the stats, and keeps the target's z if it is in it. */
template <typename E, int V>
static __device__ __forceinline__ void
take(stats &own, float &z_target, const raw<E, V> &v, int c, int t, float softcap)
{
    float z[V];
    to_float<E, V>(z, v);
    cap(z, softcap);
    online_softmax<E, V>(own, z, 1.0f);
    if (t < c || t >= c + V) return;
    for (int j = 0; j < V; j++)
        if (c + j == t) z_target = z[j];
}

/* Replaces the logits of the vector at column c by their gradient. */
template <typename E, int V>
static __device__ __forceinline__ void
gradient(raw<E, V> &v, const slope &s, int c, int t, float softcap)
{
    float z[V], d[V];
    to_float<E, V>(z, v);
    cap(z, softcap);
    for (int j = 0; j < V; j++)
        d[j] = term<E>(z[j], 1.0f, s.max) * s.factor;
    if (t >= c && t < c + V)
        for (int j = 0; j < V; j++)
            if (c + j == t) d[j] -= s.g;
    if (softcap > 0)  // dz/dlogits = 1 - tanh^2
        for (int j = 0; j < V; j++)
            d[j] *= 1 - z[j] / softcap * (z[j] / softcap);
    v = to_raw<E, V>(d);
}

/* The thread that owns the target's column writes the loss: only it knows z_target. */
static __device__ __forceinline__ void
store_loss(float *loss, const stats &all, float z_target, const share &s, int V, int t)
{
    int owner = t < s.whole * V ? t / V % s.width : t - s.whole * V;
    if (s.n == 0 && s.lane == 0) *loss = 0.0f;
    if (s.n > 0 && s.lane == owner) *loss = logf(all.sum) + (all.max - z_target);
}

static __device__ __forceinline__ slope slope_of(const stats &all, const float *gscale)
{
    float g = gscale ? *gscale : 1.0f;
    return {all.max, g / all.sum, g};
}

/* Columns n..ld of a row become zero. */
template <typename E, int V>
static __device__ __forceinline__ void clear_padding(E *d, const share &s, int ld)
{
    for (int i = s.whole + s.lane; (long long)i * V < ld; i += s.width)
        store_zeros<E, V>(d, i, s.n, ld);
}

/* Rows that stay in registers */
template <typename E, int V, int LANES>
static __global__ void __launch_bounds__(LANES ? SHORT_ROW_THREADS : ROW_THREADS)
    cross_entropy_kernel(float *loss, E *dlogits, const E *logits, entropy a)
{
    constexpr int K = VECS_PER_THREAD<V>;
    place p = my_place<LANES, V>();
    bool mine = p.row < a.R;  // no return: all lanes of a warp meet in combine
    int t = mine ? a.target[p.row] : a.ignore;
    int n = t == a.ignore ? 0 : a.V;  // an ignored row has no columns, only zeros
    share s = share_of<V>(n, p.lane, p.width);
    const E *x = logits + (size_t)p.row * a.ld;

    raw<E, V> in[K];
    raw<E, 1> in_tail;
    stats own = no_columns();
    float z_target = 0.0f;
    load_step<E, V>(in, x, 0, s);
    if (s.tail < n) in_tail = load_raw<E, 1>(x, s.tail);
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = k * s.width + s.lane;
        if (i < s.whole) take<E, V>(own, z_target, in[k], i * V, t, a.softcap);
    }
    if (s.tail < n) take<E, 1>(own, z_target, in_tail, s.tail, t, a.softcap);
    stats all = combine<LANES>(own);
    if (!mine) return;
    store_loss(loss + p.row, all, z_target, s, V, t);
    if (!dlogits) return;

    slope w = slope_of(all, a.gscale);
    E *d = dlogits + (size_t)p.row * a.ld;
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = k * s.width + s.lane;
        if (i >= s.whole) continue;
        gradient<E, V>(in[k], w, i * V, t, a.softcap);
        store_raw<E, V>(d, i, in[k]);
    }
    clear_padding<E, V>(d, s, a.ld);
    if (s.tail < n) {
        gradient<E, 1>(in_tail, w, s.tail, t, a.softcap);
        store_raw<E, 1>(d, s.tail, in_tail);
    }
}

/* Longer rows, each with a cluster of BLOCKS blocks */
template <typename E, int V, int BLOCKS>
static __global__ void __launch_bounds__(LONG_ROW_THREADS, LONG_BLOCKS_PER_SM)
    entropy_long_kernel(float *loss, E *dlogits, const E *logits, entropy a, int hold)
{
    extern __shared__ uint4 dynamic_smem[];
    place p = long_row_place<BLOCKS>();
    int t = a.target[p.row], n = t == a.ignore ? 0 : a.V;
    share s = share_of<V>(n, p.lane, p.width);
    const E *x = logits + (size_t)p.row * a.ld;
    long_row<E, V> r = make_long_row<E, V>(dynamic_smem, x, s, hold);

    raw<E, 1> in_tail;
    stats own = no_columns();
    float z_target = 0.0f;
    if (s.tail < n) {
        in_tail = load_raw<E, 1>(x, s.tail);
        take<E, 1>(own, z_target, in_tail, s.tail, t, a.softcap);
    }
    first_pass<E, V>(r, [&](const raw<E, V> &v, int i) {
        take<E, V>(own, z_target, v, i * V, t, a.softcap);
    });
    stats all = combine_blocks<BLOCKS>(own);
    store_loss(loss + p.row, all, z_target, s, V, t);
    if (!dlogits) return;

    slope w = slope_of(all, a.gscale);
    E *d = dlogits + (size_t)p.row * a.ld;
    second_pass<E, V>(r, [&](raw<E, V> v, int i) {
        gradient<E, V>(v, w, i * V, t, a.softcap);
        store_raw<E, V>(d, i, v);
    });
    clear_padding<E, V>(d, s, a.ld);
    if (s.tail < n) {
        gradient<E, 1>(in_tail, w, s.tail, t, a.softcap);
        store_raw<E, 1>(d, s.tail, in_tail);
    }
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 04.5 (about 25 lines)
template <typename E, int V>
static void
entropy_rows(float *loss, E *dlogits, const E *logits, const entropy &a, cudaStream_t s)
{
    constexpr int COLUMNS = COLUMNS_PER_THREAD<V>;
    if (V > 1 && a.V <= 8 * COLUMNS) {
        cross_entropy_kernel<E, V, V == 1 ? 0 : 8>
            <<<short_blocks(a.R, 8), SHORT_ROW_THREADS, 0, s>>>(loss, dlogits, logits, a);
    } else if (V > 1 && a.V <= WARP * COLUMNS) {
        cross_entropy_kernel<E, V, V == 1 ? 0 : WARP>
            <<<short_blocks(a.R, WARP), SHORT_ROW_THREADS, 0, s>>>(
                loss, dlogits, logits, a);
    } else if (a.V <= ROW_THREADS * COLUMNS) {
        cross_entropy_kernel<E, V, 0>
            <<<a.R, row_threads<V>(a.V, ROW_THREADS), 0, s>>>(loss, dlogits, logits, a);
    } else {
        long_plan p = plan_long<V>(a.V);
        auto kernel = p.blocks == 1   ? entropy_long_kernel<E, V, 1>
                      : p.blocks == 2 ? entropy_long_kernel<E, V, 2>
                      : p.blocks == 4 ? entropy_long_kernel<E, V, 4>
                                      : entropy_long_kernel<E, V, 8>;
        launch_long(kernel, p, a.R, s, loss, dlogits, logits, a, p.hold);
    }
}
// END SOLUTION

template <typename E>
static wb_status cross_entropy(
    float *loss, E *dlogits, const E *logits, const int *target, const float *gscale,
    int R, int V, int ld, float softcap, int ignore, cudaStream_t s)
{
    if (R < 0 || V < 1 || ld < V || !(softcap >= 0)) return WB_BAD_SHAPE;
    if (ignore >= 0 && ignore < V) return WB_BAD_SHAPE;
    if (R == 0) return WB_OK;
    if (!loss || !logits || !target) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 04.5 (about 6 lines; 3 in a first version)
    //> if (dlogits) return WB_TODO;  // TODO(04.6): delete this line
    //> // TODO(04.5, step 1): launch cross_entropy_kernel, a block per row, then return
    //> // wb_launched(). About 3 lines.
    //> (void)gscale, (void)s;
    //> return WB_TODO;
    entropy a = {target, gscale, R, V, ld, ignore, softcap};
    if (rows_aligned<E>(dlogits, R, ld) && rows_aligned<E>(logits, R, ld))
        entropy_rows<E, VEC16<E>>(loss, dlogits, logits, a, s);
    else
        entropy_rows<E, 1>(loss, dlogits, logits, a, s);
    return wb_launched();
    // END SOLUTION
}

/* The functions of softmax.h */
#define DEFINE(E, e)                                                                     \
    wb_status cross_entropy_##e(                                                         \
        float *loss, E *dlogits, const E *logits, const int *target,                     \
        const float *gscale, int R, int V, int ld, float softcap, int ignore,            \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return cross_entropy(                                                            \
            loss, dlogits, logits, target, gscale, R, V, ld, softcap, ignore, stream);   \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
