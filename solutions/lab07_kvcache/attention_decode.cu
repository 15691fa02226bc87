/* attention_decode.cu - lab 07, parts 07.3 and 07.4: one token attends to its ring and
 * itself. The contract is kvcache.h.
 *
 * Only the cache is large, and it is read once. So all that matters is to read it with
 * the whole GPU, however few sequences and key heads there are. The slots of a key head
 * are split into parts, a block each, for all query heads of the group (up to a tile of
 * 16). A block first computes all scores of its part, then their softmax, then sums
 * values: its maximum is final before the first value is read. A second kernel adds the
 * parts and the token itself, always in the same order. Only then k and v go to their
 * slot: every block has read it.
 */
#include "cuda/vec.cuh"
#include "decode.cuh"

// BEGIN SOLUTION 07.3 (about 30 lines in a first version)
//> /* 07.3 in four steps: a first version has three kernels, for the scores, the values and
//>  * the new slot. The cases `decode_store`, `decode_mean`, `decode` and `decode_turn` grade
//>  * the steps one by one. */
//> constexpr int THREADS = 128;  // of a block
//>
//> /* Step 4: channel d of head x, rotated to position p. */
//> template <typename E>
//> static __device__ float rotated(const E *x, const float *cis, int p, int d, int N)
//> {
//>     // TODO(07.3, step 4): unless cis is NULL or d >= N: channel d belongs to the pair
//>     // (x[i], x[i + N/2]), i = d % (N/2), with c = cis[2j] and s = cis[2j + 1],
//>     // j = p * (N/2) + i. The first becomes x[i] c - x[i + N/2] s, the second x[i + N/2] c + x[i] s. 5 lines.
//>     return (float)x[d];
//> }
//>
//> /* Step 1: k and v go to their slot. This kernel is launched last: when it starts, the
//>  * others have read the slot. A block per sequence. */
//> template <typename E> static __global__ void store_kernel(token<E> a)
//> {
//>     int b = blockIdx.x, p = a.pos[b];
//>     // TODO(07.3, step 1): the K*D elements of k, rotated, and of v go to slot p mod S of
//>     // the sequence. A thread takes the elements threadIdx.x, threadIdx.x + THREADS, ...
//>     // Rows of k and v start ldkv elements apart. About 6 lines.
//> }
//>
//> /* Step 2: a block per query head (b,h), whose scores are s[0], s[1], ... of the slots and
//>  * s[S] of the token itself. Until step 3 all of them are 0, so out is a mean. */
//> template <typename E> static __global__ void value_kernel(token<E> a, const float *score)
//> {
//>     int h = blockIdx.x % a.H, b = blockIdx.x / a.H, g = h;  // TODO(07.4): h / (H/K)
//>     const float *s = score + (size_t)blockIdx.x * (a.S + 1);
//>     // TODO(07.3, step 2): the first min(pos, S) slots hold a position. Every thread
//>     // computes the maximum of their scores and s[S], then the sum of exp(s - max), s[S]
//>     // included. 7 lines.
//>     for (int d = threadIdx.x; d < a.D; d += THREADS) {
//>         // TODO(07.3, step 2): out[b,h,d], the sum of exp(s - max) times the value,
//>         // vcache[b,j,g,d] for slot j and v[b,g,d] for s[S], divided by the sum above.
//>         // About 4 lines.
//>     }
//> }
//>
//> /* Step 3: a thread per score. `row` numbers the pairs (b,h); j is the slot, and j = S the
//>  * token itself. */
//> template <typename E> static __global__ void score_kernel(token<E> a, float *score)
//> {
//>     int blocks = a.S / THREADS + 1, row = blockIdx.x / blocks;  // row: [0, B*H)
//>     int j = blockIdx.x % blocks * THREADS + threadIdx.x;
//>     int h = row % a.H, b = row / a.H, p = a.pos[b], g = h;  // TODO(07.4): h / (H/K)
//>     if (j > a.S || (j < a.S && j >= p)) return;  // no slot, or it holds no position
//>     float sum = 0.0f;
//>     // TODO(07.3, step 3): the dot product of query head q[b,h], rotated, and the key:
//>     // kcache[b,j,g], or, if j = S, k[b,g], rotated and rounded to E as the ring will
//>     // store it. About 8 lines.
//>     score[(size_t)row * (a.S + 1) + j] = a.scale * sum;
//> }
#include "decode_plain.cuh"
#include "decode_short.cuh"
#include "decode_tensor.cuh"

