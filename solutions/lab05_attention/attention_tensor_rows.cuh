// BEGIN SOLUTION 05.6 (about 120 lines)
/* attention_tensor_rows.cuh - lab 05, part 05.6: which keys the rows of a tile see, and
 * the loads of tiles. P is the plan of a kernel: its tile sizes (attention_tensor.cu).
 */
#ifndef ATTENTION_TENSOR_ROWS_CUH
#define ATTENTION_TENSOR_ROWS_CUH
#include "attention_tiled.cuh"  // first_key
#include "contract.cuh"
#include "tiles.cuh"

constexpr int STAGES = 2;  // of K and V in shared memory

/* --- rows --------------------------------------------------------------------------- */

/* A query row: its token, its head, and the stretch of keys that it sees. */
struct row_info {
    int t, head, first, last;
};

/* Row n of sequence b and key head g: rows are (t, head of the group). */
static __device__ __forceinline__ row_info
row_info_of(const int *pos, const sizes &z, int b, int g, int n)
{
    int group = z.H / z.K;
    n = min(n, z.T * group - 1);  // past the last row: a copy of it
    if (group == 1) return {n, g, first_key(z, pos, b, n), z.S - z.T + n};  // no division
    int t = n / group;
    return {t, g * group + n % group, first_key(z, pos, b, t), z.S - z.T + t};
}

/* Over the lanes of a warp. From sm_80 on that is one instruction. */
static __device__ __forceinline__ int warp_min(int x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int o = WARP / 2; o > 0; o /= 2)
        x = min(x, __shfl_xor_sync(~0u, x, o));
    return x;
#else
    return __reduce_min_sync(~0u, x);
#endif
}
static __device__ __forceinline__ int warp_max(int x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int o = WARP / 2; o > 0; o /= 2)
        x = max(x, __shfl_xor_sync(~0u, x, o));
    return x;
#else
    return __reduce_max_sync(~0u, x);
#endif
}

/* Of some rows: at least one sees each of the keys [first, last], and all of them see
 * [all_from, all_to]. */
struct row_range {
    int first, last, all_from, all_to;
};
static __device__ __forceinline__ row_range row_range_of(const row_info *rows, int count)
{
    int lane = threadIdx.x % WARP;
    row_range r = {INT_MAX, 0, 0, INT_MAX};
    for (int i = lane; i < count; i += WARP) {
        r.first = min(r.first, rows[i].first), r.last = max(r.last, rows[i].last);
        r.all_from = max(r.all_from, rows[i].first);
        r.all_to = min(r.all_to, rows[i].last);
    }
    return {
        warp_min(r.first), warp_max(r.last), warp_max(r.all_from), warp_min(r.all_to)};
}

/* --- loads -------------------------------------------------------------------------- */

/* Starts the copy of rows [first, first + ROWS) of n rows of `width` elements, ld apart.
 * The tile gets zeros outside, below and to the right: stale values could be NaN, and
 * 0 * NaN is NaN. */
template <int ROWS, int D, int THREADS, typename E>
static __device__ __forceinline__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    const int CHUNKS = D / CHUNK;
    int chunk = threadIdx.x % CHUNKS, row = threadIdx.x / CHUNKS;
    from += (size_t)(first + row) * ld + chunk * CHUNK;
#pragma unroll
    for (int r = 0; r < ROWS; r += THREADS / CHUNKS) {
        bool valid = first + row + r < n && chunk * CHUNK < width;
        cp_async(tile + swizzle<D>(row + r, chunk), from + (size_t)r * ld, valid);
    }
}

/* One stage: K (BN, D), then V (BN, D), from key `key` on */
template <typename P, typename E>
static __device__ __forceinline__ void
load_kv(E *stage, const E *k, const E *v, int key, const sizes &z)
{
    load_tile<P::BN, P::D, P::THREADS>(stage, k, z.ldkv, key, z.S, z.D);
    load_tile<P::BN, P::D, P::THREADS>(stage + P::BN * P::D, v, z.ldkv, key, z.S, z.D);
    cp_async_commit();
}

/* The rows of Q, each at its token and head */
template <typename P, typename E>
static __device__ __forceinline__ void
load_queries(E *tile, const E *q, const row_info *rows, int valid_rows, const sizes &z)
{
    const int CHUNKS = P::D / CHUNK;
    int chunk = threadIdx.x % CHUNKS;
    for (int row = threadIdx.x / CHUNKS; row < P::BM; row += P::THREADS / CHUNKS) {
        const E *from = q + (size_t)rows[row].t * z.ldq + (size_t)rows[row].head * z.D;
        bool valid = row < valid_rows && chunk * CHUNK < z.D;
        cp_async(tile + swizzle<P::D>(row, chunk), from + chunk * CHUNK, valid);
    }
}

/* The largest s gives the largest scale * s only if scale > 0. If scale < 0, its sign
 * moves into Q, which is exact. If scale is 0, Q becomes 0, because 0 * -inf, of a masked
 * key, would be NaN. */
template <typename P, typename E>
static __device__ __forceinline__ void fold_sign(E *tile, float scale)
{
    unsigned *word = (unsigned *)tile;
    cp_async_wait<0>();
    __syncthreads();  // Q is visible to the block
    for (int i = threadIdx.x; i < P::BM * P::D / 2; i += P::THREADS)
        word[i] = scale < 0.0f ? word[i] ^ 0x80008000u : 0;
    __syncthreads();  // Q is as the warps will read it
}
#endif
// END SOLUTION
