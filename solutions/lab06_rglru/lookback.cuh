/* lookback.cuh - given: how blocks that scan neighbouring chunks of time hand the state on.
 *
 * A scan h[t] = a[t] h[t-1] + z[t] over some steps is one such step itself:
 *
 *     (A, H) then (a, z)  =  (a A, a H + z)        from h before: A h + H
 *
 * A block of WARPS warps scans a chunk of time for TILE channels, lane by channel. It joins
 * the pairs (A, H) of its warps, publishes the chunk's pair in the workspace, and folds the
 * pairs of the chunks before it into the state that it starts from: one pass over memory.
 *
 *     chunk     0     1     2   ...  15  |  16    17    18  ...  31  |  32
 *     pair      H0   A,H   A,H        H  |  A,H   A,H   A,H       H  |  A,H
 *
 * The last chunk of each GROUP, and chunk 0, wait until they know their state and publish
 * that instead, with A = 0. So a block looks back over at most GROUP pairs, and which ones
 * depends on nothing but its place: equal inputs give equal bits, whoever was first.
 *
 * Who waits must not keep the one waited for from running. Blocks therefore take numbers
 * when they begin, and chunks of a row go by number: the block waited for has begun.
 */
#ifndef LOOKBACK_CUH
#define LOOKBACK_CUH
#include "wb.h"

constexpr int WARP = 32;
constexpr int GROUP = 16;  // chunks; at most WARP

/* The workspace of one call, and how its rows are cut. `steps` of time make a chunk, `tile`
 * channels are a block's. */
typedef struct chain {
    unsigned *begun;  // blocks that have taken their number
    unsigned *there;  // (chunks, B, C / 32): 1 when 32 pairs can be read
    float2 *pair;     // (chunks, B, C): A and H
    int B, C, chunks, tiles, tile;
} chain;

/* what a block works on; chunks are counted in the direction of the scan */
typedef struct place {
    int chunk, b, tile;
} place;

