// BEGIN SOLUTION 05.5 (about 210 lines)
/* attention_tiled_backward.cuh - lab 05, part 05.5: attention backward without tensor
 * cores.
 *
 * attention_backward.cu uses it for float. attention_tensor_backward.cu uses it for f16
 * and bf16 where the GPU has no mma for that type, or too little shared memory for wide
 * heads.
 *
 * Two kernels, because each sum needs an owner:
 *
 *     tiled_dq_kernel     owns queries, loops over tiles of keys; stores delta in the
 *                         workspace
 *     tiled_dkdv_kernel   owns keys, loops over tiles of queries, of all heads of the
 *                         group
 *
 * Both work alike. An owner is LANES neighbouring threads, each with DIMS channels in
 * registers. A tile is stored in two layouts: `by_channel`, with the rows of a channel
 * next to each other, gives all scores of the tile together; `by_row` adds weighted rows
 * to a sum.
 */
#ifndef ATTENTION_TILED_BACKWARD_CUH
#define ATTENTION_TILED_BACKWARD_CUH
#include "contract.cuh"
#include "cuda/lanes.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"

constexpr int PAD = 4;  // floats: the slices of the lanes start in different banks

template <int LANES> struct tiling {
    static const int BN = LANES == 8 ? 8 : 16;   // rows of a tile
    static const int BM = LANES == 8 ? 32 : 64;  // owners of a block
    static const int THREADS = BM * LANES;
};

template <int DIMS, int LANES> struct by_channel {
    float x[LANES][DIMS * tiling<LANES>::BN + PAD];  // channel i of row r: [i * BN + r]
};
template <int DIMS, int LANES> struct by_row {
    float x[tiling<LANES>::BN][LANES][DIMS + PAD];
};

/* Rows 0 <= r < n of x, ld apart, in both layouts, or only in the first if `b` is NULL;
 * zeros elsewhere. */
template <int DIMS, int LANES, typename E>
static __device__ void load_rows(
    by_channel<DIMS, LANES> *a, by_row<DIMS, LANES> *b, const E *x, int ld, int n, int D)
{
    const int BN = tiling<LANES>::BN, VECS = DIMS * LANES / 4;
    for (int m = threadIdx.x; m < BN * VECS; m += tiling<LANES>::THREADS) {
        int r = m / VECS, d = m % VECS * 4, lane = d / DIMS, i = d % DIMS;
        vec<E, 4> row = {};
        if (r < n && d < D) row = load_vec<4>(x + (size_t)r * ld + d);
        float f[4], *column = &a->x[lane][i * BN + r];
        to_float(f, row);
        column[0] = f[0], column[BN] = f[1], column[2 * BN] = f[2], column[3 * BN] = f[3];
        if (b) store_float<4>(&b->x[r][lane][i], f);
    }
}

/* This thread's channels of a row, or zeros */
template <int DIMS, typename E>
static __device__ void
load_own(float (&to)[DIMS], const E *x, int d0, int D, bool has_row)
{
    for (int i = 0; i < DIMS; i++)
        to[i] = has_row && d0 + i < D ? (float)x[d0 + i] : 0.0f;
}
template <int DIMS, typename E>
static __device__ void
store_own(E *to, const float (&x)[DIMS], float factor, int d0, int D)
{
    for (int i = 0; i < DIMS; i++)
        if (d0 + i < D) to[d0 + i] = E(factor * x[i]);
}

/* s[r] = x . row r. The local array overlaps nothing, so a compiler for CPUs can
 * vectorize over r. */
template <int DIMS, int LANES, int BN>
static __device__ void
dots(float (&s)[BN], const float (&x)[DIMS], const by_channel<DIMS, LANES> &y)
{
    const int lane = threadIdx.x % LANES;
    float sum[BN] = {};
#pragma unroll
    for (int i = 0; i < DIMS; i++)
#pragma unroll
        for (int r = 0; r < BN; r++)
            sum[r] += x[i] * y.x[lane][i * BN + r];
    sum_lanes<LANES>(sum);  // of an owner
#pragma unroll
    for (int r = 0; r < BN; r++)
        s[r] = sum[r];
}

