/* chunk_stream.cuh - given: a block of the fused kernels computes one chunk while the
 * inputs of its next chunk are on their way to shared memory.
 *
 * A block that loads a chunk, computes and stores it asks for no memory most of the time.
 * Here the GPU is filled once with blocks that stay, and each takes chunk after chunk. A
 * warp copies the rows that its own lanes will read, so it waits for its own copies only,
 * without a barrier of the block:
 *
 *     copies      gates 0   y 0   gates 1           y 1   gates 2           y 2
 *     computes             gates 0 | state | out 0       gates 1 | state | out 1
 *
 * A block takes its numbers (lookback.cuh) ahead of time, but works on them in order. The
 * smallest number that is not finished never waits: its block has nothing older to do.
 */
#ifndef CHUNK_STREAM_CUH
#define CHUNK_STREAM_CUH
#include "cuda/hopper.cuh"
#include "cuda/mma.cuh"  // cp_async
#include "rglru_tile.cuh"

constexpr int ROW_BYTES = 128;  // of a tensor, per step of a tile of channels

/* Steps of one tensor in shared memory; a warp has STEPS of them. */
template <typename E, int CHUNK> struct tensor_rows {
    E row[CHUNK][ROW_BYTES / sizeof(E)];
};

/* Host. Whether rows can be copied 16 bytes at a time, and blocks have several chunks. */
template <typename... P>
static inline bool streams(const chain &link, int slots, int E, int C, int ld, P... p)
{
    return code_is_sm90a() && chain_blocks(link) > (unsigned)(slots * sm_count()) &&
           C * E % 16 == 0 && (size_t)ld * E % 16 == 0 && is_aligned(16, p...);
}

/* Starts to copy this warp's steps from t0 on; zeros past T and C. Eight lanes copy a row.
 * base: the tensor's first row of this sequence, rows ld apart */
template <int STEPS, typename E, int CHUNK>
static __device__ __forceinline__ void fetch_steps(
    tensor_rows<E, CHUNK> &to, const E *base, int ld, int t0, int T, int channel, int C)
{
    constexpr int N = 16 / sizeof(E), LANES = ROW_BYTES / 16;
    int first = threadIdx.x / LANES, piece = threadIdx.x % LANES * N;
    const E *from = base + (size_t)(t0 + first) * ld + channel + piece;
#pragma unroll
    for (int s = 0; s < STEPS; s += WARP / LANES) {
        bool valid = t0 + first + s < T && channel + piece < C;
        E *row = to.row[threadIdx.y * STEPS + first + s];
        cp_async(row + piece, valid ? from + (size_t)s * ld : base, valid);
    }
}

/* What a block works on now and next, and the number after that, which one thread takes
 * early because an atomic operation takes as long as a load. */
struct stream_place {
    chunk_place at, next;
};

#endif
