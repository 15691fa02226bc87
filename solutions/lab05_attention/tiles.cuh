/* tiles.cuh - lab 05: what warps do with tiles in shared memory.
 *
 * A tile is some rows of D elements, 16 bits each. A warp computes with 16 M rows of one and
 * N rows of another; what comes out is spread over its lanes as tensor_cores.cuh says. */
#ifndef TILES_CUH
#define TILES_CUH
#include "tensor_cores.cuh"

// BEGIN SOLUTION 05.6 (about 90 lines, and 40 more for 05.7)
//> /* TODO(05.6): what the kernels of parts 05.6 and 05.7 need: where a chunk of 16 bytes lies in
//>  * a tile, C = A B^T of two tiles, C += W X with W in registers, and the way of C to memory. */
enum {
    WARP = 32,
    STEP = 16, /* of a product's inner dimension: what one instruction takes */
    EIGHT = 8, /* elements of 16 bytes: one copy, one row of an 8x8 matrix */
};

/* Element number of `chunk` (8 elements) of `row` in a tile of rows of D. Eight rows that
 * lie below each other would have equal chunks in equal banks; so the row's number is
 * added (xor) to the chunk's. Rows of 64 bytes lie in pairs on one line of all banks. */
template <int D> static __device__ int place(int row, int chunk)
{
    int turn = D == 32 ? row / 2 % 4 : row % 8;
    return row * D + (chunk ^ turn) * EIGHT;
}

/* What a lane names to load_matrices of 16 rows and two chunks of a tile: four matrices,
 * those below each other first (for A and, transposed, B), or those beside each other first
 * (B whose columns are rows of the tile): so that b0 and b1 come into neighbouring registers,
 * as the machine wants them; else they are moved there. Chunk c, c + 1 instead of 0, 1:
 * xor with 8 c, since c is even and places of chunks are xors themselves. */
struct lane_places {
    int rows, columns;
};

template <int D> static __device__ lane_places places_of(int lane)
{
    return {
        place<D>(lane % 16, lane / 16), place<D>(lane % 8 + lane / 16 * 8, lane / 8 % 2)};
}

/* C (16 M, N) = A B^T: rows of two tiles of D columns, each with each */
template <int M, int N, int D, typename E>
static __device__ void
rows_by_rows(float (&c)[M][N / 8][4], const E *a_tile, const E *b_tile, lane_places at)
{
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N / 8; n++)
            for (int i = 0; i < 4; i++)
                c[m][n][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < D; d += STEP) {
        unsigned a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
            load_matrices(a[m], a_tile + m * 16 * D + (at.rows ^ d));
#pragma unroll
        for (int n = 0; n < N / 16; n++) {
            load_matrices(b, b_tile + n * 16 * D + (at.columns ^ d));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_add<E>(c[m][2 * n], a[m], b[0], b[1]);
                multiply_add<E>(c[m][2 * n + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* C (16 M, D) += W (16 M, N) X: W from registers, X (N, D) a tile */
template <int M, int N, int D, typename E>
static __device__ void add_rows(
    float (&c)[M][D / 8][4], const float (&w)[M][N / 8][4], const E *tile, lane_places at)
{
#pragma unroll
    for (int n = 0; n < N / 16; n++) {
        unsigned a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *two = &w[m][2 * n + i / 2][i % 2 * 2];
                a[m][i] = pack<E>(two[0], two[1]);
            }
#pragma unroll
        for (int d = 0; d < D; d += STEP) {
            load_matrices_transposed(b, tile + n * 16 * D + (at.rows ^ d));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_add<E>(c[m][d / 8], a[m], b[0], b[1]);
                multiply_add<E>(c[m][d / 8 + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* C (16 M, COLUMNS) += W (16 M, N) X: W a tile of rows of N, X (N, D) a tile of which the
 * columns from `column` on are taken. at_w: places in a tile of rows of N. */
template <int M, int N, int D, int COLUMNS, typename E>
static __device__ void add_rows_of(
    float (&c)[M][COLUMNS / 8][4], const E *w_tile, lane_places at_w, const E *tile,
    int column, lane_places at)
{
#pragma unroll
    for (int n = 0; n < N; n += STEP) {
        unsigned a[M][4], b[4];
#pragma unroll
        for (int m = 0; m < M; m++)
            load_matrices(a[m], w_tile + m * 16 * N + (at_w.rows ^ n));
#pragma unroll
        for (int d = 0; d < COLUMNS; d += STEP) {
            load_matrices_transposed(b, tile + n * D + (at.rows ^ (column + d)));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_add<E>(c[m][d / 8], a[m], b[0], b[1]);
                multiply_add<E>(c[m][d / 8 + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* factor C (16 M, N), rounded, into the columns from `column` on of a tile of rows of D */
template <int M, int N, int D, typename E>
static __device__ void
keep(E *tile, const float (&c)[M][N / 8][4], float factor, int column)
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
                E *at = tile + place<D>(row, column / EIGHT + n) + lane % 4 * 2;
                *(unsigned *)at = pack<E>(factor * two[0], factor * two[1]);
            }
}

/* The same to device memory: by way of the warp's own part of a tile, from where it goes
 * out 16 bytes at a time. to(r): where row r begins, or NULL; it has `width` elements. */
template <int M, int N, int D, typename E, typename Address>
static __device__ void
put(E *tile, const float (&c)[M][N / 8][4], float factor, int column, int width,
    Address to)
{
    const int CHUNKS = N / EIGHT, LANES = CHUNKS < WARP ? CHUNKS : WARP;
    int lane = threadIdx.x % WARP, chunk = column / EIGHT + lane % LANES;
    __syncwarp();  // nobody reads the tile any more
    keep<M, N, D>(tile, c, factor, column);
    __syncwarp();  // the warp's part is in the tile
    for (int row = lane / LANES; row < M * 16; row += WARP / LANES) {
        E *there = to(row);
        if (there && chunk * EIGHT < width)
            *(uint4 *)(there + chunk * EIGHT) =
                *(const uint4 *)(tile + place<D>(row, chunk));
    }
}
// END SOLUTION
#endif
