/* 04_wmma.cu - part 06.7: the gates' matrices in f16 and bf16 on tensor cores, by WMMA.
 *
 * One instruction of a warp multiplies two matrices of 16 x 16: sixteen times as many
 * products as 32 threads compute in the same time without tensor cores. A block of four
 * warps computes 64 x 32 results of each gate: a warp has 16 rows, two fragments of 16
 * columns for one gate and two for the other, so a fragment of c is used four times. Sums
 * are float. Loads and multiplies still alternate, and tiles are small: the tensor cores
 * wait. Turing has no WMMA for bf16: there, one thread computes each output.
 */
#include <mma.h>

#include "cuda/mma.cuh"
#include "rglru_contract.cuh"

using namespace nvcuda;

constexpr int FRAG = 16, WARPS_PER_BLOCK = 4, THREADS = WARPS_PER_BLOCK * WARP;
constexpr int ROWS = WARPS_PER_BLOCK * FRAG;  // rows of a block's results
constexpr int COLUMNS = 2 * FRAG;             // columns of each gate
constexpr int LD = COLUMNS + 8;               // of the matrices' tiles in shared memory
constexpr int LD_C = FRAG + 8;                // of the tile of c

/* to[y][x] = from[(row + y) ld + column + x], y < high, x < wide; 0 outside the matrix */
template <typename E>
static __device__ void load_tile(
    E *to, int ld_to, int high, int wide, const E *from, size_t row, size_t rows,
    int column, int columns, size_t ld)
{
    for (int i = threadIdx.x; i < high * wide; i += THREADS) {
        int y = i / wide, x = i % wide;
        bool in = row + y < rows && column + x < columns;
        to[y * ld_to + x] = in ? from[(row + y) * ld + column + x] : (E)0.0f;
    }
}

/* Whether WMMA for E exists in the code being compiled */
template <typename E> constexpr bool WMMA_EXISTS = true;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <> constexpr bool WMMA_EXISTS<wb_bf16> = false;
#endif

/* The rows and columns of a block's results */
struct tile_place {
    size_t row;
    int g, column;
};

template <typename E>
static __device__ __forceinline__ void wmma_tile(
    tile_place own, E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa,
    const E *ba, int R, int G, int M)
{
    __shared__ __align__(32) E cs[ROWS * LD_C], ws[2][FRAG * LD];
    __shared__ __align__(32) float result[WARPS_PER_BLOCK][FRAG * FRAG];
    size_t row = own.row, C = (size_t)G * M, first = (size_t)own.g * M;
    size_t matrix = first * M;
    int column = own.column, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    // sum[gate][columns]
    wmma::fragment<wmma::accumulator, FRAG, FRAG, FRAG, float> sum[2][2];
    for (int i = 0; i < 4; i++)
        wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int k = 0; k < M; k += FRAG) {
        load_tile(cs, LD_C, ROWS, FRAG, c + first, row, R, k, M, C);
        load_tile(ws[0], LD, FRAG, COLUMNS, wx + matrix, k, M, column, M, M);
        load_tile(ws[1], LD, FRAG, COLUMNS, wa + matrix, k, M, column, M, M);
        __syncthreads();  // the tiles are loaded
        wmma::fragment<wmma::matrix_a, FRAG, FRAG, FRAG, E, wmma::row_major> fc;
        wmma::fragment<wmma::matrix_b, FRAG, FRAG, FRAG, E, wmma::row_major> fw;
        wmma::load_matrix_sync(fc, cs + warp * FRAG * LD_C, LD_C);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            wmma::load_matrix_sync(fw, ws[i / 2] + i % 2 * FRAG, LD);
            wmma::mma_sync(sum[i / 2][i % 2], fc, fw, sum[i / 2][i % 2]);
        }
        __syncthreads();  // the tiles may be overwritten
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const E *bias = i / 2 ? ba : bx;
        E *out = i / 2 ? pa : px;
        wmma::store_matrix_sync(
            result[warp], sum[i / 2][i % 2], FRAG, wmma::mem_row_major);
        __syncwarp();  // the results are in shared memory
        for (int e = lane; e < FRAG * FRAG; e += WARP) {
            size_t r = row + warp * FRAG + e / FRAG;
            int j = column + i % 2 * FRAG + e % FRAG;
            if (r < (size_t)R && j < M)
                out[r * C + first + j] = (E)(result[warp][e] + (float)bias[first + j]);
        }
        __syncwarp();  // and read
    }
}

template <typename E>
static __global__ void both_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    int across = (M + COLUMNS - 1) / COLUMNS, g = blockIdx.x / across % G;
    tile_place own = {
        (size_t)(blockIdx.x / across / G) * ROWS, g,
        (int)(blockIdx.x % across) * COLUMNS};
    if constexpr (WMMA_EXISTS<E>)
        wmma_tile(own, px, pa, c, wx, bx, wa, ba, R, G, M);
}

/* Without WMMA: a thread per output, as in 01_naive */
template <typename E>
static __global__ void gates_each(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, C = (size_t)G * M;
    if (i >= R * C) return;
    size_t j = i % M, g = i % C / M;
    const E *row = c + (i - j);  // (M): the inputs of this block
    float x = (float)bx[g * M + j], a = (float)ba[g * M + j];
    for (int k = 0; k < M; k++) {
        x += (float)row[k] * (float)wx[(g * M + k) * M + j];
        a += (float)row[k] * (float)wa[(g * M + k) * M + j];
    }
    px[i] = (E)x, pa[i] = (E)a;
}

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    size_t down = ((size_t)R + ROWS - 1) / ROWS, across = (M + COLUMNS - 1) / COLUMNS;
    size_t threads = (size_t)R * G * M;
    if (has_mma<E>())
        both_gates<<<(unsigned)(down * G * across), THREADS, 0, stream>>>(
            px, pa, c, wx, bx, wa, ba, R, G, M);
    else
        gates_each<<<(unsigned)((threads + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
            px, pa, c, wx, bx, wa, ba, R, G, M);
    return wb_launched();
}

DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
