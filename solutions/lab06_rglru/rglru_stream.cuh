/* rglru_stream.cuh - part 06.5: code of yours for rglru.cu, if you like. The solution has
 * its kernel for Hopper here.
 */
#ifndef RGLRU_STREAM_CUH
#define RGLRU_STREAM_CUH

// BEGIN SOLUTION 06.5 (nothing in a first version)
//> /* TODO(06.5): nothing, if rglru.cu has it all. */
/* The forward pass where a block fetches its next chunk while it computes one:
 *
 *     copies      c px pa   y | c px pa            y | ...
 *     computes       a, z     | state | h and out    | a, z
 */
#include "chunk_stream.cuh"
#include "rglru_steps.cuh"

/* Blocks. A fourth would leave each thread 64 registers, and was slower. */
constexpr int STREAMS_PER_SM = 3;

template <typename E, int V> struct stream_smem {
    tensor_rows<E, CHUNK, WARP * V> c, px, pa, y;
    float plus[2][V][WARP];
    chunk_place place[PLACES];
};

/* The inputs of the gates: a group of copies */
template <typename E, int V>
static __device__ __forceinline__ void fetch_gates(
    stream_smem<E, V> &x, const rglru_call<E> &call, const chain &link, chunk_place to)
{
    int row = threadIdx.y * STEPS, t0 = to.chunk * CHUNK + row, T = call.T, C = call.C;
    int channel = to.tile * link.tile;
    size_t start = (size_t)to.b * T * C;
    if (to.chunk < link.chunks) {
        fetch_rows<STEPS>(x.c, row, call.c + start, C, t0, T, channel, C);
        fetch_rows<STEPS>(x.px, row, call.px + start, C, t0, T, channel, C);
        fetch_rows<STEPS>(x.pa, row, call.pa + start, C, t0, T, channel, C);
    }
    cp_async_commit();
}

/* The side branch, which is needed last: another group */
template <typename E, int V>
static __device__ __forceinline__ void fetch_y(
    stream_smem<E, V> &x, const rglru_call<E> &call, const chain &link, chunk_place to)
{
    int row = threadIdx.y * STEPS, t0 = to.chunk * CHUNK + row, ld = call.ldy;
    if (call.y && to.chunk < link.chunks)
        fetch_rows<STEPS>(
            x.y, row, call.y + (size_t)to.b * call.T * ld, ld, t0, call.T,
            to.tile * link.tile, call.C);
    cp_async_commit();
}

/* This lane's part of a tensor's rows of this warp */
template <typename E, int ROWS, int TILE>
static __device__ __forceinline__ void
read_rows(raw<E, TILE / WARP> (&to)[STEPS], const tensor_rows<E, ROWS, TILE> &from)
{
    constexpr int V = TILE / WARP;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        to[s] = load_raw<E, V>(from.row[threadIdx.y * STEPS + s] + threadIdx.x * V);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, STREAMS_PER_SM)
    forward_stream(rglru_call<E> call, chain link)
{
    extern __shared__ uint4 memory[];
    stream_smem<E, V> &x = *(stream_smem<E, V> *)memory;
    int lane = threadIdx.x, warp = threadIdx.y;
    bool claims = lane == 0 && warp == 0;
    begin_stream(x.place, link);
    fetch_gates(x, call, link, x.place[0]);
    fetch_y(x, call, link, x.place[0]);
    if (warp < V)
        x.plus[0][warp][lane] = softplus(a_param_of<V>(call.a_param, link, x.place[0]));
    __syncthreads();  // plus is visible
#pragma unroll 1
    for (int i = 0;; i++) {
        chunk_place at = x.place[i % PLACES], next = x.place[(i + 1) % PLACES];
        if (at.chunk >= link.chunks) break;
        int t0 = at.chunk * CHUNK + warp * STEPS;
        int channel = at.tile * link.tile + lane * V;
        int steps = channel < call.C ? min(call.T - t0, STEPS) : 0;
        size_t token = (size_t)at.b * call.T + t0;
        // early, as an atomic operation takes as long as a load
        unsigned number = claims ? claim_number(link) : 0;
        float a_param = a_param_of<V>(call.a_param, link, next);
        float a[STEPS][V], z[STEPS][V], A[V], H[V], h[V], plus[V];
        raw<E, V> c[STEPS], px[STEPS], pa[STEPS], y[STEPS];
        unsigned starts = document_starts<STEPS>(call.pos, token, t0, steps);
#pragma unroll
        for (int v = 0; v < V; v++)
            plus[v] = x.plus[i % 2][v][lane];
        cp_async_wait<1>();  // all but y
        __syncwarp();        // what the lanes have copied is visible to the warp
        read_rows(c, x.c), read_rows(px, x.px), read_rows(pa, x.pa);
        gates_of_steps<E, V>(a, z, c, px, pa, plus, starts, STEPS);
        __syncwarp();  // every lane has read its rows
        fetch_gates(x, call, link, next);
        if (warp < V) x.plus[(i + 1) % 2][warp][lane] = softplus(a_param);
        if (claims) x.place[(i + 2) % PLACES] = place_of(link, number);
        join_steps(A, H, a, z, STEPS);
        bool fresh = call.pos ? call.pos[(size_t)at.b * call.T] == 0 : true;
        const float *before = fresh ? NULL : call.state;
        carry_in<V, WARPS_PER_BLOCK>(h, A, H, link, at, warp, before);
        cp_async_wait<1>();  // y
        __syncwarp();
        at = x.place[i % PLACES];  // again: fewer registers than to keep what follows
        t0 = at.chunk * CHUNK + warp * STEPS;
        channel = at.tile * link.tile + lane * V;
        steps = channel < call.C ? min(call.T - t0, STEPS) : 0;
        token = (size_t)at.b * call.T + t0;
        store_state<E>(call, a, z, h, at.b, channel, t0, steps);
        if (call.y) read_rows(y, x.y);
        if (steps == STEPS && call.C <= NEAR_LD)
            store_steps<E, V, true>(call, a, z, h, y, token, channel, STEPS);
        else
            store_steps<E, V, false>(call, a, z, h, y, token, channel, steps);
        __syncwarp();
        fetch_y(x, call, link, x.place[(i + 1) % PLACES]);
    }
}

/* false: take forward_chunks */
template <typename E, int V>
static bool launch_stream(void *workspace, rglru_call<E> call, cudaStream_t stream)
{
    int B = call.B, T = call.T, C = call.C;
    if constexpr (sizeof(E) == 2 && V * sizeof(E) == 4) {
        if (!streams(
                B, T, C, CHUNK, WARP * V, STREAMS_PER_SM, sizeof(E),
                call.y ? call.ldy : 0, call.c, call.px, call.pa, call.y))
            return false;
        chain link = make_chain(workspace, B, T, C, CHUNK, WARP * V, stream);
        int smem = sizeof(stream_smem<E, V>), blocks = STREAMS_PER_SM * sm_count();
        auto kernel = forward_stream<E, V>;
        allow_smem(kernel, smem);
        kernel<<<blocks, dim3(WARP, WARPS_PER_BLOCK), smem, stream>>>(call, link);
        return true;
    }
    return false;
}
// END SOLUTION
#endif
