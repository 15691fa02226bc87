/* rglru_shared.cuh - given: 16-byte vectors, sums over blocks, and how many blocks a card wants. */
#ifndef RGLRU_SHARED_CUH
#define RGLRU_SHARED_CUH
#include "wb.h"

constexpr int WARP = 32;

/* What a thread reads or writes at once: VEC elements, 16 bytes of them if it can. */
template <typename E, int VEC = 16 / sizeof(E)> struct alignas(VEC * sizeof(E)) vec {
    static constexpr int N = VEC;
    E at[VEC];
};

/* Whether every pointer allows accesses of `bytes`. NULL does. */
template <typename... P> static bool aligned(size_t bytes, const P *...p)
{
    uintptr_t all = 0;
    for (uintptr_t one : {(uintptr_t)p...})
        all |= one;
    return all % bytes == 0;
}

static inline int multiprocessors(void)
{
    int device = 0, count = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count > 0 ? count : 1;
}

constexpr int SLICES = 32;  // threads, at most, that share a column of partial sums
constexpr int SLICE = 16;   // numbers of each, at least

/* Where sums go that lie one behind the other in a row of partial sums: n[0] of them to
 * at[0], and so on. */
struct targets {
    float *at[4];
    size_t n[4];
};

/* What the P rows of partial sums add up to is added to the targets. A warp reads 32
 * neighbouring columns, blockDim.y warps share the rows. The order is fixed: equal bits
 * every time. */
static __global__ void
add_partials(targets to, const float *partial, int P, size_t stride)
{
    __shared__ float part[SLICES][WARP];
    size_t c = (size_t)blockIdx.x * WARP + threadIdx.x;  // [0, stride)
    float mine = 0.0f;
    if (c < stride)
#pragma unroll 4
        for (int p = threadIdx.y; p < P; p += blockDim.y)
            mine += partial[p * stride + c];
    if (blockDim.y > 1) {
        part[threadIdx.y][threadIdx.x] = mine;
        __syncthreads();  // the slices' sums are in part
    }
    if (threadIdx.y || c >= stride) return;
    for (int s = 1; s < (int)blockDim.y; s++)
        mine += part[s][threadIdx.x];
    for (int i = 0; i < 4; i++) {
        if (c < to.n[i]) {
            to.at[i][c] += mine;
            return;
        }
        c -= to.n[i];
    }
}

static inline void
launch_add(targets to, const float *partial, int P, cudaStream_t stream)
{
    size_t stride = to.n[0] + to.n[1] + to.n[2] + to.n[3];
    int slices = (P + SLICE - 1) / SLICE;
    dim3 block(WARP, slices < SLICES ? slices : SLICES);
    add_partials<<<(unsigned)((stride + WARP - 1) / WARP), block, 0, stream>>>(
        to, partial, P, stride);
}

/* Into how many parts a sum over `rows` is cut whose every part leaves n floats: parts of
 * `least` rows or more, and at most `most` floats in all, but `few` parts in any case. */
static inline int parts_for(size_t rows, size_t n, size_t least, size_t most, size_t few)
{
    size_t P = most / n > few ? most / n : few, all = (rows + least - 1) / least;
    P = P < all ? P : all;
    return P < 65535 ? (int)P : 65535;  // the limit of gridDim.y
}

/* Bytes of them: an upper bound, which never falls as rows or n grow. */
static inline size_t
parts_space(size_t rows, size_t n, size_t least, size_t most, size_t few)
{
    size_t all = (rows + least - 1) / least * n, bound = few * n > most ? few * n : most;
    return (all < bound ? all : bound) * sizeof(float);
}

#endif
