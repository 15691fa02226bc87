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

/* 07.3 in four steps: a first version has three kernels, for the scores, the values and
 * the new slot. The cases `decode_store`, `decode_mean`, `decode` and `decode_turn` grade
 * the steps one by one. */
constexpr int THREADS = 128;  // of a block

/* Step 4: channel d of head x, rotated to position p. */
template <typename E>
static __device__ float rotated(const E *x, const float *cis, int p, int d, int N)
{
    // TODO(07.3, step 4): unless cis is NULL or d >= N: channel d belongs to the pair
    // (x[i], x[i + N/2]), i = d % (N/2), with c = cis[2j] and s = cis[2j + 1],
    // j = p * (N/2) + i. The first becomes x[i] c - x[i + N/2] s, the second x[i + N/2] c + x[i] s. 5 lines.
    return (float)x[d];
}

/* Step 1: k and v go to their slot. This kernel is launched last: when it starts, the
 * others have read the slot. A block per sequence. */
template <typename E> static __global__ void store_kernel(token<E> a)
{
    int b = blockIdx.x, p = a.pos[b];
    // TODO(07.3, step 1): the K*D elements of k, rotated, and of v go to slot p mod S of
    // the sequence. A thread takes the elements threadIdx.x, threadIdx.x + THREADS, ...
    // Rows of k and v start ldkv elements apart. About 6 lines.
}

/* Step 2: a block per query head (b,h), whose scores are s[0], s[1], ... of the slots and
 * s[S] of the token itself. Until step 3 all of them are 0, so out is a mean. */
template <typename E> static __global__ void value_kernel(token<E> a, const float *score)
{
    int h = blockIdx.x % a.H, b = blockIdx.x / a.H, g = h;  // TODO(07.4): h / (H/K)
    const float *s = score + (size_t)blockIdx.x * (a.S + 1);
    // TODO(07.3, step 2): the first min(pos, S) slots hold a position. Every thread
    // computes the maximum of their scores and s[S], then the sum of exp(s - max), s[S]
    // included. 7 lines.
    for (int d = threadIdx.x; d < a.D; d += THREADS) {
        // TODO(07.3, step 2): out[b,h,d], the sum of exp(s - max) times the value,
        // vcache[b,j,g,d] for slot j and v[b,g,d] for s[S], divided by the sum above.
        // About 4 lines.
    }
}

/* Step 3: a thread per score. `row` numbers the pairs (b,h); j is the slot, and j = S the
 * token itself. */
template <typename E> static __global__ void score_kernel(token<E> a, float *score)
{
    int blocks = a.S / THREADS + 1, row = blockIdx.x / blocks;  // row: [0, B*H)
    int j = blockIdx.x % blocks * THREADS + threadIdx.x;
    int h = row % a.H, b = row / a.H, p = a.pos[b], g = h;  // TODO(07.4): h / (H/K)
    if (j > a.S || (j < a.S && j >= p)) return;  // no slot, or it holds no position
    float sum = 0.0f;
    // TODO(07.3, step 3): the dot product of query head q[b,h], rotated, and the key:
    // kcache[b,j,g], or, if j = S, k[b,g], rotated and rounded to E as the ring will
    // store it. About 8 lines.
    score[(size_t)row * (a.S + 1) + j] = a.scale * sum;
}

/* In bytes */
static size_t decode_workspace(int B, int S, int H, int K, int D)
{
    if (B < 1 || S < 1 || H < 1 || K < 1 || D < 1) return 0;
    return 0;  // TODO(07.3, step 2): B*H*(S+1) scores, in bytes. 1 line.
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
    float *score = (float *)workspace;
    unsigned blocks = (unsigned)B * H * (S / THREADS + 1);  // of score_kernel
    (void)a, (void)score, (void)blocks, (void)stream;
    // TODO(07.3, step 2): launch score_kernel, then value_kernel. 2 lines.
    // TODO(07.3, step 1): launch store_kernel, then return wb_launched(). 2 lines.
    return WB_TODO;
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