/* --- the parts and the token itself ------------------------------------------------- */

constexpr int COMBINE_THREADS = 256;
constexpr int EARLY =
    8;  // sums of a thread that are loaded before their weights are known

/* The sum of `product` over the D channels, one per thread of the block */
static __device__ __forceinline__ float block_dot(float product, int D)
{
    __shared__ float dots[COMBINE_THREADS / WARP];
    float dot = warp_sum(product), sum = 0.0f;
    if (threadIdx.x % WARP == 0) dots[threadIdx.x / WARP] = dot;
    __syncthreads();  // the sums of all warps are visible to the block
    for (int i = 0; i < (D + WARP - 1) / WARP; i++)
        sum += dots[i];
    return sum;
}

/* The sums of the parts of a query head, which groups of D / 4 threads share: group i has
 * the parts i, i + groups, ..., a thread 4 channels. */
struct part_sums {
    const float4 *sums;
    const softmax *of;
    int step, first, groups, parts;  // step: from part to part, in float4
    float4 early[EARLY];
    float max[EARLY];

    __device__ __forceinline__ void load(int i, float4 *y, float *m) const
    {
        int part = first + i * groups;
        bool valid = first < groups && part < parts;
        *y = valid ? sums[(size_t)part * step] : float4{};
        *m = valid ? of[part].max : -INFINITY;
    }
    __device__ __forceinline__ void load_early()
    {
#pragma unroll
        for (int i = 0; i < EARLY; i++)
            load(i, &early[i], &max[i]);
    }
    /* relative to `top`, the largest score of all */
    __device__ __forceinline__ float4 add(float top) const
    {
        float4 y = {};
        for (int i = 0; i * groups < parts; i += EARLY) {
#pragma unroll
            for (int u = 0; u < EARLY; u++) {
                float4 x = early[u];
                float m = max[u];
                if (i > 0) load(i + u, &x, &m);
                float f = expf(m - top);  // 0: no slots
                y.x += f * x.x, y.y += f * x.y, y.z += f * x.z, y.w += f * x.w;
            }
        }
        return y;
    }
};

/* A block per query head. A part with maximum m counts e^(m - max), where max is the
 * largest of all, including the token's own score. */
template <typename E>
static __global__ void __launch_bounds__(COMBINE_THREADS)
    combine_kernel(token<E> a, int parts, const float *sums, const softmax *softmaxes)
{
    __shared__ float4 of_group[COMBINE_THREADS];  // (groups, D / 4)
    pdl_trigger();
    pdl_wait();
    int h = blockIdx.x % a.H, b = blockIdx.x / a.H, G = a.H / a.K, g = h / G;
    int d = threadIdx.x, D = a.D, p = a.pos[b], quads = D / 4, lane = d % WARP;
    size_t first = (size_t)blockIdx.x * parts;
    part_sums own = {
        (const float4 *)(sums + first * D) + d % quads,
        softmaxes + first,
        quads,
        d / quads,
        COMBINE_THREADS / quads,
        parts};
    own.load_early();
    softmax one = {-INFINITY, 0.0f};
    if (lane < parts) one = own.of[lane];
    float max = one.max;
    for (int i = lane + WARP; i < parts; i += WARP)  // every warp reads all parts
        max = fmaxf(max, own.of[i].max);             // -inf: a part without slots
    const E *kg = a.k + (size_t)b * a.ldkv + head_offset(a, g);
    const E *vg = a.v + (size_t)b * a.ldkv + head_offset(a, g);
    const E *qh = a.q + (size_t)b * a.ldq + (size_t)h * D;
    /* rounded, as the ring will hold it */
    E key = (E)(d < D ? rotated(kg, a.cis, p, d, a.N) : 0.0f);
    E value = d < D ? vg[d] : (E)0.0f;
    float self =
        a.scale * block_dot(d < D ? rotated(qh, a.cis, p, d, a.N) * (float)key : 0.0f, D);

    max = fmaxf(warp_max(max), self);
    float sum = expf(one.max - max) * one.sum;
    for (int i = lane + WARP; i < parts; i += WARP)
        sum += expf(own.of[i].max - max) * own.of[i].sum;
    float weight = expf(self - max), y = weight * (float)value;
    sum = warp_sum(sum) + weight;
    of_group[d] = own.add(max);
    __syncthreads();  // the sums of all groups are visible to the block
    if (d >= D) return;
    for (int i = 0; i < own.groups; i++)
        y += ((const float *)of_group)[i * D + d];
    a.out[(size_t)blockIdx.x * D + d] = (E)(y / sum);
    if (h % G == 0) {  // the slot of position p - S: every block has read it
        size_t slot = (((size_t)b * a.S + p % a.S) * a.K + g) * D + d;
        a.kcache[slot] = key;
        a.vcache[slot] = value;
    }
}

