/* decode_tensor.cuh - lab 07, part 07.7: room for a kernel for 16-bit caches on tensor
 * cores. The solution has its own here; no part needs one.
 */
#ifndef DECODE_TENSOR_CUH
#define DECODE_TENSOR_CUH
#include "decode.cuh"

// BEGIN SOLUTION 07.7 (about 300 lines)
//> /* TODO(07.7): nothing, if a block of attention_decode.cu serves all heads of a group. */
#include "cuda/hopper.cuh"
#include "decode_tile.cuh"

/* The address that a lane passes to ldmatrix for 16x16 elements of m: matrices 0 and 1
 * below each other, 2 and 3 to their right. */
template <typename E> static __device__ const E *lane_row(const E *m, int pitch)
{
    int lane = threadIdx.x % WARP;
    return m + lane % 16 * pitch + lane / 16 * 8;
}

/* The same in the queries, where rows past the last head repeat it. With up to 8 heads
 * (PAIRED), `low` takes rows 8 to 15 of one operand. */
template <int DM, bool PAIRED, typename E>
static __device__ const E *query_row(const E *high, const E *low, int rows)
{
    int lane = threadIdx.x % WARP, row = lane % 16;
    if (PAIRED && row >= 8) high = low, row -= 8;
    return high + min(row, rows - 1) * PITCH<DM> + lane / 16 * 8;
}

/* The scores of 16 slots, in the layout of C (mma.cuh): two halves of 8 slots. q, of
 * `rows` heads, is the sum of two E, because it has more digits than one. */
