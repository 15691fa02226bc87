/* decode_tensor.cuh - lab 07, part 07.7: room for a kernel for 16-bit caches on tensor
 * cores. The solution has its own here; no part needs one.
 */
#ifndef DECODE_TENSOR_CUH
#define DECODE_TENSOR_CUH
#include "decode.cuh"

// BEGIN SOLUTION 07.7 (about 250 lines)
//> /* TODO(07.7): nothing, if the templates of attention_decode.cu serve f16 and bf16. */
#include "cuda/mma.cuh"

constexpr int MMA_M = 16;  // rows of an mma: query heads, fewer where a group has fewer
constexpr int BN = 64;     // slots of a tile, 16 a warp
constexpr int STAGES = 2;  // tiles in shared memory: one in use, one being copied
constexpr int PAD = 8;     // elements after a row: rows start in different banks

/* Elements from row to row: D rounded up to a multiple of 16, and the padding */
static __host__ __device__ int pitch_of(int D)
{
    return (D + MMA_M - 1) / MMA_M * MMA_M + PAD;
}

/* Floats from head to head in the scores of a part */
static __host__ __device__ int score_pitch(int slots)
{
    return slots + 4;
}

/* Query heads of a tile, at most */
static __host__ __device__ int tile_rows(int H, int K)
{
    return H / K < MMA_M ? H / K : MMA_M;
}

/* Shared memory of a block, in bytes: queries, scores, tiles */
static size_t tensor_bytes(int D, int rows, int slots)
{
    size_t elements = (size_t)(2 * rows + STAGES * BN) * pitch_of(D);
    return elements * 2 + MMA_M * score_pitch(slots) * sizeof(float);
}

/* Slots of a part, at most. With wide heads a multiprocessor has room for the tiles of
 * two blocks; the rest is for scores, so that fewer blocks start and end. With narrow
 * heads it has room for more blocks. */
static int tensor_slots(int D, int rows)
{
    bool wide = D > 128 && rows <= 13;
    bool fits = tensor_bytes(D, rows, 2 * MAX_SLOTS) <= (size_t)max_smem_per_block();
    return wide && fits ? 2 * MAX_SLOTS : MAX_SLOTS;
}

/* Host. false: take plain_kernel. */
template <typename E> static bool tensor_fits(int D, int rows)
{
    return has_mma<E>() &&
           tensor_bytes(D, rows, MAX_SLOTS) <= (size_t)max_smem_per_block();
}
template <> bool tensor_fits<float>(int, int)
{
    return false;
}

/* Starts the copy of BN rows of the ring. Past the last row the tile gets zeros: stale
 * values could be NaN, and 0 * NaN is NaN. */
template <typename E>
static __device__ void load_tile(E *tile, const E *from, size_t row, int count, int D)
{
    int pitch = pitch_of(D), vecs = D / 8, lane = threadIdx.x % WARP;
    int rows = WARP / vecs, r = lane / vecs, c = lane % vecs * 8;  // rows of a warp
    if (r < rows)
        for (int i = threadIdx.x / WARP * rows + r; i < BN; i += WARPS_PER_BLOCK * rows) {
            bool valid = i < count;
            cp_async(tile + i * pitch + c, from + (valid ? i : 0) * row + c, valid);
        }
    cp_async_commit();
}

/* The address that a lane passes to ldmatrix for 16x16 elements of m: matrices 0 and 1
 * below each other, 2 and 3 to their right. Past `rows` rows it repeats the last one. */
template <typename E>
static __device__ const E *lane_row(const E *m, int pitch, int rows = MMA_M)
{
    int lane = threadIdx.x % WARP, row = min(lane % 16, rows - 1);
    return m + row * pitch + lane / 16 * 8;
}

/* A (16,16) result: columns 0-7 and 8-15 */
struct mma_result {
    float c[2][4];
};

static __device__ void store_smem(float *m, const mma_result &x, int pitch)
{
    int row = threadIdx.x % WARP / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float *to = m + row * pitch + half * 8 + column;
        *(float2 *)to = {x.c[half][0], x.c[half][1]};
        *(float2 *)(to + 8 * pitch) = {x.c[half][2], x.c[half][3]};
    }
}