/* --- launchers ---------------------------------------------------------------------- */

/* Whether tensor_kernel can run, and does so faster than plain_kernel */
template <typename E> static bool tensor_fits(int H, int K, int D)
{
    int rows = tile_rows(H, K);
    int bytes = D > 128  ? tensor_bytes<256>(rows)
                : D > 64 ? tensor_bytes<128>(rows)
                         : tensor_bytes<64>(rows);
    // of heads with keys of their own, measured on Hopper only
    bool chosen = H != K || code_is_sm90a();
    return has_mma<E>() && chosen && bytes <= max_smem_per_block();
}
template <> bool tensor_fits<float>(int, int, int)
{
    return false;
}

/* How a call of tensor_kernel is split: as many blocks as run at the same time. A cluster
 * of two blocks adds its parts itself. Larger ones do not fill the GPU's groups of
 * multiprocessors evenly: from three parts on, combine_kernel adds them. */
static split tensor_split(int B, int S, int H, int K, int D, size_t row)
{
    split s = {};
    s.tiles = (H / K + MMA_M - 1) / MMA_M;
    long long rows = (long long)B * K * s.tiles, max_parts = (S - 1) / MIN_SLOTS + 1;
    int fill = sm_count() * (D > 128 ? 1 : 2);
    if (fill > FILL_BLOCKS) fill = FILL_BLOCKS;
    long long wanted = fill / rows;
    long long one = (rows + fill - 1) / fill * (S + MIN_SLOTS);  // time, in slots
    long long two = (2 * rows + fill - 1) / fill * ((S + 1) / 2 + MIN_SLOTS);
    if (code_is_sm90a() && wanted < 3) wanted = two < one ? 2 : 1;
    if (s.tiles == 1 && S * row <= MAX_ALONE) wanted = 1;
    s.parts = (int)(wanted < 1 ? 1 : wanted > max_parts ? max_parts : wanted);
    s.alone = s.tiles == 1 && s.parts <= (code_is_sm90a() ? 2 : 1);
    return s;
}

template <int DM, bool PAIRED, typename E>
static void launch_tensor(
    const token<E> &a, float *sums, softmax *softmaxes, split s, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((size_t)a.B * a.K * s.tiles * s.parts);
    launch_pdl_cluster(
        tensor_kernel<DM, PAIRED, E>, s.alone ? s.parts : 1, blocks, THREADS,
        tensor_bytes<DM>(tile_rows(a.H, a.K)), stream, a, s, sums, softmaxes);
}

template <int DM, typename E>
static void launch_tensor(
    const token<E> &a, float *sums, softmax *softmaxes, split s, cudaStream_t stream)
{
    if (tile_rows(a.H, a.K) <= MMA_M / 2)
        launch_tensor<DM, true>(a, sums, softmaxes, s, stream);
    else
        launch_tensor<DM, false>(a, sums, softmaxes, s, stream);
}

template <typename E>
static void launch_parts(
    const token<E> &a, float *sums, softmax *softmaxes, split s, bool tensor,
    cudaStream_t stream)
{
    if constexpr (sizeof(E) == 2)
        if (tensor) {
            auto launch = a.D > 128  ? launch_tensor<256, E>
                          : a.D > 64 ? launch_tensor<128, E>
                                     : launch_tensor<64, E>;
            return launch(a, sums, softmaxes, s, stream);
        }
    unsigned blocks = (unsigned)((size_t)a.B * a.K * s.tiles * s.parts);
    auto kernel = a.H == a.K
                      ? s.alone ? plain_kernel<1, true, E> : plain_kernel<1, false, E>
                  : s.alone ? plain_kernel<PLAIN_HEADS<E>, true, E>
                            : plain_kernel<PLAIN_HEADS<E>, false, E>;
    launch_pdl(kernel, blocks, THREADS, 0, stream, a, s, sums, softmaxes);
}
// END SOLUTION

