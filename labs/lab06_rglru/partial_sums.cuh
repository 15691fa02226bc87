/* partial_sums.cuh - given: sums over many rows for parameter gradients, in two steps.
 *
 * Blocks sum parts of the rows and write one row of partial sums each to the workspace;
 * then add_partial_sums adds those rows to the gradients, always in the same order, so
 * equal inputs give equal bits.
 */
#ifndef PARTIAL_SUMS_CUH
#define PARTIAL_SUMS_CUH
#include "cuda/fold.cuh"
#include "cuda/pdl.cuh"
#include "rglru_contract.cuh"

constexpr int MAX_SLICES = 32;      // warps of a block, which share its columns' rows
constexpr int MIN_SLICE_ROWS = 16;  // rows of each, at least

/* The gradients whose sums are stored side by side in a row of partial sums: first n[0]
 * numbers for at[0], then n[1] for at[1], ... */
struct sum_targets {
    float *at[4];
    size_t n[4];
};

/* partial (P, stride). A warp reads 32 columns; blockDim.y warps share the rows. */
static __global__ void
add_partial_rows(sum_targets to, const float *partial, int P, size_t stride)
{
    __shared__ float slice[MAX_SLICES][WARP];
    // the partial sums are complete
    pdl_wait();
    size_t c = (size_t)blockIdx.x * WARP + threadIdx.x;  // [0, stride)
    float sum = 0.0f;
    if (c < stride) sum = sum_column(partial + c, threadIdx.y, blockDim.y, P, stride);
    if (blockDim.y > 1) {
        slice[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();  // every warp's sums are visible
    }
    if (threadIdx.y || c >= stride) return;
#pragma unroll
    for (int s = 1; s < MAX_SLICES; s++)
        if (s < (int)blockDim.y) sum += slice[s][threadIdx.x];
    for (int i = 0; i < 4; i++) {
        if (c < to.n[i]) {
            to.at[i][c] += sum;
            return;
        }
        c -= to.n[i];
    }
}

/* Adds the sums of the P rows of `partial` to the targets. If the kernel that writes them
 * calls pdl_trigger(), this one's blocks are already resident when it ends. */
static inline void
add_partial_sums(sum_targets to, const float *partial, int P, cudaStream_t stream)
{
    size_t stride = to.n[0] + to.n[1] + to.n[2] + to.n[3];
    int slices = (P + MIN_SLICE_ROWS - 1) / MIN_SLICE_ROWS;
    dim3 block(WARP, slices < MAX_SLICES ? slices : MAX_SLICES);
    launch_pdl(
        add_partial_rows, (unsigned)((stride + WARP - 1) / WARP), block, 0, stream, to,
        partial, P, stride);
}

/* The number of parts for a sum over `rows` rows of n numbers: each part has min_rows
 * rows or more, and all parts together have at most max_sums numbers, unless that would
 * give fewer than min_parts. */
static inline int
part_count(size_t rows, size_t n, size_t min_rows, size_t max_sums, size_t min_parts)
{
    size_t P = max_sums / n > min_parts ? max_sums / n : min_parts;
    size_t all = (rows + min_rows - 1) / min_rows;
    P = P < all ? P : all;
    return P < 65535 ? (int)P : 65535;  // the limit of gridDim.y
}

/* Bytes of those parts: an upper bound, which never falls as rows or n grow */
static inline size_t
parts_workspace(size_t rows, size_t n, size_t min_rows, size_t max_sums, size_t min_parts)
{
    size_t all = (rows + min_rows - 1) / min_rows * n;
    size_t bound = min_parts * n > max_sums ? min_parts * n : max_sums;
    return (all < bound ? all : bound) * sizeof(float);
}

#endif
