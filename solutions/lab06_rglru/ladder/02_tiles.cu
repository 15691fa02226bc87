/* 02_tiles.cu - part 06.1: the gates' matrices from tiles in shared memory.
 *
 * A block of 16 x 16 threads computes 16 x 16 results of each gate. It copies 16 x 16
 * elements of c and of both matrices to shared memory, adds 16 terms to each result from
 * there, and continues with the next 16: each element loaded is used 16 times instead of
 * once. Now shared memory is the limit: a multiplication reads two numbers there, or,
 * since c serves both gates, two multiplications read three.
 */
#include "rglru_contract.cuh"

constexpr int TILE = 16;

/* A tile with one column more than it needs, so that threads that read down a column meet
 * 16 different banks. */
typedef float tile[TILE][TILE + 1];

/* to[y][x] = from[(row + y) ld + column + x], 0 outside rows and columns. */
template <typename E>
static __device__ void load_tile(
    tile to, const E *from, size_t row, size_t rows, int column, int columns, size_t ld)
{
    int x = threadIdx.x, y = threadIdx.y;
    bool in = row + y < rows && column + x < columns;
    to[y][x] = in ? (float)from[(row + y) * ld + column + x] : 0.0f;
}

/* The tile of a block: its first row, and its first input or output of block g */
struct tile_place {
    size_t row;
    int g, column;
};

static __device__ tile_place own_tile(int G, int M)
{
    int across = (M + TILE - 1) / TILE, g = blockIdx.x / across % G;
    return {
        (size_t)(blockIdx.x / across / G) * TILE, g, (int)(blockIdx.x % across) * TILE};
}

template <typename E>
static __global__ void both_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    __shared__ tile cs, xs, as;
    tile_place own = own_tile(G, M);
    size_t C = (size_t)G * M, first = (size_t)own.g * M, matrix = first * M;
    int tx = threadIdx.x, ty = threadIdx.y, j = own.column + tx;
    float x = 0.0f, a = 0.0f;
    for (int k = 0; k < M; k += TILE) {
        load_tile(cs, c + first, own.row, R, k, M, C);
        load_tile(xs, wx + matrix, k, M, own.column, M, M);
        load_tile(as, wa + matrix, k, M, own.column, M, M);
        __syncthreads();  // the tiles are loaded
        for (int i = 0; i < TILE; i++)
            x += cs[ty][i] * xs[i][tx], a += cs[ty][i] * as[i][tx];
        __syncthreads();  // the tiles may be overwritten
    }
    if (own.row + ty >= (size_t)R || j >= M) return;
    size_t at = (own.row + ty) * C + first + j;
    px[at] = (E)(x + (float)bx[first + j]);
    pa[at] = (E)(a + (float)ba[first + j]);
}

/* The tiles of the matrices are not transposed, but read down a column. */
template <typename E>
static __global__ void dc_tile(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M)
{
    __shared__ tile ds, ws;
    tile_place own = own_tile(G, M);
    size_t C = (size_t)G * M, first = (size_t)own.g * M, matrix = first * M;
    int tx = threadIdx.x, ty = threadIdx.y, i = own.column + tx;
    float sum = 0.0f;
    for (int gate = 0; gate < 2; gate++)
        for (int k = 0; k < M; k += TILE) {
            load_tile(ds, (gate ? dpa : dpx) + first, own.row, R, k, M, C);
            load_tile(ws, (gate ? wa : wx) + matrix, own.column, M, k, M, M);
            __syncthreads();  // the tiles are loaded
            for (int j = 0; j < TILE; j++)
                sum += ds[ty][j] * ws[tx][j];
            __syncthreads();  // the tiles may be overwritten
        }
    if (own.row + ty >= (size_t)R || i >= M) return;
    size_t at = (own.row + ty) * C + first + i;
    dc[at] = (E)(sum + (dc_in ? (float)dc_in[at] : 0.0f));
}

/* A block sums all rows for 16 x 16 elements of dw; the blocks of the first inputs also
 * sum the bias. */
template <typename E>
static __global__ void
dw_tile(float *dw, float *db, const E *c, const E *dp, int R, int G, int M)
{
    __shared__ tile cs, ds;
    int across = (M + TILE - 1) / TILE, tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x % across * TILE, row = blockIdx.x / across % across * TILE;
    size_t g = blockIdx.x / across / across, C = (size_t)G * M, first = g * M;
    float sum = 0.0f, bias = 0.0f;
    for (size_t r = 0; r < (size_t)R; r += TILE) {
        load_tile(cs, c + first, r, R, row, M, C);
        load_tile(ds, dp + first, r, R, column, M, C);
        __syncthreads();  // the tiles are loaded
        for (int k = 0; k < TILE; k++)
            sum += cs[k][ty] * ds[k][tx], bias += ds[k][tx];
        __syncthreads();  // the tiles may be overwritten
    }
    int i = row + ty, j = column + tx;
    if (i < M && j < M) dw[(first + i) * M + j] += sum;
    if (i == 0 && j < M) db[first + j] += bias;
}

static unsigned blocks_for(int R, int G, int M)
{
    size_t down = ((size_t)R + TILE - 1) / TILE, across = (M + TILE - 1) / TILE;
    return (unsigned)(down * G * across);
}

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    both_gates<<<blocks_for(R, G, M), dim3(TILE, TILE), 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
    return wb_launched();
}

template <typename E> static size_t block_linear_back_workspace(int, int, int)
{
    return 0;
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M, float *,
    cudaStream_t stream)
{
    dim3 block(TILE, TILE);
    dc_tile<<<blocks_for(R, G, M), block, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M);
    unsigned across = (M + TILE - 1) / TILE;
    dw_tile<<<across * across * G, block, 0, stream>>>(dwx, dbx, c, dpx, R, G, M);
    dw_tile<<<across * across * G, block, 0, stream>>>(dwa, dba, c, dpa, R, G, M);
    return wb_launched();
}

DEFINE_BLOCK_LINEAR_FORWARD(float, f32)
DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
DEFINE_BLOCK_LINEAR_BACKWARD(float, f32)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_BACKWARD(wb_bf16, bf16)
