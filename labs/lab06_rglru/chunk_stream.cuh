/* chunk_stream.cuh - given: on a Hopper GPU a block computes one chunk of a fused pass
 * while the inputs of its next chunk are on their way to shared memory.
 *
 * A block that loads a chunk, computes and ends asks for no memory most of the time. Here
 * the GPU is filled once with blocks that stay, and each takes chunk after chunk. A warp
 * copies the rows that its own lanes will read, so it waits for its own copies only,
 * without a barrier of the block.
 *
 * A block takes its numbers (lookback.cuh) ahead of time, but works on them in order. So
 * the smallest number that is not finished never waits: all before it are, and its block
 * has nothing older to do.
 */
#ifndef CHUNK_STREAM_CUH
#define CHUNK_STREAM_CUH
#include "cuda/hopper.cuh"
#include "cuda/mma.cuh"  // cp_async
#include "rglru_tile.cuh"

constexpr int PLACES = 8;  // of the last chunks of a block and its next two

/* Rows of one tensor in shared memory, ROWS of them for each step of time */
template <typename E, int ROWS, int TILE> struct tensor_rows {
    E row[ROWS][TILE];
};

/* Host. Whether a call suits: rows can be copied 16 bytes at a time; each block, per_sm
 * of them on each SM, gets several chunks; and at most two chunks of a row and tile are
 * in work at the same time, so that they rarely wait for each other. p: the tensors that
 * are fetched, of elements of E bytes, rows C or ld apart */
template <typename... P>
static inline bool streams(
    int B, int T, int C, int chunk, int tile, int per_sm, int E, int ld, const P *...p)
{
    size_t slots = (size_t)per_sm * sm_count(),
           rows = (size_t)B * ((C + tile - 1) / tile);
    return code_is_sm90a() && T > chunk && 2 * rows >= slots &&
           rows * chunks_of(T, chunk) > 2 * slots && (size_t)C * E % 16 == 0 &&
           (size_t)ld * E % 16 == 0 && is_aligned(16, p...);
}

/* A warp starts to copy its rows, those of the steps t0, t0 + 1, ..., to rows `first`,
 * first + 1, ...; zeros where there is no step or channel. As many lanes as a row has
 * pieces of 16 bytes copy a row. base: row of step 0, rows ld apart */
template <int STEPS, typename E, int ROWS, int TILE>
static __device__ __forceinline__ void fetch_rows(
    tensor_rows<E, ROWS, TILE> &to, int first, const E *base, int ld, int t0, int T,
    int channel, int C)
{
    constexpr int N = 16 / sizeof(E), LANES = TILE / N, TOGETHER = WARP / LANES;
    int lane = threadIdx.x, piece = lane % LANES * N;
    ptrdiff_t from = (ptrdiff_t)(t0 + lane / LANES) * ld + channel + piece;
#pragma unroll
    for (int i = 0; i < STEPS; i += TOGETHER) {
        int s = i + lane / LANES;
        bool exists = (unsigned)(t0 + s) < (unsigned)T && channel + piece < C;
        if (STEPS % TOGETHER && s >= STEPS) continue;
        cp_async(
            to.row[first + s] + piece, exists ? base + from + (ptrdiff_t)i * ld : base,
            exists);
    }
}

/* The first two places of a block. All threads call it. */
static __device__ __forceinline__ void
begin_stream(chunk_place (&place)[PLACES], const chain &link)
{
    if (threadIdx.x == 0 && threadIdx.y == 0)
        for (int i = 0; i < 2; i++)
            place[i] = place_of(link, claim_number(link));
    __syncthreads();  // they are visible
}

/* a_param of the channel whose softplus this lane computes for its block: warp v has
 * channel v of each lane, as in rglru_tile.cuh. */
template <int V, typename E>
static __device__ __forceinline__ float
a_param_of(const E *a_param, const chain &link, chunk_place at)
{
    int channel = at.tile * link.tile + threadIdx.x * V + threadIdx.y;
    return threadIdx.y < V && channel < link.C ? (float)a_param[channel] : 0.0f;
}
#endif
