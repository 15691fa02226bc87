/* linear_scan.cu - lab 06, part 06.4: h[t] = a[t] h[t-1] + z[t]. The contract is rglru.h;
 * the backward pass is in linear_scan_backward.cu. */
#include "cuda/vec.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.4 (about 10 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* A thread for each row and channel walks through time. That is enough to pass; the guide
//>  * shows the way to a fast kernel, for which lookback.cuh is given. */
//> template <typename E> static __global__ void forward_rows(scan_call<E> call)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)call.B * call.C) return;
//>     // TODO(06.4): row b and channel c of i, and the offset of step 0 in a, z and h.
//>     // Step t is t*C elements further: a size_t. About 2 lines.
//>     // TODO(06.4): the state, a float whatever E is: h0[b,c], or 0 if h0 is NULL. 1 line.
//>     // TODO(06.4): for every step: read a and z, state = a state + z, store h. 4 lines.
//>     // TODO(06.4): h_last, unless it is NULL. 1 line.
//> }
/* A block takes a chunk of time and a tile of channels, a warp some steps of it, a lane V
 * channels. The inputs stay in registers until the state before them is known, so every
 * tensor is read or written once. How blocks pass the state on: lookback.cuh, and on a
 * Hopper GPU cluster_walk.cuh. */
#include "cluster_walk.cuh"

constexpr int WARPS_PER_BLOCK = 8;
constexpr int STEPS = 16;      // per warp: their loads are all in flight together
constexpr int LANE_BYTES = 4;  // per access: a warp reads 128 contiguous bytes
constexpr int CHUNK = WARPS_PER_BLOCK * STEPS;
constexpr int WALKS_PER_SM = 3;  // blocks of a walk

/* WHOLE: all steps and channels exist, so nothing is checked. LINK: chain, or walk */
template <typename E, int V, bool WHOLE, typename LINK>
static __device__ __forceinline__ void
scan_chunk(const scan_call<E> &call, LINK &link, chunk_place at)
{
    int t0 = at.chunk * CHUNK + threadIdx.y * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t from = ((size_t)at.b * call.T + t0) * call.C + channel;

    raw<E, V> a[STEPS], z[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        a[s] = load_raw<E, V>(call.a + from + row_offset<WHOLE>(s, call.C));
        z[s] = load_raw<E, V>(call.z + from + row_offset<WHOLE>(s, call.C));
    }
    float A[V], H[V], h[V], as[V], zs[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        A[v] = 1.0f, H[v] = 0.0f;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        to_float<E, V>(as, a[s]), to_float<E, V>(zs, z[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            A[v] *= as[v];
            H[v] = as[v] * H[v] + zs[v];
        }
    }
    carry_in<V, WARPS_PER_BLOCK>(h, A, H, link, at, threadIdx.y, call.h0);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        to_float<E, V>(as, a[s]), to_float<E, V>(zs, z[s]);
#pragma unroll
        for (int v = 0; v < V; v++)
            h[v] = as[v] * h[v] + zs[v];  // float; only what is stored is rounded
        store_float<V>(call.h + from + row_offset<WHOLE>(s, call.C), h);
    }
    if (call.h_last && steps > 0 && t0 + steps == call.T)
        for (int v = 0; v < V; v++)
            call.h_last[(size_t)at.b * call.C + channel + v] = h[v];
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK * WARP)
    scan_chunks(scan_call<E> call, chain link)
{
    chunk_place at = claim_chunk(link);
    if (is_whole<CHUNK, false>(link, at, call.T, call.C, call.C))
        scan_chunk<E, V, true>(call, link, at);
    else
        scan_chunk<E, V, false>(call, link, at);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, WALKS_PER_SM)
    scan_walk(scan_call<E> call)
{
    __shared__ walk_pairs<V> shared;
    walk<V> link;
    chunk_place at = begin_walk<V>(link, &shared, call.T / CHUNK, call.C, call.h0);
    for (; at.chunk < link.chunks; at.chunk += WALKERS)
        scan_chunk<E, V, true>(call, link, at);
    end_walk();
}

template <typename E, int V>
static void launch(scan_call<E> call, void *workspace, cudaStream_t stream)
{
    if constexpr (V > 1)  // 16 bits
        if (walks(call.B, call.T, call.C, CHUNK, WARP * V, call.C))
            return launch_walk<V, WARPS_PER_BLOCK>(
                scan_walk<E, V>, call.B, call.C, 0, stream, call);
    chain link = make_chain(workspace, call.B, call.T, call.C, CHUNK, WARP * V, stream);
    scan_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS_PER_BLOCK), 0, stream>>>(call, link);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t linear_scan_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.4 (1 line)
    //> // TODO(06.4): 0 is correct while nothing is stored there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, CHUNK);
    // END SOLUTION
}

template <typename E>
static wb_status linear_scan(scan_call<E> call, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.4 (5 lines)
    //> // TODO(06.4): launch forward_rows on the stream with a thread for each of B C, then
    //> // return wb_launched().
    //> (void)call, (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = LANE_BYTES / sizeof(E);
    if (call.C % V == 0 && is_aligned(LANE_BYTES, call.h, call.a, call.z))
        launch<E, V>(call, workspace, stream);
    else
        launch<E, 1>(call, workspace, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_LINEAR_SCAN_FORWARD(float, f32)
DEFINE_LINEAR_SCAN_FORWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_FORWARD(wb_bf16, bf16)
