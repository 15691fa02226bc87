/* tiles.cuh - lab 05, parts 05.6 and 05.7: what warps do with tiles in shared memory.
 *
 * A tile is some rows of D elements of 16 bits. A warp multiplies 16 M rows of one tile
 * by N rows of another; the result is spread over its lanes in the layout of mma
 * (cuda/mma.cuh).
 */
#ifndef TILES_CUH
#define TILES_CUH
#include "cuda/mma.cuh"

// BEGIN SOLUTION 05.6 (about 90 lines, and 40 more for 05.7)
//> /* Nothing here is graded. Once parts 05.6 and 05.7 pass, this is the place for what
//>  * faster kernels share: where a chunk of 16 bytes lies in a tile, C = A B^T of two tiles,
//>  * C += P X with P in registers, and the store of C to memory. */
constexpr int WARP = 32;
constexpr int MMA_K = 16;  // inner dimension of one mma
constexpr int CHUNK = 8;   // elements of 16 bytes: one copy, one row of an 8x8 matrix

/* The element offset that a lane passes to ldmatrix, for 16 rows and two chunks of a
 * tile. `a`: matrices 0, 1 below each other, then 2, 3. Fits A and, with ldmatrix_trans,
 * B. `b`: matrices 0, 1 next to each other, then 2, 3. Fits a B whose columns are the
 * tile's rows. So b0 and b1 of an mma arrive in neighbouring registers, as the
 * instruction needs them; otherwise the compiler inserts moves.
 * For chunks c, c + 1 instead of 0, 1, xor with 8 c: c is even, and swizzle is itself an
 * xor. */
struct lane_offset {
    int a, b;
};

template <int D> static __device__ __forceinline__ lane_offset lane_offset_of(int lane)
{
    return {
        swizzle<D>(lane % 16, lane / 16),
        swizzle<D>(lane % 8 + lane / 16 * 8, lane / 8 % 2)};
}

/* Two neighbouring 8x8 parts of a result, rounded, become the A of the next mma. */
template <int M, int N8, typename E>
static __device__ __forceinline__ void
pack_a(unsigned (&a)[M][4], const float (&c)[M][N8][4], int n)
{
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *two = &c[m][2 * n + i / 2][i % 2 * 2];
            a[m][i] = pack2<E>(two[0], two[1]);
        }
}

/* C (16 M, N) = A B^T: every row of one tile times every row of another, over D
 * columns */
template <int M, int N, int D, typename E>
static __device__ __forceinline__ void
gemm_abt(float (&c)[M][N / 8][4], const E *a_tile, const E *b_tile, lane_offset at)
{
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N / 8; n++)
            for (int i = 0; i < 4; i++)
                c[m][n][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < D; d += MMA_K) {
        unsigned a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
            ldmatrix(a[m], a_tile + m * 16 * D + (at.a ^ d));
#pragma unroll
        for (int n = 0; n < N / 16; n++) {
            ldmatrix(b, b_tile + n * 16 * D + (at.b ^ d));
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma<E>(c[m][2 * n], a[m], b[0], b[1]);
                mma<E>(c[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* C (16 M, D) += P (16 M, N) X: P from registers, X (N, D) a tile */
template <int M, int N, int D, typename E>
static __device__ __forceinline__ void gemm_rs(
    float (&c)[M][D / 8][4], const float (&p)[M][N / 8][4], const E *tile, lane_offset at)
{
#pragma unroll
    for (int n = 0; n < N / 16; n++) {
        unsigned a[M][4], b[4];
        pack_a<M, N / 8, E>(a, p, n);
#pragma unroll
        for (int d = 0; d < D; d += MMA_K) {
            ldmatrix_trans(b, tile + n * 16 * D + (at.a ^ d));
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma<E>(c[m][d / 8], a[m], b[0], b[1]);
                mma<E>(c[m][d / 8 + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* C (16 M, COLUMNS) += P (16 M, N) X: P a tile with rows of N, X the columns from
 * `column` on of a tile (N, D). at_p: offsets in a tile with rows of N. */
template <int M, int N, int D, int COLUMNS, typename E>
static __device__ __forceinline__ void gemm_ss(
    float (&c)[M][COLUMNS / 8][4], const E *p_tile, lane_offset at_p, const E *tile,
    int column, lane_offset at)
{
#pragma unroll
    for (int n = 0; n < N; n += MMA_K) {
        unsigned a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
            ldmatrix(a[m], p_tile + m * 16 * N + (at_p.a ^ n));
#pragma unroll
        for (int d = 0; d < COLUMNS; d += MMA_K) {
            ldmatrix_trans(b, tile + n * D + (at.a ^ (column + d)));
#pragma unroll
            for (int m = 0; m < M; m++) {
                mma<E>(c[m][d / 8], a[m], b[0], b[1]);
                mma<E>(c[m][d / 8 + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* Stores factor C (16 M, N), rounded, in a tile with rows of D, in the columns from
 * `column` on. */
template <int M, int N, int D, typename E>
static __device__ __forceinline__ void
store_smem(E *tile, const float (&c)[M][N / 8][4], float factor, int column)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N / 8; n++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float *two = &c[m][n][2 * half];
                int row = m * 16 + half * 8 + lane / 4;
                E *at = tile + swizzle<D>(row, column / CHUNK + n) + lane % 4 * 2;
                *(unsigned *)at = pack2<E>(factor * two[0], factor * two[1]);
            }
}

/* The same to device memory. It goes through the warp's own part of a tile, so that a
 * lane writes 16 bytes at a time. to(r): where row r starts, or NULL; it has `width`
 * elements. */
template <int M, int N, int D, typename E, typename Address>
static __device__ __forceinline__ void store_gmem(
    E *tile, const float (&c)[M][N / 8][4], float factor, int column, int width,
    Address to)
{
    const int CHUNKS = N / CHUNK, LANES = CHUNKS < WARP ? CHUNKS : WARP;
    int lane = threadIdx.x % WARP, chunk = column / CHUNK + lane % LANES;
    __syncwarp();  // every lane has read the tile
    store_smem<M, N, D>(tile, c, factor, column);
    __syncwarp();  // the result is visible to the warp
    for (int row = lane / LANES; row < M * 16; row += WARP / LANES) {
        E *out = to(row);
        if (out && chunk * CHUNK < width)
            *(uint4 *)(out + chunk * CHUNK) =
                *(const uint4 *)(tile + swizzle<D>(row, chunk));
    }
}
// END SOLUTION
#endif
