/* kv.cu - lab 07, parts 1 and 2: tokens into the ring, and the ring in front of a chunk.
 * The contract is kvcache.h.
 *
 * Both are copies of whole tokens, K*D elements each, 16 bytes at a time: the header's
 * limits on D and alignment see to it that a token is a whole number of those.
 */
#include "kvcache.h"

enum { BLOCK = 256 };  // threads

/* What a thread copies at once. */
struct alignas(16) vec {
    unsigned int word[4];
};

// --- 07.1: kv_append -------------------------------------------------------------------

// BEGIN SOLUTION 07.1 (about 20 lines)
//> /* TODO(07.1): the last min(len, S, pos[len-1]+1) tokens of row b go to slot pos mod S.
//>  * One thread per element to copy is enough to pass. About 15 lines. */
/* A row of blocks per row of the batch. Counted from the row's end: token 0 is the last
 * real one. width: vectors of a token; ld: from token to token in k and v. */
static __global__ void __launch_bounds__(BLOCK) append_kernel(
    vec *kcache, vec *vcache, const vec *k, const vec *v, const int *pos, const int *len,
    int B, int T, int S, int width, int ld)
{
    for (int b = blockIdx.y; b < B; b += gridDim.y) {
        int end = len ? min(len[b], T) : T;
        if (end <= 0) continue;
        int last = pos ? pos[(size_t)b * T + end - 1] : end - 1;
        size_t work = (size_t)min(min(end, S), last + 1) * width;
        size_t step = (size_t)gridDim.x * BLOCK;
        for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < work; i += step) {
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

/* What the header forbids; WB_OK: nothing. bytes: of an element. */
static wb_status bad_tokens(
    int B, int T, int S, int K, int D, int ldkv, size_t bytes, const void *const *p)
{
    if (B < 0 || T < 0 || S < 1 || K < 1 || D < 1) return WB_BAD_SHAPE;
    if (ldkv < (long long)K * D) return WB_BAD_SHAPE;
    if (D < 16 || D > 256 || D % 8) return WB_UNSUPPORTED;
    if (B == 0 || T == 0) return WB_OK;
    uintptr_t all = ldkv * bytes;
    for (; *p; p++)
        all |= (uintptr_t)*p;
    return all % 16 ? WB_BAD_ALIGN : WB_OK;
}

template <typename E>
static wb_status append(
    E *kcache, E *vcache, const E *k, const E *v, const int *pos, const int *len, int B,
    int T, int S, int K, int D, int ldkv, cudaStream_t stream)
{
    const void *all[] = {kcache, vcache, k, v, NULL};
    wb_status status = bad_tokens(B, T, S, K, D, ldkv, sizeof(E), all);
    if (status != WB_OK || B == 0 || T == 0) return status;
    if (!kcache || !vcache || !k || !v) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 07.1 (about 8 lines)
    //> (void)pos, (void)len, (void)stream;
    //> return WB_TODO;  // TODO(07.1): the launch. About 3 lines.
    int per = 16 / sizeof(E), width = K * D / per;
    size_t blocks = ((size_t)min(T, S) * width + BLOCK - 1) / BLOCK;
    dim3 grid((unsigned)min(blocks, (size_t)4096), min(B, 65535));
    append_kernel<<<grid, BLOCK, 0, stream>>>(
        (vec *)kcache, (vec *)vcache, (const vec *)k, (const vec *)v, pos, len, B, T, S,
        width, ldkv / per);
    return wb_launched();
    // END SOLUTION
}

// --- 07.2: kv_unroll -------------------------------------------------------------------

// BEGIN SOLUTION 07.2 (about 20 lines)
//> /* TODO(07.2): row r of kall is the key of position start - S + r while r < S (zeros if
//>  * there is none), then token r - S of the chunk. About 15 lines. */
/* One ring: kall from kcache and k, or vall from vcache and v. */
static __device__ vec unrolled(
    const vec *ring, const vec *tokens, int b, int r, int part, int start, int T, int S,
    int width, int ld)
{
    if (r >= S) return tokens[((size_t)b * T + r - S) * ld + part];
    int position = start - S + r;
    if (position < 0) return vec{{0, 0, 0, 0}};  // before the document
    return ring[((size_t)b * S + position % S) * width + part];
}

static __global__ void __launch_bounds__(BLOCK) unroll_kernel(
    vec *kall, vec *vall, const vec *kcache, const vec *vcache, const vec *k,
    const vec *v, const int *pos, int B, int T, int S, int width, int ld)
{
    for (int b = blockIdx.y; b < B; b += gridDim.y) {
        int start = pos[(size_t)b * T];
        size_t work = ((size_t)S + T) * width, step = (size_t)gridDim.x * BLOCK;
        for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < work; i += step) {
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
    const void *all[] = {kall, vall, kcache, vcache, k, v, NULL};
    wb_status status = bad_tokens(B, T, S, K, D, ldkv, sizeof(E), all);
    if (status != WB_OK || B == 0 || T == 0) return status;
    if (!kall || !vall || !kcache || !vcache || !k || !v || !pos) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 07.2 (about 8 lines)
    //> (void)stream;
    //> return WB_TODO;  // TODO(07.2): the launch. About 3 lines.
    int per = 16 / sizeof(E), width = K * D / per;
    size_t blocks = (((size_t)S + T) * width + BLOCK - 1) / BLOCK;
    dim3 grid((unsigned)min(blocks, (size_t)4096), min(B, 65535));
    unroll_kernel<<<grid, BLOCK, 0, stream>>>(
        (vec *)kall, (vec *)vall, (const vec *)kcache, (const vec *)vcache,
        (const vec *)k, (const vec *)v, pos, B, T, S, width, ldkv / per);
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
