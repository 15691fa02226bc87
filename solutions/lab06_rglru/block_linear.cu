/* block_linear.cu - lab 06, part 06.1: the matrices of both gates, in float. The contract is
 * rglru.h; f16 and bf16 are in block_linear_tensor.cu. */
#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

// BEGIN SOLUTION 06.1 (about 40 lines in a first version)
//> enum { BLOCK = 128 };  // threads
//>
//> /* Forward: a thread per output j of a block g; a loop over its inputs for both gates. */
//> template <typename E>
//> static __global__ void both_gates(
//>     E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
//>     int G, int M)
//> {
//>     size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x, C = (size_t)G * M;
//>     if (i >= R * C) return;              // [0, R*C)
//>     size_t j = i % M, g = i % C / M;     // output j of block g
//>     const E *row = c + (i - j);          // (M): the inputs of this block
//>     // TODO(06.1): both sums, from the biases on. wx[g,k,j] lies at (g M + k) M + j.
//>     // About 6 lines.
//>     (void)g, (void)row;
//> }
//>
//> /* dc: a thread per input i, a loop over the outputs of both gates. dc may be dc_in. */
//> template <typename E>
//> static __global__ void dc_each(
//>     E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
//>     int G, int M)
//> {
//>     // TODO(06.1): as above; the matrices are read along a row. About 9 lines.
//> }
//>
//> /* dw and db of one gate: a thread per number of dw, a loop over the rows. */
//> template <typename E>
//> static __global__ void
//> dw_each(float *dw, float *db, const E *c, const E *dp, int R, int G, int M)
//> {
//>     size_t at = (size_t)blockIdx.x * BLOCK + threadIdx.x;  // [0, G*M*M)
//>     if (at >= (size_t)G * M * M) return;
//>     // TODO(06.1): dw[at] += sum of c dp; the threads with i = 0 sum db too. 9 lines.
//> }
/* Three matrix products: of c with the matrices, of the gradients with the transposed
 * matrices, of c transposed with the gradients. Each block of 64 threads makes 64 x 64
 * results, 8 x 8 a thread, from tiles in shared memory: a number that is fetched there is
 * used 8 times by each thread that reads it. Half of the 64 columns belong to one gate,
 * half to the other, so that both gates come from one reading of c. */

constexpr int TILE = 64;        // rows and columns of a block's results
constexpr int HALF = TILE / 2;  // columns of one gate
constexpr int STEP = 16;        // terms of the sums that are in shared memory at once
constexpr int SIDE = 8;  // rows and columns of a thread's results; threads of a side
constexpr int BLOCK = SIDE * SIDE;
constexpr int QUAD = SIDE / 2;  // of them neighbours: 16 bytes of shared memory

/* Where result i of 8 of the thread `lane` (of 8) lies in a tile. A thread's results are
 * two groups of four, 32 apart: then 8 threads read 128 neighbouring bytes, and the groups
 * of columns belong to different gates. */
static __device__ int place(int lane, int i)
{
    return i / QUAD * HALF + lane * QUAD + i % QUAD;
}

/* The tiles of a step: a[k][row], b[k][column]. */
struct alignas(16) tiles {
    float a[STEP][TILE], b[STEP][TILE];
};

/* sum[i][j] += a[k][row i] b[k][column j] over the step, for the first ROWS and COLUMNS of a
 * thread's results: QUAD where the second half of a tile lies beyond the matrix. */
template <int ROWS, int COLUMNS>
static __device__ void multiply(float (&sum)[SIDE][SIDE], const tiles &s)
{
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
#pragma unroll 4
    for (int k = 0; k < STEP; k++) {
        float a[ROWS], b[COLUMNS];
        for (int i = 0; i < ROWS; i++)
            a[i] = s.a[k][place(ty, i)];
        for (int j = 0; j < COLUMNS; j++)
            b[j] = s.b[k][place(tx, j)];
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] += a[i] * b[j];
    }
}

/* Into to[k][n]: x[n, k] for n of TILE rows from n0, k of STEP columns from k0; 0 beyond
 * (rows, columns). ld: distance of rows. Thread n fetches row n, 16 bytes at a time if the
 * rows start at such addresses. */
