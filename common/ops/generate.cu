/* generate.cu - the bookkeeping of generation: prompt chunks in, sampled tokens out and
 * their embeddings in; and min-p. */
#include "cuda/pdl.cuh"
#include "elements.cuh"
#include "ops.h"

/* One block per sequence. */
static __global__ void chunk_kernel(
    int *token, int *pos, int *len, int *last, uint8_t *seen, const int *prompt,
    const int *n, const int *base, int T, int P, int V, int t0)
{
    int b = (int)blockIdx.x, left = n[b] - t0;
    int real = left < 0 ? 0 : left < T ? left : T;  // tokens of the sequence in the chunk
    for (int t = (int)threadIdx.x; t < T; t += BLOCK_SIZE) {
        size_t at = (size_t)b * T + t;
        bool is_real = t < real;
        token[at] = is_real ? prompt[(size_t)b * P + t0 + t] : 0;
        pos[at] = is_real ? base[b] + t0 + t : 0;
        if (is_real && seen) seen[(size_t)b * V + token[at]] = 1;
    }
    if (threadIdx.x == 0) {
        len[b] = real;
        last[b] = left >= 1 && left <= T ? b * T + real - 1 : -1;
    }
}

wb_status prompt_chunk(
    int *token, int *pos, int *len, int *last, uint8_t *seen, const int *prompt,
    const int *n, const int *base, int B, int T, int P, int V, int t0, cudaStream_t s)
{
    if (B < 0 || T < 0 || P < 0 || V < 0 || t0 < 0) return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!len || !last || !n || !base) return WB_BAD_SHAPE;
    if (T > 0 && (!token || !pos || (!prompt && P > 0))) return WB_BAD_SHAPE;
    chunk_kernel<<<B, BLOCK_SIZE, 0, s>>>(
        token, pos, len, last, seen, prompt, n, base, T, P, V, t0);
    return wb_launched();
}

/* One block per sequence: its thread 0 does the bookkeeping, all threads copy the row. */
template <typename E, int V>
static __global__ void __launch_bounds__(BLOCK_SIZE) advance_kernel(
    E *out, const E *table, int *token, int *pos, int *done, int *count, int *text,
    const int *stop, int L, int nstop, int C, float scale)
{
    pdl_trigger();
    pdl_wait();
    int b = (int)blockIdx.x, next = done[b] ? 0 : token[b];
    if (out) scale_row<V>(out + (size_t)b * C, table + (size_t)next * C, C, scale);
    __syncthreads();  // every thread has read done and token
    if (threadIdx.x != 0) return;
    if (done[b]) {
        token[b] = 0;
        return;
    }
    if (count[b] < L) text[(size_t)b * L + count[b]++] = next;
    pos[b] += 1;
    for (int i = 0; i < nstop; i++)
        if (next == stop[i]) done[b] = 1;
}

template <typename E>
static wb_status generate_advance(
    E *out, const E *table, int *token, int *pos, int *done, int *count, int *text,
    const int *stop, int B, int L, int nstop, int C, float scale, cudaStream_t s)
{
    if (B < 0 || L < 0 || nstop < 0 || C < 0) return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!token || !pos || !done || !count || (!text && L) || (!stop && nstop))
        return WB_BAD_SHAPE;
    if (out && !table) return WB_BAD_SHAPE;
    const int P = VEC16<E>;
    bool by_vec = C % P == 0 && has_vecs<P>(out, table);
    int vecs = by_vec ? C / P : C, threads = (vecs + 31) / 32 * 32;
    threads = !out || threads < 32 ? 32 : threads < BLOCK_SIZE ? threads : BLOCK_SIZE;
    launch_pdl(
        by_vec ? advance_kernel<E, P> : advance_kernel<E, 1>, B, threads, 0, s, out,
        table, token, pos, done, count, text, stop, L, nstop, C, scale);
    return wb_launched();
}

#define DEFINE_ADVANCE(E, e)                                                             \
    wb_status generate_advance_##e(                                                      \
        E *out, const E *table, int *token, int *pos, int *done, int *count, int *text,  \
        const int *stop, int B, int L, int nstop, int C, float scale,                    \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return generate_advance(                                                         \
            out, table, token, pos, done, count, text, stop, B, L, nstop, C, scale,      \
            stream);                                                                     \
    }
DEFINE_ADVANCE(float, f32)
DEFINE_ADVANCE(wb_f16, f16)
DEFINE_ADVANCE(wb_bf16, bf16)

/* --- min-p -------------------------------------------------------------------------- */

static __global__ void
scores_kernel(float *z, const uint8_t *seen, size_t N, float softcap, float penalty)
{
    size_t i = (size_t)blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (i >= N) return;
    float x = z[i];
    if (softcap > 0) x = softcap * tanhf(x / softcap);
    if (seen && seen[i]) x = x > 0 ? x / penalty : x * penalty;
    z[i] = x;
}

wb_status min_p_scores(
    float *z, const uint8_t *seen, int B, int V, float softcap, float penalty,
    cudaStream_t s)
{
    if (B < 0 || V < 1 || !(softcap >= 0) || !(penalty > 0)) return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!z) return WB_BAD_SHAPE;
    size_t N = (size_t)B * V;
    scores_kernel<<<blocks_for(N, 1), BLOCK_SIZE, 0, s>>>(z, seen, N, softcap, penalty);
    return wb_launched();
}

// The largest of the block, in every thread.
static __device__ __forceinline__ float block_max(float v)
{
    __shared__ float warp_max[BLOCK_SIZE / 32];
    for (int offset = 16; offset > 0; offset >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, offset));
    if (threadIdx.x % 32 == 0) warp_max[threadIdx.x / 32] = v;
    __syncthreads();  // warp_max is complete
    for (int w = 0; w < BLOCK_SIZE / 32; w++)
        v = fmaxf(v, warp_max[w]);
    return v;
}

/* One block per row. */
static __global__ void keep_kernel(float *z, const int *candidate, int V, float below)
{
    const float far_below = -1e30f;  // finite, so that no difference is NaN
    float *row = z + (size_t)blockIdx.x * V, most = -INFINITY;
    for (int i = (int)threadIdx.x; i < V; i += BLOCK_SIZE)
        most = fmaxf(most, row[i]);
    float least = block_max(most) + below;
    int alone = candidate ? candidate[blockIdx.x] : -1;
    if (alone >= 0 && row[alone] < least) alone = -1;
    __syncthreads();  // every thread has read the candidate's z
    for (int i = (int)threadIdx.x; i < V; i += BLOCK_SIZE)
        if (alone >= 0 ? i != alone : row[i] < least) row[i] = far_below;
}

wb_status
min_p_keep(float *z, const int *candidate, int B, int V, float below, cudaStream_t s)
{
    if (B < 0 || V < 1 || !(below <= 0)) return WB_BAD_SHAPE;
    if (B == 0) return WB_OK;
    if (!z) return WB_BAD_SHAPE;
    keep_kernel<<<B, BLOCK_SIZE, 0, s>>>(z, candidate, V, below);
    return wb_launched();
}
