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
 * Both work alike. LANES neighbouring threads own OWNED_ROWS queries or keys, on a GPU one,
 * and each has DIMS channels of them in registers. A tile is stored in two layouts: `by_channel`, with the rows of a channel
 * next to each other, gives all scores of the tile together; `by_row` adds weighted rows
 * to a sum.
 */
#ifndef ATTENTION_TILED_BACKWARD_CUH
#define ATTENTION_TILED_BACKWARD_CUH
#include "contract.cuh"
#include "cuda/fold.cuh"
#include "cuda/lanes.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"

constexpr int PAD = 4;  // floats: the slices of the lanes start in different banks

template <int LANES> struct tiling {
    static const int BN = LANES == 8 ? 8 : 16;   // rows of a tile
    static const int BM = LANES == 8 ? 32 : 64;  // owners of a block
    static const int THREADS = BM / OWNED_ROWS * LANES;
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
    for (int i = 0; i < DIMS; i += 4) {
        vec<E, 4> four = {};
        if (has_row && d0 + i < D) four = load_vec<4>(x + d0 + i);
        for (int j = 0; j < 4; j++)
            to[i + j] = (float)four[j];
    }
}
template <int DIMS, typename E>
static __device__ void
store_own(E *to, const float (&x)[DIMS], float factor, int d0, int D)
{
    for (int i = 0; i < DIMS; i++)
        if (d0 + i < D) to[d0 + i] = E(factor * x[i]);
}

/* s[r] = x . row r */
template <int DIMS, int LANES, int BN>
static __device__ __forceinline__ void
dots(float (&s)[BN], const float (&x)[DIMS], const by_channel<DIMS, LANES> &y)
{
#pragma unroll
    for (int r = 0; r < BN; r++)
        s[r] = 0.0f;
    add_rows(s, x, y.x[threadIdx.x % LANES], BN);
    sum_lanes<LANES>(s);  // of an owner
}

/* sum += w[r] row r, over all rows */
template <int DIMS, int LANES, int BN>
static __device__ __forceinline__ void
add_weighted(float (&sum)[DIMS], const float (&w)[BN], const by_row<DIMS, LANES> &y)
{
    add_rows(sum, w, y.x[0][threadIdx.x % LANES], LANES * (DIMS + PAD));
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
    const int BN = tiling<LANES>::BN, BM = tiling<LANES>::BM, N = OWNED_ROWS;
    __shared__ by_channel<DIMS, LANES> k, v;
    __shared__ by_row<DIMS, LANES> k_row;
    sizes z = c.z;
    int tiles = (z.T + BM - 1) / BM, h = blockIdx.x / tiles % z.H;
    int t0 = (tiles - 1 - blockIdx.x % tiles) * BM;  // the longest rows run first
    size_t b = blockIdx.x / tiles / z.H;
    int t1 = t0 + threadIdx.x / LANES * N, lane = threadIdx.x % LANES, d0 = lane * DIMS;
    size_t kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;

    float q[N][DIMS], dout[N][DIMS], dq[N][DIMS], delta[N], lse[N];
    int first[N], last[N];
    for (int n = 0; n < N; n++) {
        int t = t1 + n;
        bool has_query = t < z.T;  // no return: all threads load
        size_t row = (b * z.T + t) * z.H + h, stat = (b * z.H + h) * z.T + t;
        size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
        float sum[1] = {};
        load_own(dq[n], c.out + row * z.D, d0, z.D, has_query);  // out, for delta only
        load_own(dout[n], c.dout + row * z.D, d0, z.D, has_query);
        load_own(q[n], c.q + at_q, d0, z.D, has_query);
        for (int i = 0; i < DIMS; i++)
            sum[0] += dout[n][i] * dq[n][i], dq[n][i] = 0.0f;
        sum_lanes<LANES>(sum);
        delta[n] = sum[0];
        lse[n] = has_query ? c.lse[stat] : 0.0f;
        if (has_query && lane == 0) deltas[stat] = delta[n];
        first[n] = has_query ? first_key(z, c.pos, b, t) : 0;
        last[n] = has_query ? z.S - z.T + t : -1;
    }
    int from = first_key(z, c.pos, b, t0), to = z.S - z.T + min(t0 + BM, z.T);
    for (int j = from; j < to; j += BN) {
        by_row<DIMS, LANES> *none = NULL;
        size_t at_j = kv + (size_t)j * z.ldkv;
        __syncthreads();  // the previous tile has been read
        load_rows(&k, &k_row, c.k + at_j, z.ldkv, z.S - j, z.D);
        load_rows(&v, none, c.v + at_j, z.ldkv, z.S - j, z.D);
        __syncthreads();  // this tile is visible to the block
        for (int n = 0; n < N; n++) {
            if (j > last[n] || j + BN <= first[n]) continue;
            float s[BN], dp[BN], l = lse[n], d = delta[n];
            int low = first[n] - j, high = last[n] - j;  // rows that it sees
            dots(s, q[n], k);
            dots(dp, dout[n], v);
#pragma unroll
            for (int r = 0; r < BN; r++) {
                bool sees = r >= low && r <= high;
                s[r] = sees ? probability(s[r], z.scale, l) * (dp[r] - d) : 0.0f;
            }
            add_weighted(dq[n], s, k_row);
        }
    }
    for (int n = 0, t = t1; n < N && t < z.T; n++, t++) {
        size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D;
        store_own(c.dq + at_q, dq[n], z.scale, d0, z.D);
    }
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
    for (int r = threadIdx.x; r < tiling<LANES>::BN; r += tiling<LANES>::THREADS) {
        int t = t0 + r;
        bool valid = t < c.z.T;
        size_t at = (b * c.z.H + h) * c.z.T + t;
        to.lse[r] = valid ? c.lse[at] : 0.0f;
        to.delta[r] = valid ? deltas[at] : 0.0f;
        to.first[r] = valid ? first_key(c.z, c.pos, b, t) : INT_MAX;
    }
}

