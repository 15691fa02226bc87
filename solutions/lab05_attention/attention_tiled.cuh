// BEGIN SOLUTION 05.2 (about 150 lines)
/* attention_tiled.cuh - lab 05, parts 05.2 to 05.4: attention forward without tensor
 * cores.
 *
 * attention.cu uses it for float. attention_tensor.cu uses it for f16 and bf16 where the
 * GPU has no mma for that type.
 *
 * A block takes BM queries of one head and loops over the keys that they see, a tile at a
 * time. LANES neighbouring threads share OWNED_ROWS queries, on a GPU one. Each keeps DIMS channels of q and of
 * the sum of p v in registers; LANES * DIMS is D, rounded up.
 *
 * In shared memory a tile of k stores the keys of a channel next to each other, a tile of
 * v the channels of a key. A thread then multiplies one number of its own (q[i] or p[j])
 * by a run of neighbours, and all threads with the same lane read the same run: a
 * broadcast.
 */
#ifndef ATTENTION_TILED_CUH
#define ATTENTION_TILED_CUH
#include <float.h>

#include "contract.cuh"
#include "cuda/fold.cuh"
#include "cuda/lanes.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"

constexpr int BM = 64;  // queries of a block
constexpr int PAD = 4;  // floats: the slices of the lanes start in different banks

template <int DIMS, int LANES> struct kv_tile {
    static const int BN = LANES == 8 ? 16 : 32;  // keys
    float k[LANES][DIMS * BN + PAD];  // channel i of key j: k[lane][i * BN + j]
    float v[BN][LANES][DIMS + PAD];
};

/* Keys from, from + 1, ...; zeros past the last key and past channel D. */
template <int DIMS, int LANES, typename E>
static __device__ void
load_kv(kv_tile<DIMS, LANES> &to, const forward_call<E> &c, size_t kv, int from)
{
    const int BN = kv_tile<DIMS, LANES>::BN, VECS = DIMS * LANES / 4;
    for (unsigned n = threadIdx.x; n < BN * VECS; n += BM / OWNED_ROWS * LANES) {
        int j = n / VECS, d = n % VECS * 4, lane = n % VECS / (DIMS / 4), i = d % DIMS;
        vec<E, 4> k = {}, v = {};
        if (from + j < c.z.S && d < c.z.D) {
            size_t at = kv + (size_t)(from + j) * c.z.ldkv + d;
            k = load_vec<4>(c.k + at), v = load_vec<4>(c.v + at);
        }
        float *column = &to.k[lane][i * BN + j], v_float[4];
        column[0] = (float)k[0], column[BN] = (float)k[1];
        column[2 * BN] = (float)k[2], column[3 * BN] = (float)k[3];
        to_float(v_float, v);
        store_float<4>(&to.v[j][lane][i], v_float);
    }
}

/* The online softmax of a query, over the keys so far. m: the largest score, in units of
 * ln 2, because the hardware computes powers of two. l: the sum of exp(score - m). o: the
 * sum of exp(score - m) v. Both sums are in units of exp(m): a larger m rescales them. */
template <int DIMS> struct softmax_state {
    float m, l, o[DIMS];
};

