/* lookback.cuh - given: how blocks that scan chunks of time pass the state on.
 *
 * Several steps of a scan h[t] = a[t] h[t-1] + z[t] are again one such step:
 *
 *     (A, H) followed by (a, z)  =  (a A, a H + z)        applied to a state h: A h + H
 *
 * A block of WARPS warps scans a chunk of time for a tile of channels, one or more
 * channels per lane. It joins the pairs (A, H) of its warps, publishes the chunk's pair
 * in the workspace, and folds the pairs of earlier chunks into its own start state. Each
 * tensor is read or written once.
 *
 *     chunk     0     1     2     3  |   4     5     6     7  |   8     9
 *     pair      H0   A,H   A,H    H  |  A,H   A,H   A,H    H  |  A,H  A,H
 *
 * Chunk 0 and the last chunk of each GROUP wait until they know their state and publish
 * that instead, with A = 0. So a block looks back over at most GROUP pairs. Which ones
 * depends only on its chunk, never on timing, so equal inputs give equal bits.
 *
 * A pair is written and read as one 64-bit word, which is EMPTY until then. It needs
 * neither a flag nor a fence, and arrives in one trip to memory.
 *
 * A block that waits must not keep the block that it waits for from running. Blocks
 * therefore take a number when they start, and work on the chunks of a row in the order
 * of the numbers: a block only waits for blocks that have started.
 */
#ifndef LOOKBACK_CUH
#define LOOKBACK_CUH
#include "rglru_contract.cuh"

constexpr int GROUP = 4;  // chunks

typedef unsigned long long pair_word;  // A in the lower half, H in the upper
constexpr pair_word EMPTY = ~0ull;

/* The workspace of a call, and how its rows are cut into chunks and tiles */
typedef struct chain {
    unsigned *started;         // blocks that have taken a number, less 1
    volatile pair_word *pair;  // (chunks, B, C)
    int B, C, chunks, tiles;   // tiles per row
    int tile;                  // channels of a tile
} chain;

/* What a block works on. Chunks are counted in the direction of the scan. */
typedef struct chunk_place {
    int chunk, b, tile;
} chunk_place;

static inline size_t chunks_of(int T, int steps)
{
    return ((size_t)T + steps - 1) / steps;
}

constexpr size_t COUNTER_BYTES = 256;  // before the pairs

static inline size_t chain_workspace(int B, int T, int C, int steps)
{
    if (B < 1 || T <= steps || C < 1) return 0;  // a single chunk passes nothing on
    size_t bytes = chunks_of(T, steps) * B * C * sizeof(pair_word);
    return COUNTER_BYTES + (bytes + 255) / 256 * 256;
}

/* Lays the chain out in a workspace and clears it on the stream, which a replayed graph
 * repeats: the counter starts at ~0, the pairs at EMPTY. */
static inline chain
make_chain(void *workspace, int B, int T, int C, int steps, int tile, cudaStream_t stream)
{
    chain link = {};
    link.started = (unsigned *)workspace;
    link.pair = (pair_word *)((char *)workspace + COUNTER_BYTES);
    link.B = B, link.C = C, link.tile = tile;
    link.chunks = (int)chunks_of(T, steps);
    link.tiles = C / tile + (C % tile != 0);
    size_t bytes = chain_workspace(B, T, C, steps);
    if (bytes) cudaMemsetAsync(workspace, 0xff, bytes, stream);
    return link;
}

static inline unsigned chain_blocks(chain link)
{
    return (unsigned)((size_t)link.chunks * link.B * link.tiles);
}

/* Takes the next number. A single chunk passes nothing on and needs no workspace. */
static __device__ unsigned claim_number(const chain &link)
{
    return link.chunks > 1 ? atomicAdd(link.started, 1u) + 1u : blockIdx.x;
}

/* What number n stands for: first chunk 0 of all rows and channels, then chunk 1, ... */
static __device__ chunk_place place_of(const chain &link, unsigned n)
{
    unsigned per_chunk = (unsigned)link.B * link.tiles;
    return {
        (int)(n / per_chunk), (int)(n % per_chunk / link.tiles), (int)(n % link.tiles)};
}

/* What this block works on. One thread computes it, because divisions are slow. */
static __device__ chunk_place claim_chunk(chain link)
{
    __shared__ chunk_place at;
    if (threadIdx.x == 0 && threadIdx.y == 0) at = place_of(link, claim_number(link));
    __syncthreads();  // at is visible
    return at;
}

/* Elements from a row to the row `rows` further on, for rows that are ld apart. NEAR: an
 * int holds the result (ld <= NEAR_LD), so an address takes one instruction, not two. */
