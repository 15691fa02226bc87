/* kv.cu - lab 07, parts 07.1 and 07.2: tokens into the ring, and the ring before a chunk.
 * The contract is kvcache.h.
 *
 * Both kernels copy whole tokens, K*D elements each, 16 bytes at a time: the header's
 * limits on D and alignment guarantee that a token is a multiple of 16 bytes.
 */
#include "cuda/vec.cuh"
#include "kvcache.h"

enum { THREADS = 256 };           // of a block
typedef vec<unsigned, 4> vec16;  // 16 bytes, one access of a thread

/* --- 07.1: kv_append ---------------------------------------------------------------- */

/* TODO(07.1): the last min(len, S, pos[len-1]+1) tokens of row b go to slot pos mod
 * S. One thread per copied element is enough to pass. About 15 lines. */

/* What the header forbids; WB_OK: nothing */
static wb_status check_tokens(int B, int T, int S, int K, int D, int ldkv, bool aligned)
{
    if (B < 0 || T < 0 || S < 1 || K < 1 || D < 1) return WB_BAD_SHAPE;
    if (ldkv < (long long)K * D) return WB_BAD_SHAPE;
    if (D < 16 || D > 256 || D % 8) return WB_UNSUPPORTED;
    if (B == 0 || T == 0) return WB_OK;
    return aligned ? WB_OK : WB_BAD_ALIGN;
}

template <typename E>
static wb_status append(
    E *kcache, E *vcache, const E *k, const E *v, const int *pos, const int *len, int B,
    int T, int S, int K, int D, int ldkv, cudaStream_t stream)
{
    bool aligned = is_aligned(16, kcache, vcache, k, v) && ldkv * sizeof(E) % 16 == 0;
    wb_status status = check_tokens(B, T, S, K, D, ldkv, aligned);
    if (status != WB_OK || B == 0 || T == 0) return status;
    if (!kcache || !vcache || !k || !v) return WB_BAD_SHAPE;
    (void)pos, (void)len, (void)stream;
    return WB_TODO;  // TODO(07.1): the launch. About 3 lines.
}

/* --- 07.2: kv_unroll ---------------------------------------------------------------- */

/* TODO(07.2): row r of kall is the key of position start - S + r while r < S (zeros
 * if there is none), then token r - S of the chunk. About 15 lines. */

template <typename E>
static wb_status unroll(
    E *kall, E *vall, const E *kcache, const E *vcache, const E *k, const E *v,
    const int *pos, int B, int T, int S, int K, int D, int ldkv, cudaStream_t stream)
{
    bool aligned =
        is_aligned(16, kall, vall, kcache, vcache, k, v) && ldkv * sizeof(E) % 16 == 0;
    wb_status status = check_tokens(B, T, S, K, D, ldkv, aligned);
    if (status != WB_OK || B == 0 || T == 0) return status;
    if (!kall || !vall || !kcache || !vcache || !k || !v || !pos) return WB_BAD_SHAPE;
    (void)stream;
    return WB_TODO;  // TODO(07.2): the launch. About 3 lines.
}

#define DEFINE(E, e)                                                                     \
    wb_status kv_append_##e(                                                             \
        E *kcache, E *vcache, const E *k, const E *v, const int *pos, const int *len,    \
        int B, int T, int S, int K, int D, int ldkv, cudaStream_t stream)                \
    {                                                                                    \
        return append(kcache, vcache, k, v, pos, len, B, T, S, K, D, ldkv, stream);      \
    }                                                                                    \
    wb_status kv_unroll_##e(                                                             \
        E *kall, E *vall, const E *kcache, const E *vcache, const E *k, const E *v,      \
        const int *pos, int B, int T, int S, int K, int D, int ldkv,                     \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return unroll(                                                                   \
            kall, vall, kcache, vcache, k, v, pos, B, T, S, K, D, ldkv, stream);         \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
