/* block_linear_tiles.cuh - part 06.1: the solution's kernels for the matrices of both
 * gates. block_linear.cu uses them for float, block_linear_tensor.cu for f16 and bf16 on
 * a GPU whose tensor cores do not take that type. Your kernels can be here or in
 * block_linear.cu.
 */
#ifndef BLOCK_LINEAR_TILES_CUH
#define BLOCK_LINEAR_TILES_CUH
#include "cuda/vec.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.1 (nothing in a first version)
//> /* TODO(06.1): nothing, if block_linear.cu has your kernels. */

/* Three matrix multiplies: c with the matrices, the gradients with the transposed
 * matrices, c transposed with the gradients. A block of 64 threads computes 64 x 64
 * results, 8 x 8 per thread, from tiles in shared memory: a thread uses each number
 * that it reads there 8 times. Half of the 64 columns belong to one gate and half to the
 * other, so c is read once for both. */
constexpr int TILE = 64;             // rows and columns of a block's results
constexpr int HALF_TILE = TILE / 2;  // columns of one gate
constexpr int TILE_K = 16;           // terms of the sums in shared memory at a time
constexpr int SIDE = 8;              // rows and columns per thread, and of threads
constexpr int TILE_THREADS = SIDE * SIDE;
constexpr int QUAD = SIDE / 2;  // results that are neighbours: 16 bytes of shared memory

/* Where result i (of 8) of thread `lane` (of 8) lies in a tile. A thread's results are
 * two groups of four, 32 apart: so 8 threads read 128 neighbouring bytes, and the two
 * groups of columns belong to different gates. */
static __device__ int result_index(int lane, int i)
{
    return i / QUAD * HALF_TILE + lane * QUAD + i % QUAD;
}

/* a[k][row], b[k][column] */
struct alignas(16) smem_tiles {
    float a[TILE_K][TILE], b[TILE_K][TILE];
};

/* sum[i][j] += a[k][row i] b[k][column j], for the first ROWS and COLS of a thread's
 * results: QUAD where the second half of a tile lies outside the matrix. */