/* One tile. The query sees its keys first to last. */
template <int DIMS, int LANES>
static __device__ void attend_tile(
    softmax_state<DIMS> &y, const kv_tile<DIMS, LANES> &x, const float (&q)[DIMS],
    int first, int last)
{
    const int BN = kv_tile<DIMS, LANES>::BN, lane = threadIdx.x % LANES;
    float s[BN] = {};
    add_rows(s, q, x.k[lane], BN);
    sum_lanes<LANES>(s);  // of a query
#pragma unroll
    for (int j = 0; j < BN; j++)
        s[j] = j >= first && j <= last ? s[j] : -INFINITY;  // exp2f: 0
    float m = max_all(y.m, s);
    float rescale = exp2f(y.m - m);
    float o[DIMS];  // overlaps nothing, so a compiler for CPUs can vectorize over i
    y.m = m, y.l *= rescale;
#pragma unroll
    for (int i = 0; i < DIMS; i++)
        o[i] = y.o[i] * rescale;
#pragma unroll
    for (int j = 0; j < BN; j++)
        s[j] = exp2f(s[j] - m);
    y.l = add_all(y.l, s);
    add_rows(o, s, x.v[0][lane], LANES * (DIMS + PAD));
#pragma unroll
    for (int i = 0; i < DIMS; i++)
        y.o[i] = o[i];
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

template <int DIMS, typename E>
static __device__ void store_query(
    const forward_call<E> &c, softmax_state<DIMS> &y, size_t b, int h, int t, int lane)
{
    sizes z = c.z;
    size_t row = (b * z.T + t) * z.H + h;
    int d0 = lane * DIMS;
#pragma unroll
    for (int i = 0; i < DIMS; i++)
        y.o[i] /= y.l;
    for (int i = 0; i < DIMS; i++)
        if (d0 + i < z.D) c.out[row * z.D + d0 + i] = E(y.o[i]);
    if (lane == 0 && c.lse) c.lse[(b * z.H + h) * z.T + t] = (y.m + log2f(y.l)) * LN_2;
}

template <int DIMS, int LANES, typename E>
static __global__ void __launch_bounds__(
    BM / OWNED_ROWS * LANES, LANES == 2 ? 3 : 0)  // 3 blocks: at most 168 registers
    tiled_kernel(forward_call<E> c)
{
    const int BN = kv_tile<DIMS, LANES>::BN, N = OWNED_ROWS;
    __shared__ kv_tile<DIMS, LANES> x;
    sizes z = c.z;
    int tiles = (z.T + BM - 1) / BM, h = blockIdx.x / tiles % z.H;
    int t0 = (tiles - 1 - blockIdx.x % tiles) * BM;  // the longest rows run first
    size_t b = blockIdx.x / tiles / z.H;
    int t1 = t0 + threadIdx.x / LANES * N, lane = threadIdx.x % LANES, d0 = lane * DIMS;
    size_t kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;

    float q[N][DIMS], factor = z.scale * LOG2_E;
    softmax_state<DIMS> y[N];
    int first[N], last[N];
    for (int n = 0; n < N; n++) {
        int t = t1 + n;
        bool has_query = t < z.T;  // no return: all threads load
        size_t at_q = (b * z.T + t) * z.ldq + (size_t)h * z.D + d0;
        for (int i = 0; i < DIMS; i++)
            q[n][i] = has_query && d0 + i < z.D ? (float)c.q[at_q + i] * factor : 0.0f;
        y[n] = {-FLT_MAX};  // not -inf: (-inf) - (-inf) is NaN
        first[n] = has_query ? first_key(z, c.pos, b, t) : 0;
        last[n] = has_query ? z.S - z.T + t : -1;
    }

    /* first_key never falls from one query to the next: the block needs the keys from the
     * first query's first key to the last query's own. It loads no others. */
    int from = first_key(z, c.pos, b, t0), to = z.S - z.T + min(t0 + BM, z.T);
    for (int j = from; j < to; j += BN) {
        __syncthreads();  // the previous tile has been read
        load_kv(x, c, kv, j);
        __syncthreads();  // this tile is visible to the block
        for (int n = 0; n < N; n++)
            if (j <= last[n] && j + BN > first[n])
                attend_tile(y[n], x, q[n], first[n] - j, last[n] - j);
    }
    for (int n = 0, t = t1; n < N && t < z.T; n++, t++)
        store_query(c, y[n], b, h, t, lane);
}

template <int DIMS, int LANES, typename E>
static wb_status launch_tiled(const forward_call<E> &c, cudaStream_t s)
{
    size_t blocks = (size_t)((c.z.T + BM - 1) / BM) * c.z.H * c.z.B;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    tiled_kernel<DIMS, LANES><<<(unsigned)blocks, BM / OWNED_ROWS * LANES, 0, s>>>(c);
    return wb_launched();
}

/* Needs no workspace. */
template <typename E>
static wb_status tiled_forward(const forward_call<E> &c, cudaStream_t s)
{
    if (c.z.D <= 32) return launch_tiled<32, 1>(c, s);
    if (c.z.D <= 64) return launch_tiled<32, 2>(c, s);
    if (c.z.D <= 128) return launch_tiled<32, 4>(c, s);
    return launch_tiled<32, 8>(c, s);
}
#endif
// END SOLUTION