template <bool NEAR> static __device__ __forceinline__ size_t row_offset(int rows, int ld)
{
    return NEAR ? (size_t)(ptrdiff_t)(rows * ld) : (size_t)rows * ld;
}
constexpr int NEAR_LD = 1 << 26;

/* Whether all steps of the chunk and all channels of the tile exist, and rows are near.
 * BACKWARD: the scan starts at the last step, so that chunk 0 may be shorter. */
template <int CHUNK, bool BACKWARD>
static __device__ __forceinline__ bool
is_whole(const chain &link, chunk_place at, int T, int C, int ld)
{
    bool all = BACKWARD ? T % CHUNK == 0 || at.chunk > 0 : T - at.chunk * CHUNK >= CHUNK;
    return all && C - at.tile * link.tile >= link.tile && C <= NEAR_LD && ld <= NEAR_LD;
}

static __device__ void publish(volatile pair_word *pair, float A, float H)
{
    unsigned a = A == A ? __float_as_uint(A) : 0x7fc00000u;  // no NaN may look EMPTY
    *pair = (pair_word)__float_as_uint(H) << 32 | a;
}

static __device__ float2 wait_for(volatile pair_word *pair)
{
    pair_word word = *pair;
    while (word == EMPTY) {
        __threadfence();
        word = *pair;
    }
    return make_float2(
        __uint_as_float((unsigned)word), __uint_as_float((unsigned)(word >> 32)));
}

/* The state before this chunk. past: the pairs of earlier chunks, the oldest last */
template <int V>
static __device__ __forceinline__ float fold(float2 past[GROUP][V][WARP], int v)
{
    float state = 0.0f;
#pragma unroll
    for (int k = GROUP - 1; k >= 0; k--) {
        float2 p = past[k][v][threadIdx.x];
        state = p.x * state + p.y;
    }
    return state;
}

/* Joins the pairs of a block's warps, in the direction of the scan, for channel v of the
 * lane: part[w] becomes the pair of `before` and all warps before w. Returns that of all. */
template <int V, int WARPS>
static __device__ __forceinline__ float2
join_warps(float2 part[WARPS][V][WARP], int v, float2 before)
{
    float2 all = before;
    for (int w = 0; w < WARPS; w++) {
        float2 p = part[w][v][threadIdx.x];
        part[w][v][threadIdx.x] = all;
        all = make_float2(all.x * p.x, p.x * all.y + p.y);
    }
    return all;
}

/* The state before the steps of this warp, from A and H of each warp's steps. All threads
 * of the block call it; WARPS >= V. order: the warp's place in the direction of the scan.
 * start (B,C): the state before chunk 0; NULL: 0. Each warp waits for one of the earlier
 * chunks, so all their loads are in flight together. */
template <int V, int WARPS>
static __device__ __forceinline__ void carry_in(
    float state[V], const float A[V], const float H[V], const chain &link, chunk_place at,
    int order, const float *start)
{
    __shared__ float2 part[WARPS][V][WARP], past[GROUP][V][WARP];
    int lane = threadIdx.x, mine = threadIdx.y;  // mine: the v whose pair this warp joins
    int channel = at.tile * link.tile + lane * V, chunk = at.chunk;
    int count = chunk < GROUP ? chunk : chunk % GROUP + 1;  // back to a published state
    bool known = chunk == 0 || (chunk + 1) % GROUP == 0;    // publishes a state
    bool asked = chunk + 1 < link.chunks && mine < V && channel + mine < link.C;
    size_t row = (size_t)at.b * link.C + channel, stride = (size_t)link.B * link.C;
    volatile pair_word *pair = link.pair + chunk * stride + row;

#pragma unroll
    for (int v = 0; v < V; v++)
        part[order][v][lane] = make_float2(A[v], H[v]);
    __syncthreads();  // every warp's pairs are in part
    float2 all = make_float2(1.0f, 0.0f);
    if (mine < V) {
        all = join_warps<V, WARPS>(part, mine, all);
        if (asked && !known) publish(pair + mine, all.x, all.y);
    }
    for (int k = threadIdx.y; k < GROUP; k += WARPS)
#pragma unroll
        for (int v = 0; v < V; v++) {
            float2 p = make_float2(1.0f, 0.0f);  // changes nothing
            bool exists = channel + v < link.C;
            if (exists && k < count) p = wait_for(pair + v - stride * (k + 1));
            if (exists && k == 0 && chunk == 0 && start)
                p = make_float2(0.0f, start[row + v]);
            past[k][v][lane] = p;
        }
    __syncthreads();  // past holds the chunks before this one, part[w] the warps before w
    if (asked && known) publish(pair + mine, 0.0f, all.x * fold<V>(past, mine) + all.y);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float2 p = part[order][v][lane];
        state[v] = p.x * fold<V>(past, v) + p.y;
    }
}
#endif