template <int ROWS, int COLS>
static __device__ void multiply_tiles(float (&sum)[SIDE][SIDE], const smem_tiles &s)
{
    int tx = threadIdx.x % SIDE * QUAD, ty = threadIdx.x / SIDE * QUAD;
    float t[ROWS][COLS];  // overlaps nothing, so a compiler for CPUs can use registers
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            t[i][j] = sum[i][j];
#pragma unroll 4
    for (int k = 0; k < TILE_K; k++) {
        float a[ROWS], b[COLS];
        for (int h = 0; h < ROWS / QUAD; h++)
            memcpy(a + h * QUAD, s.a[k] + h * HALF_TILE + ty, QUAD * sizeof *a);
        for (int h = 0; h < COLS / QUAD; h++)
            memcpy(b + h * QUAD, s.b[k] + h * HALF_TILE + tx, QUAD * sizeof *b);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++)
                t[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            sum[i][j] = t[i][j];
}

/* to[k][n] = x[n0 + n, k0 + k], 0 outside (rows, columns). ld: distance between rows.
 * Thread n loads row n, QUAD elements per access if every row is aligned for it. */
template <typename E>
static __device__ void load_rows(
    float (*to)[TILE], const E *x, size_t ld, size_t n0, size_t rows, int k0, int columns,
    bool vectors)
{
    size_t n = n0 + threadIdx.x;
    for (int k = 0; k < TILE_K; k += QUAD) {
        vec<E, QUAD> v = {};
        const E *from = x + n * ld + k0 + k;
        if (n < rows && vectors && k0 + k < columns)
            v = load_vec<QUAD>(from);
        else if (n < rows)
            for (int j = 0; j < QUAD; j++)
                if (k0 + k + j < columns) v[j] = from[j];
        for (int j = 0; j < QUAD; j++)
            to[k + j][threadIdx.x] = (float)v[j];
    }
}

/* to[k][n] = x[k0 + k, n0 + n]. With a second matrix y, x has the first half of the
 * columns and y the second. */
template <typename E>
static __device__ void load_columns(
    float (*to)[TILE], const E *x, const E *y, size_t ld, size_t k0, size_t rows, int n0,
    int columns)
{
    int at = threadIdx.x, n = n0 + (y && at >= HALF_TILE ? at - HALF_TILE : at);
    const E *from = y && at >= HALF_TILE ? y : x;
    for (int k = 0; k < TILE_K; k++)
        to[k][at] = k0 + k < rows && n < columns ? (float)from[(k0 + k) * ld + n] : 0.0f;
}

/* The tile of a block: g, and the first row and column of its results. Blocks with the
 * same rows are neighbours, so they share those rows in the cache. */
struct tile_place {
    size_t row;
    int g, column;
};

static __device__ tile_place own_tile(int G, int M, int columns)
{
    int across = (M + columns - 1) / columns, g = blockIdx.x / across % G;
    return {
        (size_t)(blockIdx.x / across / G) * TILE, g,
        (int)(blockIdx.x % across) * columns};
}

template <typename E>
static __global__ void __launch_bounds__(TILE_THREADS) gates_tile(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, bool vectors)
{
    __shared__ smem_tiles s;
    tile_place own = own_tile(G, M, HALF_TILE);
    size_t C = (size_t)G * M, matrix = (size_t)own.g * M * M, first = (size_t)own.g * M;
    float sum[SIDE][SIDE] = {};
    for (int k = 0; k < M; k += TILE_K) {
        load_rows(s.a, c + first, C, own.row, R, k, M, vectors);
        load_columns(s.b, wx + matrix, wa + matrix, M, k, M, own.column, M);
        __syncthreads();  // the tiles are loaded
        multiply_tiles<SIDE, SIDE>(sum, s);
        __syncthreads();  // the tiles may be overwritten
    }
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++) {
        size_t r = own.row + result_index(ty, i);
        if (r >= (size_t)R) continue;
        for (int j = 0; j < QUAD; j++) {
            int n = own.column + result_index(tx, j);
            if (n >= M) continue;
            px[r * C + first + n] = (E)(sum[i][j] + (float)bx[first + n]);
            pa[r * C + first + n] = (E)(sum[i][j + QUAD] + (float)ba[first + n]);
        }
    }
}

/* dc: one sum over the products of both gates. dc may be dc_in: each thread itself reads
 * what it overwrites. */
template <typename E>
static __global__ void __launch_bounds__(TILE_THREADS) dc_tile(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M, bool vectors)
{
    __shared__ smem_tiles s;
    tile_place own = own_tile(G, M, TILE);
    size_t C = (size_t)G * M, matrix = (size_t)own.g * M * M, first = (size_t)own.g * M;
    float sum[SIDE][SIDE] = {};
    for (int gate = 0; gate < 2; gate++)
        for (int k = 0; k < M; k += TILE_K) {
            load_rows(s.a, (gate ? dpa : dpx) + first, C, own.row, R, k, M, vectors);
            load_rows(s.b, (gate ? wa : wx) + matrix, M, own.column, M, k, M, vectors);
            __syncthreads();  // the tiles are loaded
            if (own.column + HALF_TILE < M)
                multiply_tiles<SIDE, SIDE>(sum, s);
            else
                multiply_tiles<SIDE, QUAD>(sum, s);
            __syncthreads();  // the tiles may be overwritten
        }
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++) {
        size_t r = own.row + result_index(ty, i);
        for (int j = 0; j < SIDE; j++) {
            int n = own.column + result_index(tx, j);
            size_t at = r * C + first + n;
            if (r < (size_t)R && n < M)
                dc[at] = (E)(sum[i][j] + (dc_in ? (float)dc_in[at] : 0.0f));
        }
    }
}

/* dw of both gates over the rows of part blockIdx.y; the blocks of the first inputs also
 * sum the columns for the biases. A part of `partial` is (2,G,M,M) for dwx and dwa, then
 * (2,G,M) for dbx and dba. */
