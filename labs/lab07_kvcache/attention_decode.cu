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

/* TODO(07.3): a first version has three kernels: the scores of slots and token, into
 * the workspace; softmax and the sum of values; k and v to their slot. About 45
 * lines.
 * TODO(07.4): query head h reads key head h / (H/K). */

/* In bytes */
static size_t decode_workspace(int B, int S, int H, int K, int D)
{
    if (B < 1 || S < 1 || H < 1 || K < 1 || D < 1) return 0;
    return 0;  // TODO(07.3): what the kernels pass to each other, in bytes
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
    (void)a, (void)workspace, (void)stream;
    return WB_TODO;  // TODO(07.3): the launches. About 8 lines.
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