/* Scores of a warp's 16 slots. q, of `rows` heads, is the sum of two E, because it has
 * more digits than one. What is stored for further rows is undefined. */
template <typename E>
static __device__ void tile_scores(
    float *score, int pitch_s, const E *high, const E *low, int rows, const E *tile,
    int pitch)
{
    int warp = threadIdx.x / WARP;
    const E *keys = lane_row(tile + warp * 16 * pitch, pitch);
    high = lane_row(high, pitch, rows), low = lane_row(low, pitch, rows);
    mma_result sum = {}, rest = {};  // two chains: an mma waits for its own sum only
#pragma unroll 4
    for (int d = 0; d < pitch - PAD; d += 16) {
        unsigned a[4], b[4], k[4];
        ldmatrix(k, keys + d);
        ldmatrix(a, high + d);
        ldmatrix(b, low + d);
#pragma unroll
        for (int half = 0; half < 2; half++)
            mma<E>(sum.c[half], a, k[half], k[half + 2]);
#pragma unroll
        for (int half = 0; half < 2; half++)
            mma<E>(rest.c[half], b, k[half], k[half + 2]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum.c[i / 4][i % 4] += rest.c[i / 4][i % 4];
    store_smem(score + warp * 16, sum, pitch_s);
}

/* Scores of a part become p, each row in the place of its scores. A warp per head. Rows
 * past the last head stay undefined: the mma multiplies row by row. */
template <typename E>
static __device__ __forceinline__ void part_softmax(
    float *score, int pitch_s, softmax *of, const token<E> &a, const block_work &at,
    int padded_count)
{
    constexpr int SLOTS_PER_LANE = 2 * MAX_SLOTS / WARP;
    int lane = threadIdx.x % WARP;
    E *p = (E *)score;
    for (int h = threadIdx.x / WARP; h < at.heads; h += WARPS_PER_BLOCK) {
        float x[SLOTS_PER_LANE], max = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int u = 0; u < SLOTS_PER_LANE; u++) {
            int j = lane + u * WARP;
            x[u] = j < at.count ? score[h * pitch_s + j] * a.scale : -INFINITY;
            max = fmaxf(max, x[u]);
        }
        max = warp_max(max);
        __syncwarp();  // every lane has read its scores: p may take their place
#pragma unroll
        for (int u = 0; u < SLOTS_PER_LANE; u++) {
            int j = lane + u * WARP;
            if (j >= padded_count) break;
            float w = j < at.count ? expf(x[u] - max) : 0.0f;
            p[h * 2 * pitch_s + j] = (E)w;
            sum += w;
        }
        sum = warp_sum(sum);
        if (lane == 0) of[h] = {max, sum};
    }
}

/* y += p v of a tile, for the 16-channel columns of this warp: warp, warp + 4, ... */
template <typename E>
static __device__ void
add_values(mma_result (&y)[4], const E *p, int pitch_p, const E *tile, int pitch)
{
    int warp = threadIdx.x / WARP;
    p = lane_row(p, pitch_p), tile = lane_row(tile, pitch);
    for (int j = 0; j < BN; j += 16) {
        unsigned a[4], v[4];
        ldmatrix(a, p + j);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int d = (warp + 4 * i) * 16;
            if (d >= pitch - PAD) continue;
            ldmatrix_trans(v, tile + j * pitch + d);
            mma<E>(y[i].c[0], a, v[0], v[1]);
            mma<E>(y[i].c[1], a, v[2], v[3]);
        }
    }
}

/* Stores the queries in shared memory, each as high + low, with zeros in rows without a
 * head and past D. */
template <typename E>
static __device__ __forceinline__ void store_queries(
    E *high, E *low, int rows, int pitch, const queries<MMA_M, E> &q, const token<E> &a,
    const block_work &at)
{
    for (int i = threadIdx.x; i < 2 * rows * pitch / 8; i += THREADS)
        ((float4 *)high)[i] = {};  // low too
    __syncthreads();               // the zeros are visible before the others are stored
    q.rotate(a, at, [&](int h, int d, float x) {
        E rounded = (E)x;
        high[h * pitch + d] = rounded;
        low[h * pitch + d] = (E)(x - (float)rounded);
    });
}