template <typename E>
static __global__ void __launch_bounds__(TILE_THREADS) dw_tile(
    float *partial, const E *c, const E *dpx, const E *dpa, int R, int G, int M, int rows)
{
    __shared__ smem_tiles s;
    int across = (M + HALF_TILE - 1) / HALF_TILE, down = (M + TILE - 1) / TILE;
    int column = blockIdx.x % across * HALF_TILE, row = blockIdx.x / across % down * TILE;
    size_t g = blockIdx.x / across / down, C = (size_t)G * M, first = g * M;
    size_t begin = (size_t)blockIdx.y * rows, end = begin + rows;
    if (end > (size_t)R) end = R;
    float sum[SIDE][SIDE] = {}, bias = 0.0f;
    for (size_t r = begin; r < end; r += TILE_K) {
        load_columns(s.a, c + first, (const E *)NULL, C, r, end, row, M);
        load_columns(s.b, dpx + first, dpa + first, C, r, end, column, M);
        __syncthreads();  // the tiles are loaded
        if (row + HALF_TILE < M)
            multiply_tiles<SIDE, SIDE>(sum, s);
        else
            multiply_tiles<QUAD, SIDE>(sum, s);
        if (row == 0)
            for (int k = 0; k < TILE_K; k++)
                bias += s.b[k][threadIdx.x];
        __syncthreads();  // the tiles may be overwritten
    }
    partial += blockIdx.y * (2 * C * M + 2 * C);
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int m = row + result_index(ty, i), n = column + result_index(tx, j % QUAD);
            if (m < M && n < M) partial[((j / QUAD * G + g) * M + m) * M + n] = sum[i][j];
        }
    int n = column + threadIdx.x % HALF_TILE;
    if (row == 0 && n < M)
        partial[2 * C * M + threadIdx.x / HALF_TILE * C + first + n] = bias;
}

/* --- launchers ---------------------------------------------------------------------- */

static unsigned tile_count(int R, int G, int M, int columns)
{
    size_t down = ((size_t)R + TILE - 1) / TILE, across = (M + columns - 1) / columns;
    return (unsigned)(down * G * across);
}

template <typename E>
static wb_status tiles_forward(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    bool vectors = M % QUAD == 0 && is_aligned(QUAD * sizeof(E), c);
    gates_tile<<<tile_count(R, G, M, HALF_TILE), TILE_THREADS, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M, vectors);
    return wb_launched();
}

constexpr size_t MIN_PART_ROWS = 256;      // of the sums for dw
constexpr size_t MAX_PART_SUMS = 4 << 20;  // in all parts together, about
constexpr size_t MIN_TILE_PARTS = 4;       // for large matrices too

template <typename E>
static wb_status tiles_backward(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    bool vectors = M % QUAD == 0 && is_aligned(QUAD * sizeof(E), dpx, dpa, wx, wa);
    dc_tile<<<tile_count(R, G, M, TILE), TILE_THREADS, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M, vectors);
    size_t C = (size_t)G * M, sums = 2 * C * (M + 1);
    int P = part_count(R, sums, MIN_PART_ROWS, MAX_PART_SUMS, MIN_TILE_PARTS);
    int rows = (R + P - 1) / P;
    P = (R + rows - 1) / rows;
    dim3 grid((M + HALF_TILE - 1) / HALF_TILE * ((M + TILE - 1) / TILE) * G, P);
    dw_tile<<<grid, TILE_THREADS, 0, stream>>>(partial, c, dpx, dpa, R, G, M, rows);
    add_partial_sums({{dwx, dwa, dbx, dba}, {C * M, C * M, C, C}}, partial, P, stream);
    return wb_launched();
}

static inline size_t tiles_back_workspace(int R, int G, int M)
{
    if (R < 1 || G < 1 || M < 1) return 0;
    size_t sums = 2 * (size_t)G * M * (M + 1);
    return parts_workspace(R, sums, MIN_PART_ROWS, MAX_PART_SUMS, MIN_TILE_PARTS);
}
// END SOLUTION
#endif