/* In bytes */
static size_t decode_workspace(int B, int S, int H, int K, int D)
{
    if (B < 1 || S < 1 || H < 1 || K < 1 || D < 1) return 0;
    // BEGIN SOLUTION 07.3 (about 6 lines; 1 in a first version)
    //> return 0;  // TODO(07.3, step 2): B*H*(S+1) scores, in bytes. 1 line.
    /* B * H * parts, for every plan. FILL_BLOCKS / rows falls as rows grow; this upper
     * bound never falls. */
    size_t heads = (size_t)B * H, least = heads * ((S - 1) / MAX_SLOTS + 1);
    size_t upper = heads * ((S - 1) / MIN_SLOTS + 1);
    size_t wanted = (size_t)FILL_BLOCKS * H + heads;
    size_t records = wanted < upper ? wanted : upper;
    if (records < least) records = least;
    return records * (D * sizeof(float) + sizeof(softmax));
    // END SOLUTION
}

template <typename E>
static wb_status decode(
    E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v, const float *cis,
    const int *pos, int B, int S, int H, int K, int D, int N, int ldq, int ldkv,
    float scale, void *workspace, size_t workspace_bytes, cudaStream_t stream)
{
    if (B < 0 || S < 1 || K < 1 || H < 1 || H % K || D < 1) return WB_BAD_SHAPE;
    if (N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ldq < (long long)H * D || ldkv < (long long)K * D) return WB_BAD_SHAPE;
    if (D < 16 || D > 256 || D % 8) return WB_UNSUPPORTED;
    if (B == 0) return WB_OK;
    if (!out || !kcache || !vcache || !q || !k || !v || !pos) return WB_BAD_SHAPE;
    if (!is_aligned(16, out, kcache, vcache, q, k, v)) return WB_BAD_ALIGN;
    if (ldq * sizeof(E) % 16 || ldkv * sizeof(E) % 16) return WB_BAD_ALIGN;
    if (workspace_bytes < decode_workspace(B, S, H, K, D)) return WB_NO_SPACE;
    token<E> a = {out, kcache, vcache, q, k, v,   cis,  pos,  B,
                  S,   H,      K,      D, N, ldq, ldkv, scale};
    // BEGIN SOLUTION 07.3 (about 12 lines; 4 in a first version)
    //> float *score = (float *)workspace;
    //> unsigned blocks = (unsigned)B * H * (S / THREADS + 1);  // of score_kernel
    //> (void)a, (void)score, (void)blocks, (void)stream;
    //> // TODO(07.3, step 2): launch score_kernel, then value_kernel. 2 lines.
    //> // TODO(07.3, step 1): launch store_kernel, then return wb_launched(). 2 lines.
    //> return WB_TODO;
    if (short_fits<E>(B, S, H, K, D)) {
        launch_pdl(
            short_kernel<E>, B * K, SHORT_THREADS, 0, stream, a, short_lanes<E>(D));
        return wb_launched();
    }
    bool tensor = tensor_fits<E>(H, K, D);
    size_t row = D * sizeof(E);
    split s = tensor ? tensor_split(B, S, H, K, D, row)
                     : split_of(B, S, H, K, H == K ? 1 : PLAIN_HEADS<E>, MAX_SLOTS, row);
    float *sums = (float *)workspace;
    softmax *softmaxes = (softmax *)(sums + (size_t)B * H * s.parts * D);
    launch_parts(a, sums, softmaxes, s, tensor, stream);
    if (s.alone) return wb_launched();  // nothing to combine
    launch_pdl(
        combine_kernel<E>, B * H, COMBINE_THREADS, 0, stream, a, s.parts,
        (const float *)sums, (const softmax *)softmaxes);
    return wb_launched();
    // END SOLUTION
}

#define DEFINE(E, e)                                                                     \
    wb_status attention_decode_##e(                                                      \
        E *out, E *kcache, E *vcache, const E *q, const E *k, const E *v,                \
        const float *cis, const int *pos, int B, int S, int H, int K, int D, int N,      \
        int ldq, int ldkv, float scale, void *workspace, size_t workspace_bytes,         \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return decode(                                                                   \
            out, kcache, vcache, q, k, v, cis, pos, B, S, H, K, D, N, ldq, ldkv, scale,  \
            workspace, workspace_bytes, stream);                                         \
    }                                                                                    \
    size_t attention_decode_workspace_##e(int B, int S, int H, int K, int D)             \
    {                                                                                    \
        return decode_workspace(B, S, H, K, D);                                          \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
