/* 04_wmma.cu - the gates' matrices in f16 and bf16 on tensor cores, the plain way.
 *
 * One instruction of a warp multiplies two matrices of 16 x 16, which are sixteen times as
 * many products as 32 threads can add up in the same time by themselves. A block of four
 * warps makes 64 x 32 results of each gate: a warp has 16 rows, two fragments of 16 columns
 * for one gate and two for the other, so a fragment of c is used four times. Sums are float.
 * Loading and multiplying still take turns here, and a tile is small: the tensor cores wait.
 */
#include <mma.h>

#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

using namespace nvcuda;

constexpr int FRAG = 16, WARPS = 4, BLOCK = WARPS * WARP;
constexpr int ROWS = WARPS * FRAG;  // rows of a block's results
constexpr int COLUMNS = 2 * FRAG;   // columns of each gate
constexpr int LD = COLUMNS + 8;     // of the matrices' tiles in shared memory
constexpr int LDC = FRAG + 8;       // of that of c

/* to[y][x] = from[(row + y) ld + column + x] for y < high, x < wide, 0 beyond the matrix. */
template <typename E>
static __device__ void fetch(
    E *to, int ld_to, int high, int wide, const E *from, size_t row, size_t rows,
    int column, int columns, size_t ld)
{
    for (int i = threadIdx.x; i < high * wide; i += BLOCK) {
        int y = i / wide, x = i % wide;
        bool in = row + y < rows && column + x < columns;
        to[y * ld_to + x] = in ? from[(row + y) * ld + column + x] : (E)0.0f;
    }
}

template <typename E>
static __global__ void both_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    __shared__ __align__(32) E cs[ROWS * LDC], ws[2][FRAG * LD];
    __shared__ __align__(32) float result[WARPS][FRAG * FRAG];
    int across = (M + COLUMNS - 1) / COLUMNS, g = blockIdx.x / across % G;
    int column = (int)(blockIdx.x % across) * COLUMNS;
    size_t row = (size_t)(blockIdx.x / across / G) * ROWS, C = (size_t)G * M;
    size_t first = (size_t)g * M, matrix = first * M;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    wmma::fragment<wmma::accumulator, FRAG, FRAG, FRAG, float> sum[2]
                                                                  [2];  // gate, columns
    for (int i = 0; i < 4; i++)
        wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (int k = 0; k < M; k += FRAG) {
        fetch(cs, LDC, ROWS, FRAG, c + first, row, R, k, M, C);
        fetch(ws[0], LD, FRAG, COLUMNS, wx + matrix, k, M, column, M, M);
        fetch(ws[1], LD, FRAG, COLUMNS, wa + matrix, k, M, column, M, M);
        __syncthreads();  // the tiles are there
        wmma::fragment<wmma::matrix_a, FRAG, FRAG, FRAG, E, wmma::row_major> fc;
        wmma::fragment<wmma::matrix_b, FRAG, FRAG, FRAG, E, wmma::row_major> fw;
        wmma::load_matrix_sync(fc, cs + warp * FRAG * LDC, LDC);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            wmma::load_matrix_sync(fw, ws[i / 2] + i % 2 * FRAG, LD);
            wmma::mma_sync(sum[i / 2][i % 2], fc, fw, sum[i / 2][i % 2]);
        }
        __syncthreads();  // and are no longer needed
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const E *bias = i / 2 ? ba : bx;
        E *out = i / 2 ? pa : px;
        wmma::store_matrix_sync(
            result[warp], sum[i / 2][i % 2], FRAG, wmma::mem_row_major);
        __syncwarp();  // the results are there
        for (int e = lane; e < FRAG * FRAG; e += WARP) {
            size_t r = row + warp * FRAG + e / FRAG;
            int j = column + i % 2 * FRAG + e % FRAG;
            if (r < (size_t)R && j < M)
                out[r * C + first + j] = (E)(result[warp][e] + (float)bias[first + j]);
        }
        __syncwarp();  // and taken
    }
}

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    size_t down = ((size_t)R + ROWS - 1) / ROWS, across = (M + COLUMNS - 1) / COLUMNS;
    both_gates<<<(unsigned)(down * G * across), BLOCK, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
    return wb_launched();
}

DEFINE_BLOCK_LINEAR_FORWARD(wb_f16, f16)
DEFINE_BLOCK_LINEAR_FORWARD(wb_bf16, bf16)
