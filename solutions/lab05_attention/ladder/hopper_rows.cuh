/* hopper_rows.cuh - for rungs 05_wgmma.cu and 06_tma.cu: what happens between the GEMMs.
 * wgmma leaves the layout of rung 04, four times: warp w of a warpgroup has rows 16w to
 * 16w + 15, and a lane has elements of two of them, lane/4 and that plus 8.
 */
#ifndef HOPPER_ROWS_CUH
#define HOPPER_ROWS_CUH
#include "contract.cuh"
#include "cuda/hopper.cuh"
#include "cuda/math.cuh"

constexpr int WARP = 32;
constexpr int WARPGROUP = 128;  // threads
constexpr int PART = 64;        // channels of a row of 128 bytes

/* Rounded and packed, an accumulator is the A of the next GEMM. */
template <typename E, int R>
static __device__ void pack_a(unsigned (&a)[R / 8][4], const float (&d)[R])
{
#pragma unroll
    for (int i = 0; i < R / 2; i++)
        a[i / 4][i % 4] = pack2<E>(d[2 * i], d[2 * i + 1]);
}

/* factor times row `half` of a lane's two rows; to: this lane's first columns */
template <int D, typename E>
static __device__ void
store_row(E *to, const float (&d)[D / 2], int half, float factor, int width)
{
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
        const float *two = &d[4 * n + 2 * half];
        if (n * 8 < width)
            *(unsigned *)(to + n * 8) = pack2<E>(two[0] * factor, two[1] * factor);
    }
}

/* The first key that query t of sequence b sees; it never falls from one to the next. */
static __device__ int first_key(const sizes &z, const int *pos, int b, int t)
{
    int i = z.S - z.T + t, reach = pos ? pos[(size_t)b * z.T + t] : i;
    return max(i - min(reach, z.window), 0);
}

/* --- forward ------------------------------------------------------------------------ */

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

struct row_info {
    int first, last;  // keys that it sees
    float max, sum;   // of scale log2(e) s; of 2^(that - max), this lane's keys only
};

template <typename E>
static __device__ row_info row_info_of(const forward_call<E> &call, int b, int t)
{
    const sizes &z = call.z;
    t = min(t, z.T - 1);
    // not -inf: (-inf) - (-inf) is NaN
    return {first_key(z, call.pos, b, t), z.S - z.T + t, -1e30f, 0.0f};
}

/* Scores of a row become p. Returns the factor by which older sums shrink. */
template <int R>
static __device__ float
online_softmax(float (&s)[R], int half, row_info &row, int key, float c)
{
    float max = row.max;
    key += threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < R / 4; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int j = key + n * 8 + i;
            float *x = &s[4 * n + 2 * half + i];
            *x = j < row.first || j > row.last ? -INFINITY : *x * c;
            max = fmaxf(max, *x);
        }
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 1));  // four lanes share the row
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
    float shrink = fast_exp2(row.max - max), sum = 0.0f;
#pragma unroll
    for (int n = 0; n < R / 4; n++)
#pragma unroll
        for (int i = 4 * n + 2 * half; i < 4 * n + 2 * half + 2; i++)
            sum += s[i] = fast_exp2(s[i] - max);
    row.max = max, row.sum = row.sum * shrink + sum;
    return shrink;
}

