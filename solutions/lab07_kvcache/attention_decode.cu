/* attention_decode.cu - lab 07, parts 3 and 4: one token attends to its ring and itself.
 * The contract is kvcache.h.
 *
 * The cache is read once and nothing else is of any size, so all that matters is to read it
 * with the whole machine, however few rows and key heads there are. A key head's slots are
 * split into parts, a block each, which serves all query heads of the group (up to a tile
 * of 16). A block first has all scores of its part, then their softmax, then sums values:
 * its maximum is final before the first value is touched. A second kernel adds up the
 * parts and the token itself, always in the same order, and only then k and v go to their
 * slot, which by now everybody has read.
 */
#include "decode.cuh"

// BEGIN SOLUTION 07.3 (about 60 lines in a first version)
//> /* TODO(07.3): three kernels make a first version: the scores of slots and token, into the
//>  * workspace; softmax and the sum of values; k and v to their slot. About 45 lines.
//>  * TODO(07.4): query head h reads key head h / (H/K). */
#include "decode_tensor.cuh"

// --- ordinary instructions: multiply and add ------------------------------------------------------------

/* 16 bytes of a row. */
template <typename E> struct alignas(16) vec {
    static constexpr int N = 16 / sizeof(E);
    E at[N];
};

/* HEADS query heads at a time. A thread per slot has the scores, a thread per 16 bytes of a row
 * sums values; where those are fewer than the block, groups of them share the slots. */
template <int HEADS, typename E>
static __global__ void __launch_bounds__(BLOCK)
    plain_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    __shared__ float q[HEADS][WIDEST], p[HEADS][MOST];
    __shared__ float partial[BLOCK * vec<E>::N * HEADS];
    constexpr int N = vec<E>::N;
    let_next_kernel_start();
    wait_for_kernel_before();
    queries<HEADS, E> mine;
    place at = place_of(a, s, HEADS);
    int part = blockIdx.x % s.parts, tid = threadIdx.x, D = a.D;
    size_t row = (size_t)a.K * D;  // from slot to slot
    const E *keys = a.kcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;
    const E *values = a.vcache + ((size_t)at.b * a.S + at.first) * row + at.g * D;

    for (int i = tid; i < (HEADS - at.heads) * D; i += BLOCK)
        q[at.heads + i / D][i % D] = 0.0f;  // a tile that is not full
    mine.load(a, at);
    mine.turn(a, at, [&](int h, int d, float x) { q[h][d] = a.scale * x; });
    __syncthreads();  // q is there

    for (int j = tid; j < at.count; j += BLOCK) {
        const vec<E> *key = (const vec<E> *)(keys + j * row);
        float score[HEADS] = {};
#pragma unroll 4
        for (int d = 0; d < D / N; d++) {
            vec<E> k = key[d];
#pragma unroll
            for (int h = 0; h < HEADS; h++)
#pragma unroll
                for (int c = 0; c < N; c++)
                    score[h] += q[h][d * N + c] * (float)k.at[c];
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++)
            p[h][j] = score[h];
    }
    __syncthreads();  // all scores are there

    for (int h = tid / WARP; h < at.heads; h += BLOCK / WARP) {
        float most = -INFINITY, sum = 0.0f;
        for (int j = tid % WARP; j < at.count; j += WARP)
            most = fmaxf(most, p[h][j]);
        most = warp_max(most);
        for (int j = tid % WARP; j < at.count; j += WARP)
            sum += p[h][j] = expf(p[h][j] - most);
        sum = warp_sum(sum);
        if (tid % WARP == 0)
            softmaxes[record(at.b, at.head + h, a.H, part, s.parts, 1)] = {most, sum};
    }
    __syncthreads();  // all p are there

    int wide = D / N, groups = BLOCK / wide, group = tid / wide, d = tid % wide;
    float y[HEADS][N] = {};
    if (group < groups) {
#pragma unroll 4
        for (int j = group; j < at.count; j += groups) {
            vec<E> v = ((const vec<E> *)(values + j * row))[d];
#pragma unroll
            for (int h = 0; h < HEADS; h++)
#pragma unroll
                for (int c = 0; c < N; c++)
                    y[h][c] += p[h][j] * (float)v.at[c];
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++)
#pragma unroll
            for (int c = 0; c < N; c++)
                partial[(h * groups + group) * D + d * N + c] = y[h][c];
    }
    __syncthreads();  // every group's sums are there
    for (int h = 0; h < at.heads; h++)
        for (int i = tid; i < D; i += BLOCK) {
            float sum = 0.0f;
            for (int k = 0; k < groups; k++)
                sum += partial[(h * groups + k) * D + i];
            sums[record(at.b, at.head + h, a.H, part, s.parts, D) + i] = sum;
        }
}