template <int DM, bool PAIRED, typename E>
static __device__ __forceinline__ void
tile_scores(float (&s)[2][4], const E *high, const E *low, const E *keys)
{
    float rest[2][4] = {};  // two chains: an mma waits for its own sum only
#pragma unroll
    for (int d = 0; d < DM; d += 16) {
        unsigned a[4], b[4], k[4];
        ldmatrix(k, keys + d);
        ldmatrix(a, high + d);
        float(&even)[2][4] = PAIRED && d % 32 ? rest : s;
        mma<E>(even[0], a, k[0], k[2]);
        mma<E>(even[1], a, k[1], k[3]);
        if (PAIRED) continue;
        ldmatrix(b, low + d);
        mma<E>(rest[0], b, k[0], k[2]);
        mma<E>(rest[1], b, k[1], k[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        s[i / 4][i % 4] += rest[i / 4][i % 4];
    if (PAIRED)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[i / 2][i % 2] += s[i / 2][i % 2 + 2], s[i / 2][i % 2 + 2] = 0.0f;
}

/* What a warp has of its slots: the lane's part of C for every 8 channels, of heads
 * lane / 4 and lane / 4 + 8, with the largest score (times log2 e) and its own share of
 * the sum. */
template <int DM> struct warp_sums {
    float y[DM / 8][4], max[2], sum[2];
};

/* Scores become p = 2^(s - max), packed as operand A of p v. */
template <int DM, bool PAIRED, typename E>
static __device__ __forceinline__ void online_softmax(
    unsigned (&p)[4], warp_sums<DM> &w, float (&s)[2][4], float scale, int left)
{
    constexpr int ROWS = PAIRED ? 1 : 2;
    int column = threadIdx.x % 4 * 2;
    float factor[2] = {1.0f, 1.0f};
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        float max = w.max[r];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int slot = i / 2 * 8 + column + i % 2;
            float &x = s[i / 2][2 * r + i % 2];
            x = slot < left ? x * scale : -INFINITY;
            max = fmaxf(max, x);
        }
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
        factor[r] = fast_exp2(w.max[r] - max);
        w.max[r] = max, w.sum[r] *= factor[r];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float &x = s[i / 2][2 * r + i % 2];
            x = fast_exp2(x - max);
            w.sum[r] += x;
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        p[i] = pack2<E>(s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
    if (!__any_sync(0xffffffffu, factor[0] != 1.0f || factor[1] != 1.0f)) return;
#pragma unroll
    for (int i = 0; i < DM / 8; i++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            w.y[i][c] *= factor[c / 2];
}

template <int DM, typename E>
static __device__ __forceinline__ void
add_values(warp_sums<DM> &w, const unsigned (&p)[4], const E *values)
{
#pragma unroll
    for (int d = 0; d < DM; d += 16) {
        unsigned v[4];
        ldmatrix_trans(v, values + d);
        mma<E>(w.y[d / 8], p, v[0], v[1]);
        mma<E>(w.y[d / 8 + 1], p, v[2], v[3]);
    }
}

/* The sums of a warp, (MMA_M, PITCH) floats where its first tile was */
template <int DM, bool PAIRED>
static __device__ __forceinline__ void
store_sums(float *to, softmax *of, warp_sums<DM> &w)
{
    int lane = threadIdx.x % WARP, row = lane / 4, column = lane % 4 * 2;
#pragma unroll
    for (int r = 0; r < (PAIRED ? 1 : 2); r++) {
        float sum = w.sum[r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        if (lane % 4 == 0) of[row + 8 * r] = {w.max[r], sum};
#pragma unroll
        for (int i = 0; i < DM / 8; i++)
            *(float2 *)(to + (row + 8 * r) * PITCH<DM> + i * 8 + column) = {
                w.y[i][2 * r], w.y[i][2 * r + 1]};
    }
}

/* What a block has at its end, in shared memory */
struct block_sums {
    softmax of[WARPS_PER_BLOCK + 1][MMA_M];    // of the warps, and of the token itself
    float weight[MMA_M][WARPS_PER_BLOCK + 1];  // e^(their max - max of the block)
    softmax total[MMA_M];                      // of the block
};

/* A thread per head: by what the sums of the warps, and of the token if the block has it,
 * are multiplied before they are added */
static __device__ __forceinline__ void weigh_warps(block_sums &block, int n, int heads)
{
    int h = threadIdx.x;
    float max = -INFINITY, sum = 0.0f;
    if (h >= heads) return;
#pragma unroll
    for (int w = 0; w <= WARPS_PER_BLOCK; w++)
        if (w < n) max = fmaxf(max, block.of[w][h].max);
#pragma unroll
    for (int w = 0; w <= WARPS_PER_BLOCK; w++) {
        bool some = w < n && block.of[w][h].max != -INFINITY;  // slots
        float weight = some ? fast_exp2(block.of[w][h].max - max) : 0.0f;
        block.weight[h][w] = weight;
        if (some) sum += block.of[w][h].sum * weight;
    }
    block.total[h] = {max, sum};
}

/* The output of query head h of the block, channels d to d + 3 */
template <typename E>
static __device__ __forceinline__ void store_out(
    const token<E> &a, const block_work &at, int h, int d, const float4 &y, float sum)
{
    float r = 1.0f / sum, out[4] = {y.x * r, y.y * r, y.z * r, y.w * r};
    store_float<4>(a.out + ((size_t)at.b * a.H + at.head + h) * a.D + d, out);
}

static __device__ __forceinline__ void add_scaled(float4 &y, const float4 &x, float f)
{
    y.x += x.x * f, y.y += x.y * f, y.z += x.z * f, y.w += x.w * f;
}

/* Adds the sums of the warps, and in the first block of a key head the token. If other
 * blocks have further parts, the sums go to the workspace, or in a cluster to the place of
 * the first warp's. */
template <int DM, typename E>
static __device__ __forceinline__ void merge_warps(
    block_sums &block, float *partial, const E *value, const token<E> &a, const split &s,
    const block_work &at, float *sums, softmax *softmaxes)
{
    constexpr int QUADS = DM / 4,
                  STEP = STAGES * STAGE<DM> / 2;  // STEP: floats of a warp
    int d = threadIdx.x % QUADS * 4;
    bool has_token = s.alone && at.part == 0;
    if (d >= a.D) return;
#pragma unroll 2
    for (int h = threadIdx.x / QUADS; h < at.heads; h += THREADS / QUADS) {
        float *mine = partial + h * PITCH<DM> + d;
        float4 y = {};
#pragma unroll
        for (int w = 0; w < WARPS_PER_BLOCK; w++)
            add_scaled(y, *(float4 *)(mine + w * STEP), block.weight[h][w]);
        if (has_token)
            add_scaled(
                y,
                {(float)value[d], (float)value[d + 1], (float)value[d + 2],
                 (float)value[d + 3]},
                block.weight[h][WARPS_PER_BLOCK]);
        softmax total = block.total[h];
        if (!s.alone) {
            size_t to = record(at.b, at.head + h, a.H, at.part, s.parts, 1);
            *(float4 *)(sums + to * a.D + d) = y;
            if (d == 0) softmaxes[to] = {total.max * LN_2, total.sum};
        } else if (s.parts == 1) {
            store_out(a, at, h, d, y, total.sum);
        } else {
            *(float4 *)mine = y;
        }
    }
}

/* Adds the sums of the two blocks of a cluster. They share the heads. */
template <int DM, typename E>
static __device__ __forceinline__ void
merge_cluster(block_sums &block, float *partial, const token<E> &a, const block_work &at)
{
    constexpr int QUADS = DM / 4, HEADS = THREADS / QUADS;  // at a time
    int d = threadIdx.x % QUADS * 4, other = 1 - at.part;
    if (d >= a.D) return;
#pragma unroll 4
    for (int h = at.part * HEADS + threadIdx.x / QUADS; h < at.heads; h += 2 * HEADS) {
        float *mine = partial + h * PITCH<DM> + d;
        softmax one = block.total[h], two = *cluster_map(&block.total[h], other);
        float4 y = {}, x = *(float4 *)cluster_map(mine, other);
        float max = fmaxf(one.max, two.max);
        float own = one.max == -INFINITY ? 0.0f : fast_exp2(one.max - max);
        float theirs = two.max == -INFINITY ? 0.0f : fast_exp2(two.max - max);
        add_scaled(y, *(float4 *)mine, own), add_scaled(y, x, theirs);
        store_out(a, at, h, d, y, one.sum * own + two.sum * theirs);
    }
}

/* One warp, once the ring has been read: the token's key and value to their slot */
template <int DM, typename E>
static __device__ __forceinline__ void
store_token(const E *own, const token<E> &a, const block_work &at)
{
    int d = threadIdx.x % WARP * 8;
    if (d >= a.D) return;
    size_t slot = (size_t)at.b * a.S + a.pos[at.b] % a.S;
    size_t to = (slot * a.K + at.g) * a.D + d;
    *(float4 *)(a.kcache + to) = *(const float4 *)(own + d);
    *(float4 *)(a.vcache + to) = *(const float4 *)(own + PITCH<DM> + d);
}

/* Each warp has its own tiles, warp, warp + 4, ... of the part, so that no warp waits for
 * another one before the end. In a cluster the blocks have the parts of one key head. */
template <int DM, bool PAIRED, typename E>
static __global__ void __launch_bounds__(THREADS)
    tensor_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ block_sums block;
    pdl_trigger();
    pdl_wait();
    block_work at = block_work_of(a, s, MMA_M);
    int warp = threadIdx.x / WARP, D = a.D;
    int tiles = (at.count + BN - 1) / BN, rows = tile_rows(a.H, a.K);
    E *high = (E *)smem;                    // (rows, PITCH)
    E *own = high + rows * PITCH<DM>;       // (2, PITCH): the token's key and value
    E *low = own + 2 * PITCH<DM>;           // (rows, PITCH)
    E *all_tiles = low + rows * PITCH<DM>;  // (WARPS_PER_BLOCK, STAGES, 2, BN, PITCH)
    E *ring = all_tiles + warp * STAGES * STAGE<DM>, *stage = ring;
    size_t row = (size_t)a.K * D;
    size_t from = ((size_t)at.b * a.S + at.first) * row + head_offset(a, at.g);
    int half = a.cis ? a.N / 2 : 0;
    bool has_token = s.alone && at.part == 0;  // else combine_kernel has it

    lane_angles angles;
    load_queries<DM>(high, a, at, rows, has_token);
    angles.load(a.cis, a.pos[at.b], half);
    clear_past<DM>(ring, D);
    auto prefetch = [&](int tile, E *to) {
        load_tile<DM>(to, a.kcache + from, a.vcache + from, row, tile * BN, at.count, D);
    };
#pragma unroll 1
    for (int i = 0; i < STAGES; i++)
        prefetch(warp + i * WARPS_PER_BLOCK, ring + i * STAGE<DM>);
    cp_async_wait<STAGES>();
    __syncthreads();  // q and the token are visible to the block
    rotate_queries<DM>(high, low, rows, angles, half);
    __syncthreads();  // so are they after rotation
    if (has_token) own_scores<DM>(block.of[WARPS_PER_BLOCK], high, low, own, a, at.heads);

    warp_sums<DM> w = {};
    w.max[0] = w.max[1] = -INFINITY;
    const E *q_high = query_row<DM, PAIRED>(high, low, rows);
    const E *q_low = query_row<DM, PAIRED>(low, low, rows);
#pragma unroll 1
    for (int t = warp; t < tiles; t += WARPS_PER_BLOCK) {
        float score[2][4] = {};
        unsigned p[4];
        cp_async_wait<STAGES - 1>();
        __syncwarp();  // what the lanes have copied is visible to the warp
        tile_scores<DM, PAIRED>(score, q_high, q_low, lane_row(stage, PITCH<DM>));
        online_softmax<DM, PAIRED, E>(p, w, score, a.scale * LOG2_E, at.count - t * BN);
        add_values<DM>(w, p, lane_row(stage + BN * PITCH<DM>, PITCH<DM>));
        __syncwarp();  // every lane has read the stage
        prefetch(t + STAGES * WARPS_PER_BLOCK, stage);
        stage = stage == ring ? ring + STAGE<DM> : ring;
    }
    cp_async_wait<0>();
    __syncwarp();  // no copy arrives where the sums go
    store_sums<DM, PAIRED>((float *)ring, block.of[warp], w);
    __syncthreads();  // the sums of all warps are visible to the block
    weigh_warps(block, WARPS_PER_BLOCK + has_token, at.heads);
    __syncthreads();  // so are their weights
    float *partial = (float *)all_tiles;
    bool shared = s.alone && s.parts > 1;
    merge_warps<DM>(block, partial, own + PITCH<DM>, a, s, at, sums, softmaxes);
    if (shared) {
        cluster_sync();  // the sums of all blocks are visible to the cluster
        merge_cluster<DM>(block, partial, a, at);
        cluster_arrive();
    }
    if (has_token && warp == 0) store_token<DM>(own, a, at);
    if (shared) cluster_wait();  // no block ends while others read its sums
}
// END SOLUTION
#endif