template <int D, typename E>
static __device__ void store_out(
    const forward_call<E> &call, float (&o)[D / 2], row_info row, int half, int b, int t,
    int h)
{
    const sizes &z = call.z;
    int lane = threadIdx.x % WARP;
    float sum = row.sum + __shfl_xor_sync(~0u, row.sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (t >= z.T) return;
    if (call.lse && lane % 4 == 0)
        call.lse[((size_t)b * z.H + h) * z.T + t] = (row.max + log2f(sum)) * LN_2;
    E *out = call.out + (((size_t)b * z.T + t) * z.H + h) * z.D + lane % 4 * 2;
    store_row<D>(out, o, half, 1.0f / sum, z.D);
}

/* --- backward ----------------------------------------------------------------------- */

/* What the backward pass needs of a query. Those past the last token see no key. */
struct query_row {
    float lse;        // in units of ln 2
    float delta;      // dout . out
    int first, last;  // keys that it sees
};

constexpr int PAD_T = 128;  // T is padded to whole tiles
static inline size_t padded_tokens(const sizes &z)
{
    return ((size_t)z.T + PAD_T - 1) / PAD_T * PAD_T;
}
static inline size_t query_rows_bytes(const sizes &z)
{
    return (size_t)z.B * z.H * padded_tokens(z) * sizeof(query_row);
}

/* rows (B,H,Tp). A warp per row, 8 channels per lane */
template <typename E>
static __global__ void __launch_bounds__(256)
    query_rows_kernel(query_row *rows, backward_call<E> c, int Tp)
{
    const sizes &z = c.z;
    size_t n = blockIdx.x * (size_t)8 + threadIdx.x / WARP, head = n / Tp;
    int lane = threadIdx.x % WARP, t = n % Tp, b = head / z.H, h = head % z.H;
    float sum = 0.0f;
    if (t < z.T && lane * 8 < z.D) {
        size_t at = (((size_t)b * z.T + t) * z.H + h) * z.D + lane * 8;
        vec<E, 8> x = load_vec<8>(c.out + at), y = load_vec<8>(c.dout + at);
        for (int i = 0; i < 8; i++)
            sum += (float)x[i] * (float)y[i];
    }
    for (int o = WARP / 2; o > 0; o >>= 1)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (lane > 0) return;
    rows[n] = {0.0f, 0.0f, INT_MAX, -1};
    if (t < z.T)
        rows[n] = {
            c.lse[head * z.T + t] * LOG2_E, sum, first_key(z, c.pos, b, t),
            z.S - z.T + t};
}

template <typename E>
static wb_status launch_query_rows(const backward_call<E> &c, cudaStream_t stream)
{
    size_t Tp = padded_tokens(c.z), blocks = (size_t)c.z.B * c.z.H * Tp / 8;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    query_rows_kernel<<<(unsigned)blocks, 256, 0, stream>>>(
        (query_row *)c.workspace, c, (int)Tp);
    return wb_launched();
}

/* Row and column of element i of a lane's accumulators, for the 64 rows of a warpgroup */
static __device__ int row_of(int i)
{
    return threadIdx.x % WARPGROUP / WARP * 16 + threadIdx.x % WARP / 4 + i / 2 % 2 * 8;
}
static __device__ int column_of(int i)
{
    return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
}

/* Scores become p = exp(scale s - lse). KEYS: the rows are keys and the columns queries,
 * otherwise the other way round. `queries`, `key`: of row and column 0. */
template <bool KEYS, int R>
static __device__ void
probabilities(float (&s)[R], const query_row *queries, int key, float c)
{
#pragma unroll
    for (int i = 0; i < R; i++) {
        query_row q = queries[KEYS ? column_of(i) : row_of(i)];
        int j = key + (KEYS ? row_of(i) : column_of(i));
        s[i] = j < q.first || j > q.last ? 0.0f : fast_exp2(s[i] * c - q.lse);
    }
}

/* dp becomes dS = p (dp - delta). */
template <bool KEYS, int R>
static __device__ void
score_gradients(float (&dp)[R], const float (&p)[R], const query_row *queries)
{
#pragma unroll
    for (int i = 0; i < R; i++)
        dp[i] = p[i] * (dp[i] - queries[KEYS ? column_of(i) : row_of(i)].delta);
}

/* Two tensors whose rows lie next to each other: Q and dO of a head, or K and V */
template <typename E> struct tensor_pair {
    const E *a, *b;
    int lda, ldb, n;  // n rows
};
template <typename E>
static __device__ tensor_pair<E> queries_of(const backward_call<E> &c, int b, int h)
{
    const sizes &z = c.z;
    size_t t = (size_t)b * z.T, d = (size_t)h * z.D;
    return {c.q + t * z.ldq + d, c.dout + t * z.H * z.D + d, z.ldq, z.H * z.D, z.T};
}
template <typename E>
static __device__ tensor_pair<E> keys_of(const backward_call<E> &c, int b, int g)
{
    const sizes &z = c.z;
    size_t at = (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    return {c.k + at, c.v + at, z.ldkv, z.ldkv, z.S};
}

/* A block owns the rows [row, row + BM) of a head, keys or queries, and loops over tiles
 * of BN of the others: of each of `heads` query heads from h on, [from, from + tiles BN) */
struct gradient_work {
    int b, h, g, row, from, tiles, heads;
};

template <bool KEYS, int BM, int BN, typename E>
static __device__ gradient_work
gradient_work_of(const backward_call<E> &c, const query_row *rows, int Tp)
{
    const sizes &z = c.z;
    // the first keys and the last queries have the most to do: they run first
    int heads = z.B * (KEYS ? z.K : z.H), tile = blockIdx.x / heads, group = z.H / z.K;
    int head = blockIdx.x % heads, own = KEYS ? tile : (int)gridDim.x / heads - 1 - tile;
    int row = own * BM, from, to;
    if (KEYS) {
        int last = min(row + BM, z.S) - 1;
        from = max(row - (z.S - z.T), 0);
        to = (int)min((long long)last - (z.S - z.T) + z.window + 1, (long long)z.T);
    } else {
        const query_row *own_rows = rows + (size_t)head * Tp;
        from = own_rows[row].first, to = own_rows[min(row + BM, z.T) - 1].last + 1;
    }
    from = from / BN * BN;
    int tiles = max((to - from + BN - 1) / BN, 0);
    if (KEYS)
        return {head / z.K, head % z.K * group, head % z.K, row, from, tiles, group};
    return {head / z.H, head % z.H, head % z.H / group, row, from, tiles, 1};
}

/* 64 rows from `row` on of x (B,n,heads,D), rows ld apart */
template <int D, typename E>
static __device__ void store_gradient(
    E *x, int b, int n, int head, int ld, int row, const float (&sum)[D / 2],
    float factor, int width)
{
    E *to = x + (size_t)b * n * ld + (size_t)head * width + threadIdx.x % 4 * 2;
    for (int half = 0; half < 2; half++) {
        int r = row + row_of(2 * half);
        if (r < n) store_row<D>(to + (size_t)r * ld, sum, half, factor, width);
    }
}

/* The sums of 64 rows, keys or queries, from `row` on. PV, DS: see launch_gradient */
template <int D, bool KEYS, bool PV, bool DS, typename E>
static __device__ void store_gradients(
    const backward_call<E> &c, const gradient_work &work, int row,
    const float (&sum_p)[D / 2], const float (&sum_ds)[D / 2])
{
    const sizes &z = c.z;
    if (!KEYS)
        store_gradient<D>(c.dq, work.b, z.T, work.h, z.ldq, row, sum_ds, z.scale, z.D);
    if (KEYS && DS)
        store_gradient<D>(c.dk, work.b, z.S, work.g, z.ldkv, row, sum_ds, z.scale, z.D);
    if (KEYS && PV)
        store_gradient<D>(c.dv, work.b, z.S, work.g, z.ldkv, row, sum_p, 1.0f, z.D);
}

/* Each rung defines it. A block owns 128 keys (KEYS) or queries; the others come in tiles:
 *
 *     !KEYS    S  = Q K^T    dP  = dO V^T                    dQ += dS K
 *     KEYS     S' = K Q^T    dP' = V dO^T    dV += P' dO     dK += dS' Q
 *
 * PV, DS: which of the last two sums it computes */
template <int D, bool KEYS, bool PV, bool DS, typename E>
static wb_status launch_gradient(backward_call<E> c, cudaStream_t stream);

/* WB_UNSUPPORTED: not on Hopper */
template <int D, typename E>
static wb_status launch_backward(backward_call<E> c, cudaStream_t stream)
{
    if (!runs_wgmma<E>()) return WB_UNSUPPORTED;
    wb_status status = launch_query_rows(c, stream);
    if (status == WB_OK) status = launch_gradient<D, false, false, true>(c, stream);
    if (status != WB_OK) return status;
    if constexpr (D <= 128) return launch_gradient<D, true, true, true>(c, stream);
    // the registers have no room for two sums of 256 channels
    status = launch_gradient<D, true, true, false>(c, stream);
    if (status != WB_OK) return status;
    return launch_gradient<D, true, false, true>(c, stream);
}

template <typename E> static size_t backward_workspace(sizes z)
{
    return query_rows_bytes(z);
}

template <typename E>
static wb_status backward(backward_call<E> call, cudaStream_t stream)
{
    if (call.z.D <= 64) return launch_backward<64>(call, stream);
    if (call.z.D <= 128) return launch_backward<128>(call, stream);
    return launch_backward<256>(call, stream);
}

#endif
