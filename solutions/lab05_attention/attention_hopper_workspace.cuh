// BEGIN SOLUTION 05.7 (about 150 lines)
/* attention_hopper_workspace.cuh - lab 05, part 05.7: before and after the kernel of
 * attention_hopper_backward.cuh: what it needs of each query row, and dq as floats.
 */
#ifndef ATTENTION_HOPPER_WORKSPACE_CUH
#define ATTENTION_HOPPER_WORKSPACE_CUH
#include "attention_hopper_parts.cuh"
#include "attention_tensor_tiles.cuh"

constexpr int MIN_BM = 64, PAD_T = 128;  // T is padded to whole tiles of every plan

/* Rows past T have lse = inf, so their p is 0. */
struct hopper_workspace {
    float *dq;     // (B,H,Tp,D): sums so far, each tile of BM rows in the order of the
                   // accumulators
    float *lse;    // (B,H,Tp), in units of ln 2
    float *delta;  // (B,H,Tp)
    int *first;    // (B,Tp): first key that a query sees
    int *added;    // (B,H,Tp / MIN_BM): tiles of keys whose part is in a tile of dq
    unsigned *started;  // blocks that have taken a number
    int Tp;
    bool is_direct;  // a single tile of keys: dq needs no sums here
};

static inline size_t padded_tokens(sizes z)
{
    return ((size_t)z.T + PAD_T - 1) / PAD_T * PAD_T;
}
static inline int padded_width(sizes z)
{
    return z.D <= 64 ? 64 : 128;  // wider: dq needs none, but the size must not fall
}

static inline size_t hopper_workspace_bytes(sizes z)
{
    size_t rows = (size_t)z.B * z.H * padded_tokens(z);
    size_t per_row = (padded_width(z) + 3) * sizeof(float);  // first: at most one per row
    return rows * per_row + rows / MIN_BM * sizeof(int) + sizeof(unsigned);
}

static inline hopper_workspace lay_out_workspace(void *workspace, sizes z)
{
    hopper_workspace w;
    w.Tp = (int)padded_tokens(z), w.is_direct = false;
    size_t rows = (size_t)z.B * z.H * w.Tp;
    w.dq = (float *)workspace;
    w.lse = w.dq + rows * padded_width(z), w.delta = w.lse + rows;
    w.first = (int *)(w.delta + rows), w.added = w.first + rows;
    w.started = (unsigned *)(w.added + rows / MIN_BM);
    return w;
}

constexpr int ROWS_PER_BLOCK = 32;  // of the next kernel: 8 lanes a row

/* delta = dout . out, and the rest of the workspace that the main kernel reads */
template <typename E>
static __global__ void __launch_bounds__(ROWS_PER_BLOCK * 8)
    prepare_rows_kernel(backward_call<E> c, hopper_workspace w)
{
    const sizes &z = c.z;
    int row = threadIdx.x / 8, lane = threadIdx.x % 8;
    int tiles = w.Tp / ROWS_PER_BLOCK, n = blockIdx.x / z.H;
    int h = blockIdx.x % z.H, b = n / tiles, t = n % tiles * ROWS_PER_BLOCK + row;
    bool valid = t < z.T;
    size_t from = (((size_t)b * z.T + t) * z.H + h) * z.D;
    float sum = 0.0f;
    for (int d = lane * CHUNK; valid && d < z.D; d += 8 * CHUNK) {
        vec<E, CHUNK> x = load_vec<CHUNK>(c.out + from + d);
        vec<E, CHUNK> y = load_vec<CHUNK>(c.dout + from + d);
#pragma unroll
        for (int e = 0; e < CHUNK; e++)
            sum += (float)x[e] * (float)y[e];
    }
    for (int o = 4; o > 0; o >>= 1)
        sum += __shfl_xor_sync(~0u, sum, o);
    size_t head = (size_t)b * z.H + h, to = head * w.Tp + t;
    if (lane == 0) {
        w.delta[to] = sum;
        w.lse[to] = valid ? c.lse[head * z.T + t] * LOG2_E : INFINITY;
        if (h == 0)
            w.first[(size_t)b * w.Tp + t] = first_key(z, c.pos, b, min(t, z.T - 1));
        if (t % MIN_BM == 0) w.added[to / MIN_BM] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *w.started = 0;
}

/* dq = scale times its sums, of tile i of `head` of all heads, by two warpgroups. Each
 * thread reads what its counterparts wrote. */
template <typename P, typename E>
static __device__ __forceinline__ void
store_dq_tile(const backward_call<E> &c, const hopper_workspace &w, int head, int i)
{
    const sizes &z = c.z;
    const int VECS = P::DQ_ROWS * P::DQ_COLUMNS / 4 / WARPGROUP;
    int group = threadIdx.x / WARPGROUP, thread = threadIdx.x % WARPGROUP;
    const float4 *from = (const float4 *)w.dq +
                         ((size_t)head * w.Tp + i * P::BM) * (P::D / 4) +
                         group * VECS * WARPGROUP + thread;
    int t =
        i * P::BM + group * P::DQ_ROWS % P::BM + thread / WARP * 16 + thread % WARP / 4;
    int column = (P::BM == P::DQ_ROWS ? group * P::DQ_COLUMNS : 0) + thread % 4 * CHUNK;
    E *to = c.dq + ((size_t)(head / z.H) * z.T + t) * z.ldq + (size_t)(head % z.H) * z.D;
#pragma unroll
    for (int j = 0; j < VECS; j += 4) {
        unsigned low[4], high[4];  // rows t and t + 8, 2 columns of each of 4 blocks of 8
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float4 x = __ldcg(from + (j + k) * WARPGROUP);
            low[k] = pack2<E>(z.scale * x.x, z.scale * x.y);
            high[k] = pack2<E>(z.scale * x.z, z.scale * x.w);
        }
        transpose_quad(low), transpose_quad(high);
        int d = column + j * CHUNK;
        if (d >= z.D) continue;
        if (t < z.T) *(uint4 *)(to + d) = make_uint4(low[0], low[1], low[2], low[3]);
        if (t + 8 < z.T)
            *(uint4 *)(to + 8 * (size_t)z.ldq + d) =
                make_uint4(high[0], high[1], high[2], high[3]);
    }
}
#endif
// END SOLUTION
