/* lookback.cuh - given: how blocks that scan neighbouring chunks of time hand the state on.
 *
 * A scan h[t] = a[t] h[t-1] + z[t] over some steps is one such step itself:
 *
 *     (A, H) then (a, z)  =  (a A, a H + z)        from h before: A h + H
 *
 * A block of WARPS warps scans a chunk of time for a tile of channels, lane by channel. It
 * joins the pairs (A, H) of its warps, publishes the chunk's pair in the workspace, and folds
 * the pairs of the chunks before it into the state that it starts from: one pass over memory.
 *
 *     chunk     0     1     2     3  |   4     5     6     7  |   8     9
 *     pair      H0   A,H   A,H    H  |  A,H   A,H   A,H    H  |  A,H  A,H
 *
 * The last chunk of each GROUP, and chunk 0, wait until they know their state and publish
 * that instead, with A = 0. So a block looks back over at most GROUP pairs, and which ones
 * depends on nothing but its place: equal inputs give equal bits, whoever was first.
 *
 * A pair is written and read as one word of 64 bits, which is EMPTY until then: so it needs
 * no flag beside it, no fence, and arrives in one trip to memory.
 *
 * Who waits must not keep the one waited for from running. Blocks therefore take numbers
 * when they begin, and chunks of a row go by number: the block waited for has begun.
 */
#ifndef LOOKBACK_CUH
#define LOOKBACK_CUH
#include "rglru_shared.cuh"

constexpr int GROUP = 4;  // chunks

typedef unsigned long long pair_word;  // A below, H above
constexpr pair_word EMPTY = ~0ull;

/* The workspace of one call, and how its rows are cut */
typedef struct chain {
    unsigned *begun;           // blocks that have taken their number
    volatile pair_word *pair;  // (chunks, B, C)
    int B, C, chunks, tiles;   // tiles of a row
    int tile;                  // channels of a block
} chain;

/* what a block works on; chunks are counted in the direction of the scan */
typedef struct place {
    int chunk, b, tile;
} place;

static inline size_t chunks_of(int T, int steps)
{
    return ((size_t)T + steps - 1) / steps;
}

constexpr size_t BEGUN = 256;  // bytes before the pairs, for the counter

static inline size_t chain_workspace(int B, int T, int C, int steps)
{
    if (B < 1 || T <= steps || C < 1) return 0;  // one chunk needs no hand-over
    size_t bytes = chunks_of(T, steps) * B * C * sizeof(pair_word);
    return BEGUN + (bytes + 255) / 256 * 256;
}

/* Lays the chain out in a workspace and clears it on the stream, which a replayed graph does
 * as well: the counter starts from ~0, the pairs from EMPTY. */
static inline chain
make_chain(void *workspace, int B, int T, int C, int steps, int tile, cudaStream_t stream)
{
    chain link = {};
    link.begun = (unsigned *)workspace;
    link.pair = (pair_word *)((char *)workspace + BEGUN);
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

/* Where this block works: all rows and channels of chunk 0 first, then of chunk 1, ... One
 * thread finds it, for divisions are slow. */
static __device__ place take_place(chain link)
{
    __shared__ place at;
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        unsigned across = (unsigned)link.B * link.tiles;
        unsigned n = link.chunks > 1 ? atomicAdd(link.begun, 1u) + 1u : blockIdx.x;
        at.chunk = (int)(n / across);
        at.b = (int)(n % across / link.tiles);
        at.tile = (int)(n % link.tiles);
    }
    __syncthreads();  // at is there
    return at;
}

static __device__ void publish(volatile pair_word *pair, float A, float H)
{
    unsigned a = A == A ? __float_as_uint(A) : 0x7fc00000u;  // no NaN that looks EMPTY
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

/* The state before this chunk, from past: the chunks before it, the oldest last */
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

/* The state before the steps of this warp, from A and H of each warp's steps. All threads
 * of the block call it; WARPS >= V. order: the warp's place in the direction of the scan.
 * start: (B, C), the state before chunk 0; NULL: 0. Each warp waits for one of the chunks
 * before, so that all answers are under way at once. */
template <int V, int WARPS>
static __device__ __forceinline__ void carry_in(
    float state[V], const float A[V], const float H[V], const chain &link, place at,
    int order, const float *start)
{
    __shared__ float2 part[WARPS][V][WARP], past[GROUP][V][WARP];
    int lane = threadIdx.x, mine = threadIdx.y;  // mine: the v whose pair this warp makes
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
    float a = 1.0f, h = 0.0f;
    if (mine < V) {
        for (int w = 0; w < WARPS; w++) {  // in its place, what the warps before do
            float2 p = part[w][mine][lane];
            part[w][mine][lane] = make_float2(a, h);
            a *= p.x, h = p.x * h + p.y;
        }
        if (asked && !known) publish(pair + mine, a, h);
    }
    for (int k = threadIdx.y; k < GROUP; k += WARPS)
#pragma unroll
        for (int v = 0; v < V; v++) {
            float2 p = make_float2(1.0f, 0.0f);  // changes nothing
            bool there = channel + v < link.C;
            if (there && k < count) p = wait_for(pair + v - stride * (k + 1));
            if (there && k == 0 && chunk == 0 && start)
                p = make_float2(0.0f, start[row + v]);
            past[k][v][lane] = p;
        }
    __syncthreads();  // past holds the chunks before, part[w] the warps before w
    if (asked && known) publish(pair + mine, 0.0f, a * fold<V>(past, mine) + h);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float2 p = part[order][v][lane];
        state[v] = p.x * fold<V>(past, v) + p.y;
    }
}
#endif
