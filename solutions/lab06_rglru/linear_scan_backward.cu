/* linear_scan_backward.cu - lab 06, part 06.4, backward: dz[t] = dh[t] + a[t+1] dz[t+1].
 * The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.4 (about 10 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* A thread for each row and channel walks from the last step to the first. */
//> template <typename E> static __global__ void backward_rows(scan_back_call<E> call)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)call.B * call.C) return;
//>     // TODO(06.4): what comes back to step T-1: dh_last, or 0. 1 line.
//>     // TODO(06.4): from the last step to the first: dz = dh + what comes back, da = dz
//>     // h[t-1] (h0 at t = 0), and a dz is what comes back to step t-1. About 6 lines.
//>     // TODO(06.4): dh0, unless it is NULL. 1 line.
//> }
/* Blocks, warps and lanes share the work as in linear_scan.cu, but chunk 0 is the last of
 * a row, and what blocks pass on is back = a[t] dz[t]. */
#include "cluster_walk.cuh"

constexpr int WARPS_PER_BLOCK = 8;
constexpr int STEPS = 8;       // per warp: their loads are all in flight together
constexpr int LANE_BYTES = 4;  // per access: a warp reads 128 contiguous bytes
constexpr int CHUNK = WARPS_PER_BLOCK * STEPS;
constexpr int WALKS_PER_SM = 3;  // blocks of a walk

/* WHOLE: all steps and channels exist, so nothing is checked. LINK: chain, or walk */
template <typename E, int V, bool WHOLE, typename LINK>
static __device__ __forceinline__ void
scan_chunk(const scan_back_call<E> &call, LINK &link, chunk_place at)
{
    int warp = threadIdx.y, t0 = (link.chunks - 1 - at.chunk) * CHUNK + warp * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t from = ((size_t)at.b * call.T + t0) * call.C + channel;
    size_t row = (size_t)at.b * call.C + channel;

    raw<E, V> a[STEPS], dh[STEPS], before[STEPS];  // before: h[t-1]
    float h0[V], A[V], H[V], back[V], as[V], ds[V], hs[V];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + row_offset<WHOLE>(s, call.C);
        a[s] = load_raw<E, V>(call.a + i);
        dh[s] = load_raw<E, V>(call.dh + i);
        if (t0 + s > 0) before[s] = load_raw<E, V>(call.h + i - call.C);
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        A[v] = 1.0f, H[v] = 0.0f;
        h0[v] = t0 == 0 && steps > 0 && call.h0 ? call.h0[row + v] : 0.0f;
    }
#pragma unroll
    for (int s = STEPS - 1; s >= 0; s--) {
        if (s >= steps) continue;
        to_float<E, V>(as, a[s]), to_float<E, V>(ds, dh[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            A[v] *= as[v];
            H[v] = as[v] * (ds[v] + H[v]);
        }
    }
    int order = WARPS_PER_BLOCK - 1 - warp;
    carry_in<V, WARPS_PER_BLOCK>(back, A, H, link, at, order, call.dh_last);
#pragma unroll
    for (int s = STEPS - 1; s >= 0; s--) {
        if (s >= steps) continue;
        float da[V];
        to_float<E, V>(as, a[s]), to_float<E, V>(ds, dh[s]);
        to_float<E, V>(hs, before[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            ds[v] += back[v];  // now dz
            back[v] = as[v] * ds[v];
            da[v] = ds[v] * (t0 + s > 0 ? hs[v] : h0[v]);
        }
        store_float<V>(call.dz + from + row_offset<WHOLE>(s, call.C), ds);
        store_float<V>(call.da + from + row_offset<WHOLE>(s, call.C), da);
    }
    if (call.dh0 && t0 == 0 && steps > 0)
        for (int v = 0; v < V; v++)
            call.dh0[row + v] = back[v];
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK * WARP)
    scan_chunks(scan_back_call<E> call, chain link)
{
    chunk_place at = claim_chunk(link);
    if (is_whole<CHUNK, true>(link, at, call.T, call.C, call.C))
        scan_chunk<E, V, true>(call, link, at);
    else
        scan_chunk<E, V, false>(call, link, at);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, WALKS_PER_SM)
    scan_walk(scan_back_call<E> call)
{
    __shared__ walk_pairs<V> shared;
    walk<V> link;
    chunk_place at = begin_walk<V>(link, &shared, call.T / CHUNK, call.C, call.dh_last);
    for (; at.chunk < link.chunks; at.chunk += WALKERS)
        scan_chunk<E, V, true>(call, link, at);
    end_walk();
}

template <typename E, int V>
static void launch(scan_back_call<E> call, void *workspace, cudaStream_t stream)
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
template <typename E> static size_t linear_scan_back_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.4 (1 line)
    //> // TODO(06.4): 0 is correct while nothing is stored there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, CHUNK);
    // END SOLUTION
}

template <typename E>
static wb_status
linear_scan_back(scan_back_call<E> call, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.4 (6 lines)
    //> // TODO(06.4): launch backward_rows, then return wb_launched().
    //> (void)call, (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = LANE_BYTES / sizeof(E);
    if (call.C % V == 0 &&
        is_aligned(LANE_BYTES, call.da, call.dz, call.dh, call.a, call.h))
        launch<E, V>(call, workspace, stream);
    else
        launch<E, 1>(call, workspace, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_LINEAR_SCAN_BACKWARD(float, f32)
DEFINE_LINEAR_SCAN_BACKWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_BACKWARD(wb_bf16, bf16)