template <int DIMS, int LANES, typename E>
static __global__ void __launch_bounds__(tiling<LANES>::THREADS)
    tiled_dkdv_kernel(const float *deltas, backward_call<E> c)
{
    const int BN = tiling<LANES>::BN, BM = tiling<LANES>::BM, N = OWNED_ROWS;
    __shared__ by_channel<DIMS, LANES> q, dout;
    __shared__ by_row<DIMS, LANES> q_row, dout_row;
    __shared__ query_info<LANES> x;
    sizes z = c.z;
    int tiles = (z.S + BM - 1) / BM, g = blockIdx.x / tiles % z.K, ago = z.S - z.T;
    int j0 = blockIdx.x % tiles * BM, j1 = min(j0 + BM, z.S) - 1;
    size_t b = blockIdx.x / tiles / z.K;
    int own = j0 + threadIdx.x / LANES * N, d0 = threadIdx.x % LANES * DIMS;
    size_t kv = (b * z.S + own) * z.ldkv + (size_t)g * z.D;

    float k[N][DIMS], v[N][DIMS], dk[N][DIMS] = {}, dv[N][DIMS] = {};
    for (int n = 0; n < N; n++) {  // no return: all threads load
        load_own(k[n], c.k + kv + (size_t)n * z.ldkv, d0, z.D, own + n < z.S);
        load_own(v[n], c.v + kv + (size_t)n * z.ldkv, d0, z.D, own + n < z.S);
    }
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
            for (int n = 0, j = own; n < N && j < z.S; n++, j++) {
                if (j > ago + t + BN - 1) continue;
                float p[BN], dp[BN];
                dots(p, k[n], q);
                dots(dp, v[n], dout);
#pragma unroll
                for (int r = 0; r < BN; r++) {
                    bool sees = x.first[r] <= j && j <= ago + t + r;
                    p[r] = sees ? probability(p[r], z.scale, x.lse[r]) : 0.0f;
                    dp[r] = p[r] * (dp[r] - x.delta[r]);
                }
                add_weighted(dv[n], p, dout_row);
                add_weighted(dk[n], dp, q_row);
            }
        }
    for (int n = 0; n < N && own + n < z.S; n++) {
        store_own(c.dk + kv + (size_t)n * z.ldkv, dk[n], z.scale, d0, z.D);
        store_own(c.dv + kv + (size_t)n * z.ldkv, dv[n], 1.0f, d0, z.D);
    }
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