static __device__ void fetch_rows(
    float (*to)[TILE], const float *x, size_t ld, size_t n0, size_t rows, int k0,
    int columns, bool vectors)
{
    size_t n = n0 + threadIdx.x;
    for (int k = 0; k < STEP; k += QUAD) {
        vec<float> v = {};
        const float *from = x + n * ld + k0 + k;
        if (n < rows && vectors && k0 + k < columns)
            v = *(const vec<float> *)from;
        else if (n < rows)
            for (int j = 0; j < QUAD; j++)
                if (k0 + k + j < columns) v.at[j] = from[j];
        for (int j = 0; j < QUAD; j++)
            to[k + j][threadIdx.x] = v.at[j];
    }
}

/* Into to[k][n]: x[k, n], or, where there are two, x in the first half of the columns and y
 * in the second. n counts from n0, k from k0. */
static __device__ void fetch_columns(
    float (*to)[TILE], const float *x, const float *y, size_t ld, size_t k0, size_t rows,
    int n0, int columns)
{
    int at = threadIdx.x, n = n0 + (y && at >= HALF ? at - HALF : at);
    const float *from = y && at >= HALF ? y : x;
    for (int k = 0; k < STEP; k++)
        to[k][at] = k0 + k < rows && n < columns ? from[(k0 + k) * ld + n] : 0.0f;
}

/* The tile of a block: g, and the first row and column of the results. Blocks of one row
 * tile are neighbours, so what they share comes from the cache. */
struct place_of {
    size_t row;
    int g, column;
};

static __device__ place_of tile_of(int G, int M, int columns)
{
    int across = (M + columns - 1) / columns, g = blockIdx.x / across % G;
    return {
        (size_t)(blockIdx.x / across / G) * TILE, g,
        (int)(blockIdx.x % across) * columns};
}

static __global__ void __launch_bounds__(BLOCK) both_gates(
    float *px, float *pa, const float *c, const float *wx, const float *bx,
    const float *wa, const float *ba, int R, int G, int M, bool vectors)
{
    __shared__ tiles s;
    place_of own = tile_of(G, M, HALF);
    size_t C = (size_t)G * M, matrix = (size_t)own.g * M * M, first = (size_t)own.g * M;
    float sum[SIDE][SIDE] = {};
    for (int k = 0; k < M; k += STEP) {
        fetch_rows(s.a, c + first, C, own.row, R, k, M, vectors);
        fetch_columns(s.b, wx + matrix, wa + matrix, M, k, M, own.column, M);
        __syncthreads();  // the tiles are there
        multiply<SIDE, SIDE>(sum, s);
        __syncthreads();  // and are no longer needed
    }
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++) {
        size_t r = own.row + place(ty, i);
        if (r >= (size_t)R) continue;
        for (int j = 0; j < QUAD; j++) {
            int n = own.column + place(tx, j);
            if (n >= M) continue;
            px[r * C + first + n] = sum[i][j] + bx[first + n];
            pa[r * C + first + n] = sum[i][j + QUAD] + ba[first + n];
        }
    }
}

/* dc: both gates' products go into one sum. dc may be dc_in: a thread reads what it
 * replaces. */
static __global__ void __launch_bounds__(BLOCK) dc_tile(
    float *dc, const float *dc_in, const float *dpx, const float *dpa, const float *wx,
    const float *wa, int R, int G, int M, bool vectors)
{
    __shared__ tiles s;
    place_of own = tile_of(G, M, TILE);
    size_t C = (size_t)G * M, matrix = (size_t)own.g * M * M, first = (size_t)own.g * M;
    float sum[SIDE][SIDE] = {};
    for (int gate = 0; gate < 2; gate++)
        for (int k = 0; k < M; k += STEP) {
            fetch_rows(s.a, (gate ? dpa : dpx) + first, C, own.row, R, k, M, vectors);
            fetch_rows(s.b, (gate ? wa : wx) + matrix, M, own.column, M, k, M, vectors);
            __syncthreads();  // the tiles are there
            if (own.column + HALF < M)
                multiply<SIDE, SIDE>(sum, s);
            else
                multiply<SIDE, QUAD>(sum, s);
            __syncthreads();  // and are no longer needed
        }
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++) {
        size_t r = own.row + place(ty, i);
        for (int j = 0; j < SIDE; j++) {
            int n = own.column + place(tx, j);
            size_t at = r * C + first + n;
            if (r < (size_t)R && n < M) dc[at] = sum[i][j] + (dc_in ? dc_in[at] : 0.0f);
        }
    }
}

