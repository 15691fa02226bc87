// BEGIN SOLUTION 07.7 (about 140 lines)
/* decode_tile.cuh - lab 07, part 07.7: what tensor_kernel (decode_tensor.cuh) has in shared
 * memory, and how it gets there. A warp copies its own tiles of the ring, asynchronously.
 */
#ifndef DECODE_TILE_CUH
#define DECODE_TILE_CUH
#include "cuda/math.cuh"
#include "cuda/mma.cuh"
#include "decode.cuh"

constexpr int MMA_M = 16;  // rows of an mma: query heads, fewer in most groups
constexpr int BN = 16;     // slots of a tile; a warp has its own tiles
constexpr int STAGES = 2;  // tiles of a warp: one in use, one being copied
constexpr int PAD = 8;     // elements after a row: rows start in different banks

/* DM: D rounded up to 64, 128 or 256. Elements from row to row */
template <int DM> constexpr int PITCH = DM + PAD;
/* Elements of a stage: BN keys, then BN values; later (MMA_M, PITCH) floats */
template <int DM> constexpr int STAGE = 2 * BN *PITCH<DM>;

/* Query heads of a tile, at most */
static __host__ __device__ int tile_rows(int H, int K)
{
    return H / K < MMA_M ? H / K : MMA_M;
}

/* Shared memory of a block, in bytes: queries (high and low), the token's key and value,
 * the tiles of its warps */
template <int DM> static int tensor_bytes(int rows)
{
    return ((2 * rows + 2) * PITCH<DM> + WARPS_PER_BLOCK * STAGES * STAGE<DM>)*2;
}

/* Starts the copy of a warp's tile, keys and values. Past `count` rows it gets zeros:
 * stale values could be NaN, and 0 * NaN is NaN. */
template <int DM, typename E>
static __device__ __forceinline__ void load_tile(
    E *tile, const E *keys, const E *values, size_t row, int first, int count, int D)
{
    constexpr int LANES = DM / 8, ROWS = WARP / LANES;  // lanes of a row, rows at a time
    int r = threadIdx.x % WARP / LANES, c = threadIdx.x % LANES * 8;
    int last = count - 1 - first;
    E *to = tile + r * PITCH<DM> + c;
    keys += first * row + c, values += first * row + c;
    if (last >= 0 && c < D) {
#pragma unroll
        for (int i = 0; i < BN; i += ROWS) {
            size_t from = (size_t)(unsigned)min(i + r, last) * (unsigned)row;
            cp_async(to + i * PITCH<DM>, keys + from, i + r <= last);
            cp_async(to + (BN + i) * PITCH<DM>, values + from, i + r <= last);
        }
    }
    cp_async_commit();
}

/* Zeros past channel D in all tiles of a warp */
template <int DM, typename E>
static __device__ __forceinline__ void clear_past(E *tiles, int D)
{
    for (int d = D + threadIdx.x % WARP * 8; d < DM; d += WARP * 8)
#pragma unroll 1
        for (int r = 0; r < STAGES * 2 * BN; r++)
            *(float4 *)(tiles + r * PITCH<DM> + d) = {};
}

/* Starts the copy of the queries and, after them, of the token's key and value, to
 * (rows + 2, PITCH). What there is no head or channel for becomes zeros. */
template <int DM, typename E>
static __device__ __forceinline__ void
load_queries(E *to, const token<E> &a, const block_work &at, int rows, bool with_token)
{
    constexpr int LANES = DM / 8;
    const E *q = a.q + (size_t)at.b * a.ldq + (size_t)at.head * a.D;
    size_t own = (size_t)at.b * a.ldkv + head_offset(a, at.g);
    int d = threadIdx.x % LANES * 8;
#pragma unroll 1
    for (int h = threadIdx.x / LANES; h < rows + 2; h += THREADS / LANES) {
        bool valid = d < a.D && (h < at.heads || (with_token && h >= rows));
        const E *from = h < rows ? q + h * a.D : (h == rows ? a.k : a.v) + own;
        cp_async(to + h * PITCH<DM> + d, valid ? from + d : a.q, valid);
    }
    cp_async_commit();
}

/* The angles of a lane's pairs of channels: lane, lane + 32, ... */
struct lane_angles {
    static constexpr int PAIRS = MAX_D / 2 / WARP;
    float c[PAIRS], s[PAIRS];

    __device__ __forceinline__ void load(const float *cis, int p, int half)
    {
#pragma unroll
        for (int u = 0; u < PAIRS; u++) {
            int i = threadIdx.x % WARP + u * WARP;
            if (i >= half) continue;
            const float *angle = cis + ((size_t)p * half + i) * 2;
            c[u] = angle[0], s[u] = angle[1];
        }
    }
};

/* Rotates `rows` queries and the key in their places. What rounding to E loses of a query
 * goes to low, (rows, PITCH). A warp per row. */
template <int DM, typename E>
static __device__ __forceinline__ void
rotate_queries(E *high, E *low, int rows, const lane_angles &angles, int half)
{
    int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int h = threadIdx.x / WARP; h <= rows; h += WARPS_PER_BLOCK) {
        E *x = high + h * PITCH<DM>, *rest = low + h * PITCH<DM>;
        auto store = [&](int d, float y) {
            x[d] = (E)y;
            if (h < rows) rest[d] = (E)(y - (float)x[d]);
        };
#pragma unroll
        for (int u = 0; u < lane_angles::PAIRS; u++) {
            int i = lane + u * WARP;
            if (i >= half) continue;
            float c = angles.c[u], s = angles.s[u], a = (float)x[i],
                  b = (float)x[i + half];
            store(i, a * c - b * s), store(i + half, b * c + a * s);
        }
        if (h < rows)
#pragma unroll 1
            for (int d = 2 * half + lane; d < DM; d += WARP)
                rest[d] = (E)0.0f;
    }
}

/* The scores of the token's own key, one per head, each with the sum of its softmax */
template <int DM, typename E>
static __device__ __forceinline__ void own_scores(
    softmax *of, const E *high, const E *low, const E *key, const token<E> &a, int heads)
{
    int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int h = threadIdx.x / WARP; h < heads; h += WARPS_PER_BLOCK) {
        float self = 0.0f;
#pragma unroll 1
        for (int d = lane; d < a.D; d += WARP)
            self += ((float)high[h * PITCH<DM> + d] + (float)low[h * PITCH<DM> + d]) *
                    (float)key[d];
        self = warp_sum(self);
        if (lane == 0) of[h] = {self * a.scale * LOG2_E, 1.0f};
    }
}
#endif
// END SOLUTION