static size_t upwards(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static size_t chunks_of(int T, int steps)
{
    return upwards(T, steps) / steps;
}

/* Bytes of the counters, which must start from 0, and of all; for any tile up to `widest` */
static size_t chain_flags(int B, int T, int C, int steps, int widest)
{
    size_t groups = chunks_of(T, steps) * B * (upwards(C, widest) / WARP);
    return upwards((1 + groups) * sizeof(unsigned), 256);
}

static size_t chain_workspace(int B, int T, int C, int steps, int widest)
{
    if (B < 1 || T <= steps || C < 1) return 0;  // one chunk needs no hand-over
    size_t pairs = chunks_of(T, steps) * B * C * sizeof(float2);
    return chain_flags(B, T, C, steps, widest) + upwards(pairs, 256);
}

/* Lays the chain out in a workspace of chain_workspace() bytes, and clears its counters on
 * the stream, which a replayed graph does as well. */
static chain make_chain(
    void *workspace, int B, int T, int C, int steps, int tile, int widest,
    cudaStream_t stream)
{
    chain link = {};
    size_t flags = chain_flags(B, T, C, steps, widest);
    link.begun = (unsigned *)workspace;
    link.there = link.begun + 1;
    link.pair = (float2 *)((char *)workspace + flags);
    link.B = B, link.C = C, link.tile = tile;
    link.chunks = (int)chunks_of(T, steps);
    link.tiles = (int)(upwards(C, tile) / tile);
    if (link.chunks > 1) cudaMemsetAsync(workspace, 0, flags, stream);
    return link;
}

static unsigned chain_blocks(chain link)
{
    return (unsigned)((size_t)link.chunks * link.B * link.tiles);
}

/* Where this block works: all rows and channels of chunk 0 first, then of chunk 1, ... */
static __device__ place take_place(chain link)
{
    __shared__ unsigned number;
    unsigned n = blockIdx.x, across = (unsigned)link.B * link.tiles;
    if (link.chunks > 1) {
        if (threadIdx.x == 0 && threadIdx.y == 0) number = atomicAdd(link.begun, 1u);
        __syncthreads();  // number is there
        n = number;
    }
    place at = {(int)(n / across), (int)(n % across / link.tiles), (int)(n % link.tiles)};
    return at;
}

/* What one warp hands on or looks for: the pairs of 32 channels, `stride` apart */
typedef struct strand {
    volatile unsigned *there;  // this chunk's flag
    float2 *pair;         // this chunk's pair of this lane; NULL past the last channel
    size_t flags, pairs;  // from a chunk to the next
} strand;

static __device__ strand strand_of(chain link, place at, int V, int v)
{
    strand s;
    int channel = at.tile * link.tile + threadIdx.x * V + v;
    s.flags = (size_t)link.B * link.tiles * V, s.pairs = (size_t)link.B * link.C;
    s.there =
        link.there + at.chunk * s.flags + ((size_t)at.b * link.tiles + at.tile) * V + v;
    s.pair = link.pair + at.chunk * s.pairs + (size_t)at.b * link.C + channel;
    if (channel >= link.C) s.pair = NULL;
    return s;
}

static __device__ void publish(strand s, float A, float H)
{
    if (s.pair) *s.pair = make_float2(A, H);
    __threadfence();  // the pair is visible before the flag
    __syncwarp();
    if (threadIdx.x == 0) *s.there = 1;
}

/* The state before chunk `chunk`, from the pairs of those before it */
static __device__ float look_back(strand s, int chunk)
{
    int from = chunk < GROUP ? 0 : chunk / GROUP * GROUP - 1;  // it published a state
    int mine = chunk - 1 - threadIdx.x;                        // each lane waits for one
    while (mine >= from && s.there[-(ptrdiff_t)(s.flags * (threadIdx.x + 1))] == 0)
        __threadfence();
    __threadfence();  // no pair is read before its flag
    __syncwarp();
    float state = 0.0f;
    if (!s.pair) return state;
#pragma unroll 4
    for (int k = chunk - from; k > 0; k--) {
        float2 p = __ldcg(s.pair - k * s.pairs);
        state = p.x * state + p.y;
    }
    return state;
}

/* For 32 channels: publishes A and H of this chunk, all its warps together, and returns the
 * state before it. start: the state before chunk 0. */
static __device__ float
hand_over(strand s, chain link, int chunk, float A, float H, float start)
{
    bool state_wanted = chunk == 0 || (chunk + 1) % GROUP == 0;
    bool last = chunk + 1 == link.chunks;  // nobody comes after
    if (!state_wanted && !last) publish(s, A, H);
    float state = chunk == 0 ? start : look_back(s, chunk);
    if (state_wanted && !last) publish(s, 0.0f, A * state + H);
    return state;
}

/* The state before the steps of this warp, from A and H of each warp's steps. All threads
 * of the block call it; WARPS >= V. order: the warp's place in the direction of the scan.
 * start: (B, C), the state before the first chunk; NULL: 0. */
template <int V, int WARPS>
static __device__ void carry_in(
    float state[V], const float A[V], const float H[V], chain link, place at, int order,
    const float *start)
{
    __shared__ float2 part[WARPS][V][WARP];
    int lane = threadIdx.x;
    for (int v = 0; v < V; v++)
        part[order][v][lane] = make_float2(A[v], H[v]);
    __syncthreads();  // every warp's pairs are in part
    if (threadIdx.y < V) {
        int v = threadIdx.y, channel = at.tile * link.tile + lane * V + v;
        float a = 1.0f, h = 0.0f, before = 0.0f;
        for (int w = 0; w < WARPS; w++) {  // in its place, what the warps before do
            float2 p = part[w][v][lane];
            part[w][v][lane] = make_float2(a, h);
            a *= p.x, h = p.x * h + p.y;
        }
        if (at.chunk == 0 && start && channel < link.C)
            before = start[(size_t)at.b * link.C + channel];
        before = hand_over(strand_of(link, at, V, v), link, at.chunk, a, h, before);
        for (int w = 0; w < WARPS; w++) {
            float2 p = part[w][v][lane];
            part[w][v][lane].y = p.x * before + p.y;
        }
    }
    __syncthreads();  // part[order].y is the state before each warp's steps
    for (int v = 0; v < V; v++)
        state[v] = part[order][v][lane].y;
}
#endif