/* dw of both gates over the rows of part blockIdx.y, and the column sums for the biases,
 * which the blocks of the first inputs make. A part of `partial` is (2,G,M,M) numbers for
 * dwx and dwa, then (2,G,M) for dbx and dba. */
static __global__ void __launch_bounds__(BLOCK) dw_tile(
    float *partial, const float *c, const float *dpx, const float *dpa, int R, int G,
    int M, int rows)
{
    __shared__ tiles s;
    int across = (M + HALF - 1) / HALF, down = (M + TILE - 1) / TILE;
    int column = blockIdx.x % across * HALF, row = blockIdx.x / across % down * TILE;
    size_t g = blockIdx.x / across / down, C = (size_t)G * M, first = g * M;
    size_t begin = (size_t)blockIdx.y * rows, end = begin + rows;
    if (end > (size_t)R) end = R;
    float sum[SIDE][SIDE] = {}, bias = 0.0f;
    for (size_t r = begin; r < end; r += STEP) {
        fetch_columns(s.a, c + first, NULL, C, r, end, row, M);
        fetch_columns(s.b, dpx + first, dpa + first, C, r, end, column, M);
        __syncthreads();  // the tiles are there
        if (row + HALF < M)
            multiply<SIDE, SIDE>(sum, s);
        else
            multiply<QUAD, SIDE>(sum, s);
        if (row == 0)
            for (int k = 0; k < STEP; k++)
                bias += s.b[k][threadIdx.x];
        __syncthreads();  // and are no longer needed
    }
    partial += blockIdx.y * (2 * C * M + 2 * C);
    int tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int m = row + place(ty, i), n = column + place(tx, j % QUAD);
            if (m < M && n < M) partial[((j / QUAD * G + g) * M + m) * M + n] = sum[i][j];
        }
    int n = column + threadIdx.x % HALF;
    if (row == 0 && n < M) partial[2 * C * M + threadIdx.x / HALF * C + first + n] = bias;
}

static unsigned blocks_for(int R, int G, int M, int columns)
{
    size_t down = ((size_t)R + TILE - 1) / TILE, across = (M + columns - 1) / columns;
    return (unsigned)(down * G * across);
}

constexpr size_t LEAST = 256;     // rows of a part of the sums for dw
constexpr size_t MOST = 4 << 20;  // partial sums in all, about
constexpr size_t FEW = 4;         // parts, also of large matrices
// END SOLUTION

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.1 (2 lines)
    //> // TODO(06.1): launch both_gates, then return wb_launched().
    //> return WB_TODO;
    bool vectors = M % vec<E>::N == 0 && aligned(16, c);
    both_gates<<<blocks_for(R, G, M, HALF), BLOCK, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M, vectors);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of scratch of the backward pass. */
template <typename E> static size_t block_linear_space(int R, int G, int M)
{
    // BEGIN SOLUTION 06.1 (1 line)
    //> // TODO(06.1): 0 is right as long as one thread sums all rows alone.
    //> return 0;
    if (R < 1 || G < 1 || M < 1) return 0;
    return parts_space(R, 2 * (size_t)G * M * (M + 1), LEAST, MOST, FEW);
    // END SOLUTION
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.1 (4 lines)
    //> // TODO(06.1): launch dc_each, and dw_each for either gate; return wb_launched().
    //> (void)partial;
    //> return WB_TODO;
    bool vectors = M % vec<E>::N == 0 && aligned(16, dpx, dpa, wx, wa);
    dc_tile<<<blocks_for(R, G, M, TILE), BLOCK, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M, vectors);
    size_t C = (size_t)G * M, sums = 2 * C * (M + 1);
    int P = parts_for(R, sums, LEAST, MOST, FEW), rows = (R + P - 1) / P;
    P = (R + rows - 1) / rows;
    dim3 grid((M + HALF - 1) / HALF * ((M + TILE - 1) / TILE) * G, P);
    dw_tile<<<grid, BLOCK, 0, stream>>>(partial, c, dpx, dpa, R, G, M, rows);
    launch_add({{dwx, dwa, dbx, dba}, {C * M, C * M, C, C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_BLOCK_LINEAR(float, f32)
