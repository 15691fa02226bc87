/* 02_tiled.cu - online softmax: tiles in shared memory, no score in device memory.
 *
 * A block has BM queries of one head and loops over their keys in tiles of BN. Thread
 * (r,c) computes the score of query r and key c of the tile, and keeps channels c, c +
 * BN, ... of row r of out. The first tile gives a maximum and sums relative to it. A
 * larger maximum in a later tile only changes the unit, so the sums are rescaled.
 *
 * No array of size T S remains: memory is read BM times less often than by rung 01, and
 * the workspace is empty. Now arithmetic is the limit, with ordinary FMAs. Tensor cores
 * are more than ten times as fast.
 */
// fails: tensor_scores,tensor_values,tensor_tiles,tensor_heads
#include "contract.cuh"
#include <float.h>

constexpr int BM = 16;  // queries of a block
constexpr int BN = 16;  // keys of a tile
constexpr int THREADS = BM * BN;
constexpr int MAX_D = 256;
constexpr int PAD = 1;  // rows start in different banks

/* 16 rows from, from + 1, ... of n rows of x, ld apart, as floats; zeros past the last */
template <typename E>
static __device__ void
load_tile(float (*to)[MAX_D + PAD], const E *x, int ld, int from, int n, int D)
{
    static_assert(BM == BN, "one loop for Q, K and V");
    for (int i = threadIdx.x; i < BN * D; i += THREADS) {
        int r = i / D, d = i % D;
        to[r][d] = from + r < n ? (float)x[(size_t)(from + r) * ld + d] : 0.0f;
    }
}

/* The first key that query t of sequence b sees; the last is its own, S-T+t. */
static __device__ int first_key(sizes z, const int *pos, size_t b, int t)
{
    int i = z.S - z.T + t, back = pos ? pos[b * z.T + t] : i;
    return max(i - min(back, z.window), 0);
}

template <typename E> static __global__ void tiled_kernel(forward_call<E> c)
{
    __shared__ float q[BM][MAX_D + PAD], kv[BN][MAX_D + PAD], p[BM][BN];
    sizes z = c.z;
    int tiles = (z.T + BM - 1) / BM, t0 = blockIdx.x % tiles * BM;
    int h = blockIdx.x / tiles % z.H, row = threadIdx.x / BN, col = threadIdx.x % BN;
    size_t b = blockIdx.x / tiles / z.H;
    int t = t0 + row;
    bool has_query = t < z.T;  // no return: all threads load and wait
    size_t at_kv = b * z.S * z.ldkv + (size_t)(h / (z.H / z.K)) * z.D;
    int first = has_query ? first_key(z, c.pos, b, t) : 0,
        last = has_query ? z.S - z.T + t : -1;
    int from = first_key(z, c.pos, b, t0), end = z.S - z.T + min(t0 + BM, z.T);

    load_tile(q, c.q + b * z.T * z.ldq + (size_t)h * z.D, z.ldq, t0, z.T, z.D);
    float m = -FLT_MAX, l = 0.0f, sum[MAX_D / BN] = {};
    for (int j = from; j < end; j += BN) {
        __syncthreads();  // v of the previous tile has been read
        load_tile(kv, c.k + at_kv, z.ldkv, j, z.S, z.D);
        __syncthreads();  // k is visible to the block
        float s = 0.0f;
        for (int d = 0; d < z.D; d++)
            s += q[row][d] * kv[col][d];
        s = j + col >= first && j + col <= last ? s * z.scale : -INFINITY;
        p[row][col] = s;
        __syncthreads();  // the scores are visible, k has been read
        float max = m;
        for (int i = 0; i < BN; i++)
            max = fmaxf(max, p[row][i]);
        load_tile(kv, c.v + at_kv, z.ldkv, j, z.S, z.D);
        __syncthreads();  // the scores have been read, v is visible
        p[row][col] = expf(s - max);
        float rescale = expf(m - max);
        m = max, l *= rescale;
        for (int i = 0; i < MAX_D / BN; i++)
            sum[i] *= rescale;
        __syncthreads();  // the exponentials are visible
        for (int i = 0; i < BN; i++) {
            l += p[row][i];
#pragma unroll
            for (int n = 0; n < MAX_D / BN; n++)
                if (col + n * BN < z.D) sum[n] += p[row][i] * kv[i][col + n * BN];
        }
    }
    if (!has_query) return;
    E *out = c.out + ((b * z.T + t) * z.H + h) * z.D;
#pragma unroll
    for (int n = 0; n < MAX_D / BN; n++)
        if (col + n * BN < z.D) out[col + n * BN] = E(sum[n] / l);
    if (col == 0 && c.lse) c.lse[(b * z.H + h) * z.T + t] = m + logf(l);
}

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    size_t tiles = (c.z.T + BM - 1) / BM;
    tiled_kernel<<<(unsigned)(tiles * c.z.H * c.z.B), THREADS, 0, s>>>(c);
    return wb_launched();
}

DEFINE_FORWARD(float, f32)
DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