/* A stream of tiles: those of the keys, then those of the values. While one is in use,
 * the next is being copied, also during the softmax between keys and values. ALONE: see
 * split. */
template <bool ALONE, typename E>
static __global__ void __launch_bounds__(THREADS, 2)
    tensor_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ softmax of[MMA_M];
    pdl_trigger();
    pdl_wait();
    block_work at = block_work_of(a, s, MMA_M);
    int tid = threadIdx.x, warp = tid / WARP, D = a.D, pitch = pitch_of(D);
    int tiles = (at.count + BN - 1) / BN, rows = tile_rows(a.H, a.K);
    int pitch_s = score_pitch(s.slots);
    E *high = (E *)smem;                           // (rows, pitch)
    E *low = high + rows * pitch;                  // (rows, pitch)
    float *score = (float *)(low + rows * pitch);  // (MMA_M, pitch_s); then p as E
    E *ring = (E *)(score + MMA_M * pitch_s);      // (STAGES, BN, pitch)
    size_t row = (size_t)a.K * D;
    size_t from = ((size_t)at.b * a.S + at.first) * row + head_offset(a, at.g);

    if (D % 16)  // half of the last 16 channels is past D: zeros
        for (int i = tid; i < STAGES * BN; i += THREADS)
            *(float4 *)(ring + i * pitch + D) = {};
    auto stage_of = [&](int t) { return ring + t % STAGES * BN * pitch; };
    auto prefetch = [&](int t) {
        if (t >= 2 * tiles) return cp_async_commit();  // empty: keeps the count of groups
        int first = t % tiles * BN;
        const E *source = (t < tiles ? a.kcache : a.vcache) + from + first * row;
        load_tile(stage_of(t), source, row, at.count - first, D);
    };
    queries<MMA_M, E> q;
    own_token<E> self;  // only if ALONE
    q.load(a, at);
    if (ALONE) self.load(a, at);
    for (int t = 0; t < STAGES; t++)
        prefetch(t);
    store_queries(high, low, rows, pitch, q, a, at);

    mma_result y[4] = {};
    for (int t = 0; t < tiles; t++) {
        cp_async_wait<STAGES - 1>();
        __syncthreads();  // tile t and q are visible to the block
        tile_scores(score + t * BN, pitch_s, high, low, rows, stage_of(t), pitch);
        __syncthreads();  // tile t has been read, its scores are visible
        prefetch(t + STAGES);
    }
    part_softmax(score, pitch_s, of, a, at, tiles * BN);
    for (int t = 0; t < tiles; t++) {
        cp_async_wait<STAGES - 1>();
        __syncthreads();  // tile t of the values and p are visible to the block
        add_values(y, (E *)score + t * BN, 2 * pitch_s, stage_of(tiles + t), pitch);
        __syncthreads();  // the tile has been read
        prefetch(tiles + t + STAGES);
    }
    float *total = (float *)ring;  // (MMA_M, pitch), where the tiles were
#pragma unroll
    for (int i = 0; i < 4; i++)
        if ((warp + 4 * i) * 16 < pitch - PAD)
            store_smem(total + (warp + 4 * i) * 16, y[i], pitch);
    __syncthreads();  // the sums of all warps are visible to the block
    if constexpr (ALONE) {
        for (int h = warp; h < at.heads; h += WARPS_PER_BLOCK) {
            const E *q_high = high + h * pitch, *q_low = low + h * pitch;
            self.finish(
                a, at, h, of[h],
                [&](int d) { return a.scale * ((float)q_high[d] + (float)q_low[d]); },
                [&](int d) { return total[h * pitch + d]; });
        }
        if (warp == WARPS_PER_BLOCK - 1) self.store(a, at);
    } else {
        for (int h = warp; h < at.heads; h += WARPS_PER_BLOCK) {
            float *to = sums + record(at.b, at.head + h, a.H, at.part, s.parts, D);
            for (int d = tid % WARP; d < D; d += WARP)
                to[d] = total[h * pitch + d];
        }
        if (tid < at.heads)
            softmaxes[record(at.b, at.head + tid, a.H, at.part, s.parts, 1)] = of[tid];
    }
}
// END SOLUTION
#endif
