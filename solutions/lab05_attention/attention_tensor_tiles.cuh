// BEGIN SOLUTION 05.7 (about 100 lines)
/* attention_tensor_tiles.cuh - lab 05, part 05.7: what the dq and the dk, dv kernel
 * share: the plan, rows, and the loads of tiles.
 */
#ifndef ATTENTION_TENSOR_TILES_CUH
#define ATTENTION_TENSOR_TILES_CUH
#include "attention_tiled_backward.cuh"  // first_key
#include "contract.cuh"
#include "cuda/math.cuh"
#include "tiles.cuh"

constexpr int STAGES = 2;  // tiles of the other side in shared memory: two tensors each

/* D: head dims up to D are padded to D. BM: rows (keys) that a block owns. BN: rows
 * (keys) of a tile of the other side, processed STEP at a time.
 * SPLIT: warps that share their BM / WARPS * SPLIT keys, because the sums of 32 wide keys
 * do not fit the registers of one warp. Each computes P and dS of its part of the tile's
 * rows; through shared memory it gets those of all, and sums its part of the columns. */
template <int D_, int WARPS_, int M_, int BN_, int STEP_, int SPLIT_ = 1> struct plan {
    static const int D = D_, WARPS = WARPS_, M = M_, BN = BN_, STEP = STEP_;
    static const int SPLIT = SPLIT_, COLUMNS = D / SPLIT;
    static const int BM = WARPS / SPLIT * M * 16, THREADS = WARPS * WARP;
    typedef float sums[M][COLUMNS / 8][4];                 // a warp's part of dk, dv
    static const int STAGE = 2 * BN * D;                   // elements of a stage
    static const int P_DS = SPLIT == 1 ? 0 : 2 * BM * BN;  // elements of P and dS
    static const int BYTES =
        (2 * BM * D + STAGES * STAGE + P_DS) * 2 + (BM + STAGES * BN) * 16;
};

/* Of a query row. Past the last row lse is inf, so p is 0. */
struct alignas(16) row_info {
    int first, last;   // keys that it sees
    float lse, delta;  // lse in units of ln 2
};

/* Row n of key head g: its token and its head */
static __device__ __forceinline__ int token_of(const sizes &z, int n)
{
    return n / (z.H / z.K);
}
static __device__ __forceinline__ int head_of(const sizes &z, int g, int n)
{
    return g * (z.H / z.K) + n % (z.H / z.K);
}

/* Starts the copy of keys from, from + 1, ... of sequence b and head g, with zeros past S
 * and past D. */
template <int KEYS, typename P, typename E>
static __device__ __forceinline__ void
load_keys(E *tile, const E *x, const sizes &z, int b, int g, int from)
{
    const int CHUNKS = P::D / CHUNK, ROWS_PER_PASS = P::THREADS / CHUNKS;
    int chunk = threadIdx.x % CHUNKS;
    x += (size_t)b * z.S * z.ldkv + (size_t)g * z.D + chunk * CHUNK;
#pragma unroll
    for (int r = threadIdx.x / CHUNKS; r < KEYS; r += ROWS_PER_PASS) {
        bool valid = from + r < z.S && chunk * CHUNK < z.D;
        const E *row = valid ? x + (size_t)(from + r) * z.ldkv : x - chunk * CHUNK;
        cp_async(tile + swizzle<P::D>(r, chunk), row, valid);
    }
}

/* The same for rows from, from + 1, ... of q or dout, whose tokens are ld apart. */
template <int ROWS, typename P, typename E>
static __device__ __forceinline__ void
load_rows(E *tile, const E *x, int ld, const sizes &z, int b, int g, int from)
{
    const int CHUNKS = P::D / CHUNK, ROWS_PER_PASS = P::THREADS / CHUNKS;
    int chunk = threadIdx.x % CHUNKS, rows = z.T * (z.H / z.K);
    x += (size_t)b * z.T * ld;
#pragma unroll
    for (int r = threadIdx.x / CHUNKS; r < ROWS; r += ROWS_PER_PASS) {
        int n = min(from + r, rows - 1);
        const E *row = x + (size_t)token_of(z, n) * ld + (size_t)head_of(z, g, n) * z.D;
        bool valid = from + r < rows && chunk * CHUNK < z.D;
        cp_async(
            tile + swizzle<P::D>(r, chunk), valid ? row + chunk * CHUNK : row, valid);
    }
}

template <typename E>
static __device__ __forceinline__ row_info
row_info_of(const backward_call<E> &c, const float *deltas, int b, int g, int n)
{
    const sizes &z = c.z;
    bool valid = n < z.T * (z.H / z.K);
    n = min(n, z.T * (z.H / z.K) - 1);
    int t = token_of(z, n);
    size_t at = ((size_t)b * z.H + head_of(z, g, n)) * z.T + t;
    row_info y = {first_key(z, c.pos, b, t), z.S - z.T + t, INFINITY, 0.0f};
    if (valid) y.lse = c.lse[at] * LOG2_E;
    if (valid && deltas) y.delta = deltas[at];
    return y;
}
#endif
// END SOLUTION
