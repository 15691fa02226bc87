// BEGIN SOLUTION 05.7 (about 125 lines)
/* attention_hopper_backward_tiles.cuh - lab 05, part 05.7: GEMMs of a warpgroup, and what
 * happens to their results. wgmma's accumulators d[N / 2] of 64 rows and N columns lie as
 * in cuda/wgmma.cuh.
 */
#ifndef ATTENTION_HOPPER_BACKWARD_TILES_CUH
#define ATTENTION_HOPPER_BACKWARD_TILES_CUH
#include "attention_hopper_workspace.cuh"

constexpr int CONSUMERS = 2 * WARPGROUP, HOPPER_THREADS = 3 * WARPGROUP;

struct hopper_maps {
    tensor_map q, dout, k, v;
};

/* Swizzled tiles begin at multiples of 1024 bytes. */
constexpr int TILE_ALIGN = 8 * ROW_BYTES;
static __device__ __forceinline__ void *align_tile(void *p)
{
    return (void *)(((uintptr_t)p + TILE_ALIGN - 1) / TILE_ALIGN * TILE_ALIGN);
}

/* x is equal in all lanes, and now the compiler knows: the descriptors of wgmma are then
 * computed once per warp. */
static __device__ __forceinline__ int same_in_warp(int x)
{
    return __shfl_sync(~0u, x, 0);
}

/* Starts D (64,N) = A^T B over K rows. Both tiles are MN_MAJOR. */
template <typename E, int K, int R>
static __device__ __forceinline__ void
start_atb(float (&d)[R], const E *a_tile, const E *b_tile)
{
    uint64_t a = wgmma_tile<ROW_BYTES>(a_tile, K * ROW_BYTES);
    uint64_t b = wgmma_tile<ROW_BYTES>(b_tile, K * ROW_BYTES);
#pragma unroll
    for (int k = 0; k < K; k += MMA_K)
        wgmma<E, MN_MAJOR, MN_MAJOR>(
            d, wgmma_step(a, k * ROW_BYTES), wgmma_step(b, k * ROW_BYTES), k > 0);
    wgmma_commit();
}

/* A packed operand to the rows from `row` on of a tile with ROWS rows */
template <int ROWS, int K16, typename E>
static __device__ __forceinline__ void
store_operand(E *tile, const unsigned (&a)[K16][4], int row)
{
    int lane = threadIdx.x % WARP;
    row += threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
    int at = swizzle<PART>(row, 0) + lane % 4 * 2;  // of chunk 0; chunk c: at ^ 8 c
#pragma unroll
    for (int k = 0; k < K16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int chunk = 2 * k + i / 2;
            E *line = tile + chunk / 8 * ROWS * PART + i % 2 * 8 * PART;
            *(unsigned *)(line + (at ^ chunk % 8 * 8)) = a[k][i];
        }
}

/* s (64 keys, N queries) becomes p = exp(scale s - lse). lse: of the N queries */
template <int R>
static __device__ __forceinline__ void
probabilities(float (&s)[R], const float *lse, float factor)
{
    lse += threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < R / 4; j++) {
        float2 l = *(const float2 *)(lse + 8 * j);
#pragma unroll
        for (int i = 0; i < 4; i++)
            s[4 * j + i] = fast_exp2(fmaf(s[4 * j + i], factor, i % 2 ? -l.y : -l.x));
    }
}

/* p = 0 where a query does not see a key. key: this thread's first, the other is 8
 * further on; last: of query 0 of the tile; first: of each query */
template <int R>
static __device__ __forceinline__ void
apply_key_mask(float (&p)[R], const int *first, int last, int key)
{
    int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < R / 4; j++) {
        int2 f = *(const int2 *)(first + 8 * j + column);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int own = key + i / 2 * 8, to = last + 8 * j + column + i % 2;
            if (own < (i % 2 ? f.y : f.x) || own > to) p[4 * j + i] = 0.0f;
        }
    }
}

/* dp becomes dS = p (dp - delta). p: as packed for dV, which frees its float registers */
template <typename E, int R>
static __device__ __forceinline__ void
score_gradients(float (&dp)[R], const unsigned (&p)[R / 8][4], const float *delta)
{
    delta += threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < R / 4; j++) {
        float2 l = *(const float2 *)(delta + 8 * j);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float2 two = unpack2<E>(p[j / 2][j % 2 * 2 + i]);
            float *d = &dp[4 * j + 2 * i];
            d[0] = two.x * (d[0] - l.x), d[1] = two.y * (d[1] - l.y);
        }
    }
}

/* factor times the sums of a warp's 16 rows, the first at `to`, ld apart. Only the first
 * `rows` rows exist. */
template <int D, int R, typename E>
static __device__ __forceinline__ void
store_sums(E *to, int ld, int rows, const float (&sums)[R], float factor, int width)
{
    int lane = threadIdx.x % WARP, row = lane / 4;
    to += (size_t)row * ld + lane % 4 * CHUNK;
#pragma unroll
    for (int j = 0; j < D / 8; j += 4)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            unsigned x[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const float *two = &sums[4 * (j + k) + 2 * half];
                x[k] = pack2<E>(factor * two[0], factor * two[1]);
            }
            transpose_quad(x);
            if (row + half * 8 < rows && (j + lane % 4) * CHUNK < width)
                *(uint4 *)(to + half * 8 * (size_t)ld + j * CHUNK) =
                    make_uint4(x[0], x[1], x[2], x[3]);
        }
}
#endif
// END SOLUTION
