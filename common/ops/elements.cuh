/* elements.cuh - how the given kernels move elements: 16 bytes at a time where they can.
 *
 * Rows and vectors may start at any address and have any length. So every kernel here is
 * instantiated twice: with V elements per access, and with V = 1 for unaligned pointers.
 */
#ifndef ELEMENTS_CUH
#define ELEMENTS_CUH
#include "cuda/vec.cuh"

enum { BLOCK_SIZE = 256 };  // threads

/* f[0..V) = p[0..V). Only the first `left` elements exist; the others read as 0. */
template <int V, typename E>
static __device__ __forceinline__ void load_float(float *f, const E *p, size_t left)
{
    if (left >= V) {
        vec<E, V> x = load_vec<V>(p);
#pragma unroll
        for (int i = 0; i < V; i++)
            f[i] = (float)x[i];
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            f[i] = (size_t)i < left ? (float)p[i] : 0.0f;
    }
}

/* p[0..V) = f[0..V), only the first `left` elements. Only here are results rounded. */
template <int V, typename E>
static __device__ __forceinline__ void store_float(E *p, const float *f, size_t left)
{
    if (left >= V) {
        store_float<V>(p, f);
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            if ((size_t)i < left) p[i] = E(f[i]);
    }
}

/* Every thread owns VECS vectors, one block apart, so that neighbouring threads access
 * neighbouring vectors. Vector n starts at element first_element + n * BLOCK_SIZE * V. */
template <int V, int VECS> static __device__ __forceinline__ size_t first_element(void)
{
    return ((size_t)blockIdx.x * VECS * BLOCK_SIZE + threadIdx.x) * V;
}
static inline unsigned blocks_for(size_t N, int per_thread)
{
    size_t per_block = (size_t)per_thread * BLOCK_SIZE;
    return (unsigned)((N + per_block - 1) / per_block);
}

/* Whether each pointer allows accesses of V elements. NULL does. */
template <int V, typename... P> static inline bool has_vecs(const P *...p)
{
    return (is_aligned(V * sizeof(P), p) && ...);
}

/* to = scale from, rows of C elements; threadIdx.x runs along the row. */
template <int V, typename E>
static __device__ __forceinline__ void scale_row(E *to, const E *from, int C, float scale)
{
    for (int c = (int)threadIdx.x * V; c < C; c += (int)blockDim.x * V) {
        float x[V];
        load_float<V>(x, from + c, C - c);
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] *= scale;
        store_float<V>(to + c, x, C - c);
    }
}

/* Sum over the block, in thread 0; always in the same order. */
static __device__ __forceinline__ float block_sum(float v)
{
    __shared__ float warp_sums[BLOCK_SIZE / 32];
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_xor_sync(~0u, v, offset);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = v;
    __syncthreads();  // warp_sums is complete
    float sum = 0.0f;
    if (threadIdx.x == 0)
        for (int w = 0; w < BLOCK_SIZE / 32; w++)
            sum += warp_sums[w];
    return sum;
}

#endif
