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

// BEGIN SOLUTION 07.1 (about 20 lines)
//> /* TODO(07.1): the last min(len, S, pos[len-1]+1) tokens of row b go to slot pos mod
//>  * S. One thread per copied element is enough to pass. About 15 lines. */

/* blockIdx.y: the sequence. Tokens are counted from its end: token 0 is the last real
 * one. width: vectors of a token; ld: from token to token in k and v. */
static __global__ void __launch_bounds__(THREADS) append_kernel(
    vec16 *kcache, vec16 *vcache, const vec16 *k, const vec16 *v, const int *pos,
    const int *len, int B, int T, int S, int width, int ld)
{
    for (int b = blockIdx.y; b < B; b += gridDim.y) {
        int end = len ? min(len[b], T) : T;
        if (end <= 0) continue;
        int last = pos ? pos[(size_t)b * T + end - 1] : end - 1;
        size_t work = (size_t)min(min(end, S), last + 1) * width;
        size_t step = (size_t)gridDim.x * THREADS;
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < work; i += step) {
            int back = (int)(i / width), part = (int)(i % width);
            int slot = (last - back) % S;  // positions of a document follow each other
            size_t from = ((size_t)b * T + end - 1 - back) * ld + part;
            size_t to = ((size_t)b * S + slot) * width + part;
            kcache[to] = k[from];
            vcache[to] = v[from];
        }
    }
}
// END SOLUTION

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
    // BEGIN SOLUTION 07.1 (about 8 lines)
    //> (void)pos, (void)len, (void)stream;
    //> return WB_TODO;  // TODO(07.1): the launch. About 3 lines.
    int width = K * D / VEC16<E>;
    size_t blocks = ((size_t)min(T, S) * width + THREADS - 1) / THREADS;
    dim3 grid((unsigned)min(blocks, (size_t)4096), min(B, 65535));
    append_kernel<<<grid, THREADS, 0, stream>>>(
        (vec16 *)kcache, (vec16 *)vcache, (const vec16 *)k, (const vec16 *)v, pos, len, B,
        T, S, width, ldkv / VEC16<E>);
    return wb_launched();
    // END SOLUTION
}

/* --- 07.2: kv_unroll ---------------------------------------------------------------- */

// BEGIN SOLUTION 07.2 (about 20 lines)
//> /* TODO(07.2): row r of kall is the key of position start - S + r while r < S (zeros
//>  * if there is none), then token r - S of the chunk. About 15 lines. */

/* Row r of kall, from kcache and k, or of vall, from vcache and v */
static __device__ vec16 unrolled(
    const vec16 *ring, const vec16 *tokens, int b, int r, int part, int start, int T,
    int S, int width, int ld)
{
    if (r >= S) return tokens[((size_t)b * T + r - S) * ld + part];
    int position = start - S + r;
    if (position < 0) return vec16{};  // before the document
    return ring[((size_t)b * S + position % S) * width + part];
}

static __global__ void __launch_bounds__(THREADS) unroll_kernel(
    vec16 *kall, vec16 *vall, const vec16 *kcache, const vec16 *vcache, const vec16 *k,
    const vec16 *v, const int *pos, int B, int T, int S, int width, int ld)
{
    for (int b = blockIdx.y; b < B; b += gridDim.y) {
        int start = pos[(size_t)b * T];
        size_t work = ((size_t)S + T) * width, step = (size_t)gridDim.x * THREADS;
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < work; i += step) {
            int r = (int)(i / width), part = (int)(i % width);
            size_t to = b * work + i;
            kall[to] = unrolled(kcache, k, b, r, part, start, T, S, width, ld);
            vall[to] = unrolled(vcache, v, b, r, part, start, T, S, width, ld);
        }
    }
}
// END SOLUTION

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
    // BEGIN SOLUTION 07.2 (about 8 lines)
    //> (void)stream;
    //> return WB_TODO;  // TODO(07.2): the launch. About 3 lines.
    int width = K * D / VEC16<E>;
    size_t blocks = (((size_t)S + T) * width + THREADS - 1) / THREADS;
    dim3 grid((unsigned)min(blocks, (size_t)4096), min(B, 65535));
    unroll_kernel<<<grid, THREADS, 0, stream>>>(
        (vec16 *)kall, (vec16 *)vall, (const vec16 *)kcache, (const vec16 *)vcache,
        (const vec16 *)k, (const vec16 *)v, pos, B, T, S, width, ldkv / VEC16<E>);
    return wb_launched();
    // END SOLUTION
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
