// BEGIN SOLUTION 05.6 (about 95 lines)
/* attention_hopper_parts.cuh - lab 05, parts 05.6 and 05.7: what the kernels for Hopper
 * share. A tile of D columns lies in shared memory as D / PART parts, each with rows of
 * 128 bytes, swizzled.
 */
#ifndef ATTENTION_HOPPER_PARTS_CUH
#define ATTENTION_HOPPER_PARTS_CUH
#include "cuda/hopper.cuh"
#include "tiles.cuh"

constexpr int WARPGROUP = 128;  // threads of four warps
constexpr int PART = 64;        // elements of ROW_BYTES
constexpr int ROW_BYTES = 128;  // of a part of a tile

/* Where a thread is in a ring of stages; parity flips each time around. */
template <int STAGES> struct ring {
    int stage, parity;
};
template <int STAGES> static __device__ __forceinline__ void advance(ring<STAGES> &at)
{
    if (++at.stage == STAGES) at.stage = 0, at.parity ^= 1;
}

/* `rows` rows of D columns, from `row` on, of a head of sequence b */
template <int D, typename E>
static __device__ __forceinline__ void load_parts(
    E *tile, int rows, const tensor_map *map, uint64_t *full, int head, int row, int b)
{
#pragma unroll
    for (int d = 0; d < D; d += PART)
        tma_load(tile + d * rows, map, full, d, head, row, b);
}

/* --- GEMMs of a warpgroup ----------------------------------------------------------- */

/* Starts D (64,N) = A B^T over K columns. Both tiles are K_MAJOR and have ROWS_A and
 * ROWS_B rows. */
template <typename E, int K, int ROWS_A, int ROWS_B, int R>
static __device__ __forceinline__ void
start_abt(float (&d)[R], const E *a_tile, const E *b_tile)
{
    uint64_t a = wgmma_tile<ROW_BYTES>(a_tile), b = wgmma_tile<ROW_BYTES>(b_tile);
#pragma unroll
    for (int k = 0; k < K; k += MMA_K)
        wgmma<E>(
            d, wgmma_step(a, k / PART * ROWS_A * ROW_BYTES + k % PART * 2),
            wgmma_step(b, k / PART * ROWS_B * ROW_BYTES + k % PART * 2), k > 0);
    wgmma_commit();
}

/* Starts D (64,N) += A B. A is in registers; B has K rows, the inner dimension. */
template <typename E, int K, int R>
static __device__ __forceinline__ void start_ab(
    float (&d)[R], const unsigned (&a)[K / MMA_K][4], const E *b_tile,
    bool accumulate = true)
{
    uint64_t b = wgmma_tile<ROW_BYTES>(b_tile, K * ROW_BYTES);
#pragma unroll
    for (int k = 0; k < K; k += MMA_K)
        wgmma<E, MN_MAJOR>(
            d, a[k / MMA_K], wgmma_step(b, k * ROW_BYTES), k > 0 || accumulate);
    wgmma_commit();
}

/* Rounded and packed, accumulators are the A of the next GEMM. */
template <typename E, int R>
static __device__ __forceinline__ void
pack_operand(unsigned (&a)[R / 8][4], const float (&d)[R])
{
#pragma unroll
    for (int k = 0; k < R / 8; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            a[k][i] = pack2<E>(d[8 * k + 2 * i], d[8 * k + 2 * i + 1]);
}

/* --- results ------------------------------------------------------------------------ */

/* w[i] of lane q of four, q = lane % 4, goes to w[q] of lane i: each lane then has 16
 * neighbouring bytes. */
static __device__ __forceinline__ void transpose_quad(unsigned (&w)[4])
{
    bool high = threadIdx.x & 2, odd = threadIdx.x & 1;
    unsigned a = __shfl_xor_sync(~0u, high ? w[0] : w[2], 2);
    unsigned b = __shfl_xor_sync(~0u, high ? w[1] : w[3], 2);
    if (high)
        w[0] = a, w[1] = b;
    else
        w[2] = a, w[3] = b;
    a = __shfl_xor_sync(~0u, odd ? w[0] : w[1], 1);
    b = __shfl_xor_sync(~0u, odd ? w[2] : w[3], 1);
    if (odd)
        w[0] = a, w[2] = b;
    else
        w[1] = a, w[3] = b;
}

/* --- host --------------------------------------------------------------------------- */

/* x (B,rows,heads,D), rows ld apart, in tiles of `tile_rows` rows and PART columns */
template <typename E>
static bool parts_map(
    tensor_map *map, const E *x, int B, int rows, int heads, int D, int ld, int tile_rows)
{
    tma_tensor t = {
        4,
        {(size_t)D, (size_t)heads, (size_t)rows, (size_t)B},
        {1, (size_t)D, (size_t)ld, (size_t)rows * ld},
        {PART, 1, (unsigned)tile_rows, 1},
        ROW_BYTES};
    return make_tensor_map(map, x, t);
}
#endif
// END SOLUTION