// --- the parts and the token itself, together -------------------------------------------

/* A block per query head, a thread per channel. What a part with maximum m has counts
 * e^(m - most), where most is the largest of all, that of the token's own score too. */
template <typename E>
static __global__ void __launch_bounds__(WIDEST, 4)
    combine_kernel(token<E> a, int parts, const float *sums, const softmax *softmaxes)
{
    constexpr int MANY = 512, EARLY = 8;  // parts at a time; before anything is known
    __shared__ float dots[WIDEST / WARP], weights[MANY], totals[MANY];
    let_next_kernel_start();
    wait_for_kernel_before();
    int h = blockIdx.x % a.H, b = blockIdx.x / a.H, G = a.H / a.K, g = h / G;
    int d = threadIdx.x, D = a.D, p = a.pos[b];
    size_t first = (size_t)blockIdx.x * parts;
    const E *kg = a.k + (size_t)b * a.ldkv + (size_t)g * D;
    const E *vg = a.v + (size_t)b * a.ldkv + (size_t)g * D;
    const E *qh = a.q + (size_t)b * a.ldq + (size_t)h * D;
    const float *part = sums + first * D + (d < D ? d : 0);
    float early[EARLY], most = -INFINITY;
#pragma unroll
    for (int i = 0; i < EARLY; i++)
        early[i] = i < parts ? part[(size_t)i * D] : 0.0f;
    for (int i = d % WARP; i < parts; i += WARP)        // each warp by itself
        most = fmaxf(most, softmaxes[first + i].most);  // -inf: had no slots
    most = warp_max(most);
    E key = (E)(d < D ? turned(kg, a.cis, p, d, a.N) : 0.0f);  // as the ring will hold it
    E value = d < D ? vg[d] : (E)0.0f;
    float dot = d < D ? turned(qh, a.cis, p, d, a.N) * (float)key : 0.0f;
    dot = warp_sum(dot);
    if (d % WARP == 0) dots[d / WARP] = dot;
    __syncthreads();  // every warp's sum is there
    float self = 0.0f;
    for (int i = 0; i < (D + WARP - 1) / WARP; i++)
        self += dots[i];
    self *= a.scale;

    most = fmaxf(most, self);
    float sum = expf(self - most), y = sum * (float)value;
    for (int start = 0; start < parts; start += MANY) {
        int count = min(parts - start, MANY);
        __syncthreads();  // nobody reads weights any more
        for (int i = d; i < count; i += blockDim.x) {
            softmax one = softmaxes[first + start + i];
            weights[i] = expf(one.most - most), totals[i] = one.sum;
        }
        __syncthreads();  // all weights are there
#pragma unroll
        for (int i = 0; i < EARLY; i++)
            if (start == 0 && i < count)
                sum += weights[i] * totals[i], y += weights[i] * early[i];
#pragma unroll 8
        for (int i = start ? 0 : EARLY; i < count; i++) {
            sum += weights[i] * totals[i];
            y += weights[i] * part[(size_t)(start + i) * D];
        }
    }
    if (d >= D) return;
    a.out[(size_t)blockIdx.x * D + d] = (E)(y / sum);
    if (h % G == 0) {  // the slot of position p - S: every block has read it
        size_t slot = (((size_t)b * a.S + p % a.S) * a.K + g) * D + d;
        a.kcache[slot] = key;
        a.vcache[slot] = value;
    }
}