/* sum += w[r] row r, over all rows */
template <int DIMS, int LANES, int BN>
static __device__ void
add_rows(float (&sum)[DIMS], const float (&w)[BN], const by_row<DIMS, LANES> &y)
{
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int r = 0; r < BN; r++)
#pragma unroll
        for (int i = 0; i < DIMS; i++)
            sum[i] += w[r] * y.x[r][lane][i];
}

/* p = exp(scale s - lse), as a power of two: the hardware computes those */
static __device__ __forceinline__ float probability(float s, float scale, float lse)
{
    return exp2f(fmaf(s, scale * LOG2_E, -lse * LOG2_E));
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(const sizes &z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

/* --- dq ----------------------------------------------------------------------------- */

template <int DIMS, int LANES, typename E>
static __global__ void __launch_bounds__(tiling<LANES>::THREADS)
    tiled_dq_kernel(float *deltas, backward_call<E> c)
{
    const int BN = tiling<LANES>::BN, BM = tiling<LANES>::BM;
    __shared__ by_channel<DIMS, LANES> k, v;
    __shared__ by_row<DIMS, LANES> k_row;
    sizes z = c.z;
    int tiles = (z.T + BM - 1) / BM, h = blockIdx.x / tiles % z.H;
    int t0 = (tiles - 1 - blockIdx.x % tiles) * BM;  // the longest rows run first
    size_t b = blockIdx.x / tiles / z.H;
    int t = t0 + threadIdx.x / LANES, lane = threadIdx.x % LANES, d0 = lane * DIMS;
    bool has_query = t < z.T;  // no return: all threads load
    size_t row = (b * z.T + t) * z.H + h, stat = (b * z.H + h) * z.T + t;
    size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
    size_t kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;

    float q[DIMS], dout[DIMS], dq[DIMS] = {}, sum[1] = {};
    load_own(dq, c.out + row * z.D, d0, z.D, has_query);  // out, for delta only
    load_own(dout, c.dout + row * z.D, d0, z.D, has_query);
    load_own(q, c.q + at_q, d0, z.D, has_query);
    for (int i = 0; i < DIMS; i++)
        sum[0] += dout[i] * dq[i], dq[i] = 0.0f;
    sum_lanes<LANES>(sum);
    float delta = sum[0];
    float lse = has_query ? c.lse[stat] : 0.0f;
    if (has_query && lane == 0) deltas[stat] = delta;

    int first = has_query ? first_key(z, c.pos, b, t) : 0;
    int last = has_query ? z.S - z.T + t : -1;
    int from = first_key(z, c.pos, b, t0), to = z.S - z.T + min(t0 + BM, z.T);
    for (int j = from; j < to; j += BN) {
        by_row<DIMS, LANES> *none = NULL;
        size_t at_j = kv + (size_t)j * z.ldkv;
        __syncthreads();  // the previous tile has been read
        load_rows(&k, &k_row, c.k + at_j, z.ldkv, z.S - j, z.D);
        load_rows(&v, none, c.v + at_j, z.ldkv, z.S - j, z.D);
        __syncthreads();  // this tile is visible to the block
        if (j > last || j + BN <= first) continue;
        float s[BN], dp[BN];
        dots(s, q, k);
        dots(dp, dout, v);
#pragma unroll
        for (int r = 0; r < BN; r++) {
            bool sees = j + r >= first && j + r <= last;
            s[r] = sees ? probability(s[r], z.scale, lse) * (dp[r] - delta) : 0.0f;
        }
        add_rows(dq, s, k_row);
    }
    if (has_query) store_own(c.dq + at_q, dq, z.scale, d0, z.D);
}

/* --- dk and dv ---------------------------------------------------------------------- */

/* Of each query of a tile, besides q and dout */
template <int LANES> struct query_info {
    float lse[tiling<LANES>::BN], delta[tiling<LANES>::BN];
    int first[tiling<LANES>::BN];  // key; INT_MAX past the last query
};

template <int LANES, typename E>
static __device__ void load_info(
    query_info<LANES> &to, const float *deltas, const backward_call<E> &c, size_t b,
    int h, int t0)
{
    if (threadIdx.x >= tiling<LANES>::BN) return;
    int r = threadIdx.x, t = t0 + r;
    bool valid = t < c.z.T;
    size_t at = (b * c.z.H + h) * c.z.T + t;
    to.lse[r] = valid ? c.lse[at] : 0.0f;
    to.delta[r] = valid ? deltas[at] : 0.0f;
    to.first[r] = valid ? first_key(c.z, c.pos, b, t) : INT_MAX;
}

template <int DIMS, int LANES, typename E>
static __global__ void __launch_bounds__(tiling<LANES>::THREADS)
    tiled_dkdv_kernel(const float *deltas, backward_call<E> c)
{
    const int BN = tiling<LANES>::BN, BM = tiling<LANES>::BM;
    __shared__ by_channel<DIMS, LANES> q, dout;
    __shared__ by_row<DIMS, LANES> q_row, dout_row;
    __shared__ query_info<LANES> x;
    sizes z = c.z;
    int tiles = (z.S + BM - 1) / BM, g = blockIdx.x / tiles % z.K, ago = z.S - z.T;
    int j0 = blockIdx.x % tiles * BM, j1 = min(j0 + BM, z.S) - 1;
    size_t b = blockIdx.x / tiles / z.K;
    int j = j0 + threadIdx.x / LANES, d0 = threadIdx.x % LANES * DIMS;
    bool has_key = j < z.S;  // no return: all threads load
    size_t kv = (b * z.S + j) * z.ldkv + (size_t)g * z.D;

    float k[DIMS], v[DIMS], dk[DIMS] = {}, dv[DIMS] = {};
    load_own(k, c.k + kv, d0, z.D, has_key);
    load_own(v, c.v + kv, d0, z.D, has_key);
    int from = max(j0 - ago, 0);
    int to = (int)min((long long)j1 - ago + z.window + 1, (long long)z.T);
    for (int h = g * (z.H / z.K); h < (g + 1) * (z.H / z.K); h++)
        for (int t = from; t < to; t += BN) {
            /* first_key never falls: from here on no query reaches back to j1 */
            if (first_key(z, c.pos, b, t) > j1) break;
            size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
            size_t at_out = ((b * z.T + t) * z.H + h) * z.D;
            __syncthreads();  // the previous tile has been read
            load_rows(&q, &q_row, c.q + at_q, z.ldq, z.T - t, z.D);
            load_rows(&dout, &dout_row, c.dout + at_out, z.H * z.D, z.T - t, z.D);
            load_info(x, deltas, c, b, h, t);
            __syncthreads();  // this tile is visible to the block
            if (!has_key || j > ago + t + BN - 1) continue;
            float p[BN], dp[BN];
            dots(p, k, q);
            dots(dp, v, dout);
#pragma unroll
            for (int r = 0; r < BN; r++) {
                bool sees = x.first[r] <= j && j <= ago + t + r;
                p[r] = sees ? probability(p[r], z.scale, x.lse[r]) : 0.0f;
                dp[r] = p[r] * (dp[r] - x.delta[r]);
            }
            add_rows(dv, p, dout_row);
            add_rows(dk, dp, q_row);
        }
    if (!has_key) return;
    store_own(c.dk + kv, dk, z.scale, d0, z.D);
    store_own(c.dv + kv, dv, 1.0f, d0, z.D);
}

/* --- launchers ---------------------------------------------------------------------- */

template <int DIMS, int LANES, typename E>
static wb_status launch_tiled(const backward_call<E> &c, cudaStream_t s)
{
    const int BM = tiling<LANES>::BM, THREADS = tiling<LANES>::THREADS;
    size_t queries = (size_t)((c.z.T + BM - 1) / BM) * c.z.H * c.z.B;
    size_t keys = (size_t)((c.z.S + BM - 1) / BM) * c.z.K * c.z.B;
    if (queries > INT_MAX || keys > INT_MAX) return WB_BAD_SHAPE;
    float *deltas = (float *)c.workspace;  // (B,H,T)
    tiled_dq_kernel<DIMS, LANES><<<(unsigned)queries, THREADS, 0, s>>>(deltas, c);
    tiled_dkdv_kernel<DIMS, LANES>
        <<<(unsigned)keys, THREADS, 0, s>>>((const float *)deltas, c);
    return wb_launched();
}

template <typename E>
static wb_status tiled_backward(const backward_call<E> &c, cudaStream_t s)
{
    if (c.z.D <= 32) return launch_tiled<32, 1>(c, s);
    if (c.z.D <= 64) return launch_tiled<32, 2>(c, s);
    if (c.z.D <= 128) return launch_tiled<32, 4>(c, s);
    return launch_tiled<32, 8>(c, s);
}
#endif
// END SOLUTION
