/* elements.cuh - how the given kernels move elements: 16 bytes at a time where they can.
 *
 * Rows and vectors may start anywhere and be of any length, so every kernel here exists
 * twice: with V elements a pack, and with V = 1 for pointers that are not on 16 bytes.
 */
#ifndef ELEMENTS_CUH
#define ELEMENTS_CUH
#include "wb.h"

enum { BLOCK = 256 };

/* V neighbouring elements that move as one access */
template <typename E, int V> struct alignas(V * sizeof(E)) pack {
    E e[V];
};

/* 16 bytes of the widest of the element types that a kernel touches */
template <typename E> constexpr int pack_of(void)
{
    return 16 / (int)sizeof(E);
}

/* x[0..V) = p[0..V), of which only `left` exist; the others are 0 */
template <int V, typename E>
static __device__ __forceinline__ void load(float *x, const E *p, size_t left)
{
    if (left >= V) {
        pack<E, V> v = *reinterpret_cast<const pack<E, V> *>(p);
#pragma unroll
        for (int i = 0; i < V; i++)
            x[i] = (float)v.e[i];
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            x[i] = (size_t)i < left ? (float)p[i] : 0.0f;
    }
}

/* p[0..V) = x[0..V), rounded to E here and nowhere else */
template <int V, typename E>
static __device__ __forceinline__ void store(E *p, const float *x, size_t left)
{
    if (left >= V) {
        pack<E, V> v;
#pragma unroll
        for (int i = 0; i < V; i++)
            v.e[i] = E(x[i]);
        *reinterpret_cast<pack<E, V> *>(p) = v;
    } else {
#pragma unroll
        for (int i = 0; i < V; i++)
            if ((size_t)i < left) p[i] = E(x[i]);
    }
}

/* Every thread owns PACKS packs, a whole block apart so that neighbouring threads touch
 * neighbouring packs: pack p of this thread starts at element  first + p * BLOCK * V. */
template <int V, int PACKS> static __device__ __forceinline__ size_t first_element(void)
{
    return ((size_t)blockIdx.x * PACKS * BLOCK + threadIdx.x) * V;
}
static inline unsigned blocks_for(size_t N, int per_thread)
{
    size_t per_block = (size_t)per_thread * BLOCK;
    return (unsigned)((N + per_block - 1) / per_block);
}

/* May V elements at p (NULL is fine) be moved at once? */
template <int V, typename E> static inline bool on_packs(const E *p)
{
    return (uintptr_t)p % (V * sizeof(E)) == 0;
}

/* Sum over the block, in thread 0; always in the same order. */
static __device__ __forceinline__ float block_sum(float v)
{
    __shared__ float of_warp[BLOCK / 32];
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();  // every warp's sum is in of_warp
    float sum = 0.0f;
    if (threadIdx.x == 0)
        for (int w = 0; w < BLOCK / 32; w++)
            sum += of_warp[w];
    return sum;
}

#endif