/* Query heads of a block: on tensor cores as many as a matrix has rows. */
template <typename E> static int tile_heads(int H, int K)
{
    return H == K ? 1 : sizeof(E) == 2 ? ROWS : 8;
}

/* Slots of a part, at most. */
template <typename E> static int part_slots(int H, int K, int D)
{
    return H == K || sizeof(E) == 4 ? MOST : tensor_slots(D, tile_rows(H, K));
}

static void launch_groups(
    const token<float> &a, float *sums, softmax *softmaxes, split s, unsigned blocks,
    cudaStream_t stream)
{
    launch_early(plain_kernel<8, float>, blocks, BLOCK, 0, stream, a, s, sums, softmaxes);
}

template <typename E>
static void launch_groups(
    const token<E> &a, float *sums, softmax *softmaxes, split s, unsigned blocks,
    cudaStream_t stream)
{
    int bytes = (int)tensor_bytes(a.D, tile_rows(a.H, a.K), s.slots);
    launch_early(tensor_kernel<E>, blocks, BLOCK, bytes, stream, a, s, sums, softmaxes);
}

template <typename E>
static void launch_parts(
    const token<E> &a, float *sums, softmax *softmaxes, split s, cudaStream_t stream)
{
    unsigned blocks = (unsigned)((size_t)a.B * a.K * s.tiles * s.parts);
    if (a.H == a.K)
        launch_early(plain_kernel<1, E>, blocks, BLOCK, 0, stream, a, s, sums, softmaxes);
    else
        launch_groups(a, sums, softmaxes, s, blocks, stream);
}
// END SOLUTION

/* In bytes. BUSY / rows falls as rows grow: this bound of B * H * parts does not. */
static size_t decode_workspace(int B, int S, int H, int K, int D)
{
    if (B < 1 || S < 1 || H < 1 || K < 1 || D < 1) return 0;
    // BEGIN SOLUTION 07.3 (about 6 lines)
    //> return 0;  // TODO(07.3): what the kernels pass to each other, in bytes
    size_t heads = (size_t)B * H, fewest = heads * ((S - 1) / MOST + 1);
    size_t most = heads * ((S - 1) / LEAST + 1), wanted = (size_t)BUSY * H + heads;
    size_t records = wanted < most ? wanted : most;
    if (records < fewest) records = fewest;
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
    uintptr_t all = (uintptr_t)out | (uintptr_t)kcache | (uintptr_t)vcache |
                    (uintptr_t)q | (uintptr_t)k | (uintptr_t)v | ldq * sizeof(E) |
                    ldkv * sizeof(E);
    if (all % 16) return WB_BAD_ALIGN;
    if (workspace_bytes < decode_workspace(B, S, H, K, D)) return WB_NO_SPACE;
    token<E> a = {out, kcache, vcache, q, k, v,   cis,  pos,  B,
                  S,   H,      K,      D, N, ldq, ldkv, scale};
    // BEGIN SOLUTION 07.3 (about 8 lines)
    //> (void)a, (void)workspace, (void)stream;
    //> return WB_TODO;  // TODO(07.3): the launches. About 8 lines.
    split s = split_of(B, S, H, K, tile_heads<E>(H, K), part_slots<E>(H, K, D));
    float *sums = (float *)workspace;
    softmax *softmaxes = (softmax *)(sums + (size_t)B * H * s.parts * D);
    launch_parts(a, sums, softmaxes, s, stream);
    int threads = (D + WARP - 1) / WARP * WARP;
    launch_early(
        combine_kernel<E>, B * H, threads, 0, stream, a, s.parts, (const float *)sums,
        (const softmax *)softmaxes);
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
