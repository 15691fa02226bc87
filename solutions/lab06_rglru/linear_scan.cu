/* linear_scan.cu - lab 06.4: h[t] = a[t] h[t-1] + z[t]. The contract is rglru.h. */
#include "lanes.cuh"
#include "lookback.cuh"
#include "rglru.h"

template <typename E> struct forward_call {
    E *h;
    float *h_last;
    const E *a, *z;
    const float *h0;
    int T, C;
};

template <typename E> struct backward_call {
    E *da, *dz;
    float *dh0;
    const E *dh;
    const float *dh_last;
    const E *a, *h;
    const float *h0;
    int T, C;
};

// BEGIN SOLUTION 06.4 (about 20 lines in a first version)
//> enum { THREADS = 128 };  // of a block
//>
//> /* A thread for each row and channel walks through time. That is enough to pass; the guide
//>  * shows the way to a fast kernel, for which lanes.cuh and lookback.cuh are given. */
//> template <typename E> static __global__ void forward_rows(forward_call<E> call, int B)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)B * call.C) return;
//>     // TODO(06.4): row b and channel c of i, and where a, z and h have step 0. Step t lies
//>     // t*C elements on: a size_t. About 2 lines.
//>     // TODO(06.4): the state, a float whatever E is: h0[b,c], or 0 if h0 is NULL. 1 line.
//>     // TODO(06.4): for every step: read a and z, state = a state + z, store h. 4 lines.
//>     // TODO(06.4): h_last, unless it is NULL. 1 line.
//> }
//>
//> template <typename E> static __global__ void backward_rows(backward_call<E> call, int B)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)B * call.C) return;
//>     // TODO(06.4): what comes back to step T-1: dh_last, or 0. 1 line.
//>     // TODO(06.4): from the last step to the first: dz = dh + what comes back, da = dz
//>     // h[t-1] (h0 at t = 0), and a dz is what comes back to step t-1. About 6 lines.
//>     // TODO(06.4): dh0, unless it is NULL. 1 line.
//> }
/* A block takes a chunk of time and a tile of channels, a warp some steps of it and a lane
 * V channels: their inputs stay in registers until the state before them is known, so every
 * tensor is read or written once. How blocks hand the state on: lookback.cuh. */

constexpr int WARPS = 8;   // of a block
constexpr int STEPS = 16;  // of a warp, forward: their loads are all under way at once
constexpr int BACK = 8;    // of a warp, backward
constexpr int BYTES = 4;   // of a lane in one access: a warp reads 128 in a stretch

/* WHOLE: all steps and channels exist, and nothing asks whether they do */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void
forward_chunk(const forward_call<E> &call, const chain &link, place at)
{
    int t0 = (at.chunk * WARPS + threadIdx.y) * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t from = ((size_t)at.b * call.T + t0) * call.C + channel;

    lanes<E, V> a[STEPS], z[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        a[s] = load<E, V>(call.a + from + rows_on<WHOLE>(s, call.C));
        z[s] = load<E, V>(call.z + from + rows_on<WHOLE>(s, call.C));
    }
    float A[V], H[V], h[V], as[V], zs[V];
#pragma unroll
    for (int v = 0; v < V; v++)
        A[v] = 1.0f, H[v] = 0.0f;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        widen<V>(as, a[s]), widen<V>(zs, z[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            A[v] *= as[v];
            H[v] = as[v] * H[v] + zs[v];
        }
    }
    carry_in<V, WARPS>(h, A, H, link, at, threadIdx.y, call.h0);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        widen<V>(as, a[s]), widen<V>(zs, z[s]);
#pragma unroll
        for (int v = 0; v < V; v++)
            h[v] = as[v] * h[v] + zs[v];  // float; only what is stored is rounded
        store<V>(call.h + from + rows_on<WHOLE>(s, call.C), h);
    }
    if (call.h_last && steps > 0 && t0 + steps == call.T)
        for (int v = 0; v < V; v++)
            call.h_last[(size_t)at.b * call.C + channel + v] = h[v];
}

/* Chunk 0 is the last of a row, and what is handed on is back = a[t] dz[t]. */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void
backward_chunk(const backward_call<E> &call, const chain &link, place at)
{
    int t0 = ((link.chunks - 1 - at.chunk) * WARPS + threadIdx.y) * BACK;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? BACK : channel < call.C ? min(call.T - t0, BACK) : 0;
    size_t from = ((size_t)at.b * call.T + t0) * call.C + channel;
    size_t row = (size_t)at.b * call.C + channel;

    lanes<E, V> a[BACK], dh[BACK], before[BACK];  // before: h[t-1]
    float h0[V], A[V], H[V], back[V], as[V], ds[V], hs[V];
#pragma unroll
    for (int s = 0; s < BACK; s++) {
        if (s >= steps) continue;
        a[s] = load<E, V>(call.a + from + rows_on<WHOLE>(s, call.C));
        dh[s] = load<E, V>(call.dh + from + rows_on<WHOLE>(s, call.C));
        if (t0 + s > 0)
            before[s] = load<E, V>(call.h + from + rows_on<WHOLE>(s, call.C) - call.C);
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        A[v] = 1.0f, H[v] = 0.0f;
        h0[v] = t0 == 0 && steps > 0 && call.h0 ? call.h0[row + v] : 0.0f;
    }
#pragma unroll
    for (int s = BACK - 1; s >= 0; s--) {
        if (s >= steps) continue;
        widen<V>(as, a[s]), widen<V>(ds, dh[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            A[v] *= as[v];
            H[v] = as[v] * (ds[v] + H[v]);
        }
    }
    int order = WARPS - 1 - threadIdx.y;
    carry_in<V, WARPS>(back, A, H, link, at, order, call.dh_last);
#pragma unroll
    for (int s = BACK - 1; s >= 0; s--) {
        if (s >= steps) continue;
        float da[V];
        widen<V>(as, a[s]), widen<V>(ds, dh[s]), widen<V>(hs, before[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            ds[v] += back[v];  // now dz
            back[v] = as[v] * ds[v];
            da[v] = ds[v] * (t0 + s > 0 ? hs[v] : h0[v]);
        }
        store<V>(call.dz + from + rows_on<WHOLE>(s, call.C), ds);
        store<V>(call.da + from + rows_on<WHOLE>(s, call.C), da);
    }
    if (call.dh0 && t0 == 0 && steps > 0)
        for (int v = 0; v < V; v++)
            call.dh0[row + v] = back[v];
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS *WARP)
    forward_chunks(forward_call<E> call, chain link)
{
    place at = take_place(link);
    bool whole = call.T - at.chunk * (WARPS * STEPS) >= WARPS * STEPS &&
                 call.C - at.tile * link.tile >= link.tile && call.C <= NEAR_LD;
    if (whole)
        forward_chunk<E, V, true>(call, link, at);
    else
        forward_chunk<E, V, false>(call, link, at);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS *WARP)
    backward_chunks(backward_call<E> call, chain link)
{
    place at = take_place(link);
    bool whole = (call.T % (WARPS * BACK) == 0 || at.chunk > 0) &&  // 0: the last in time
                 call.C - at.tile * link.tile >= link.tile && call.C <= NEAR_LD;
    if (whole)
        backward_chunk<E, V, true>(call, link, at);
    else
        backward_chunk<E, V, false>(call, link, at);
}
// END SOLUTION

/* Bytes of workspace */
static size_t forward_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.4 (1 line)
    //> // TODO(06.4): 0 is right as long as nothing is kept there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, WARPS * STEPS);
    // END SOLUTION
}

static size_t backward_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.4 (1 line)
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, WARPS * BACK);
    // END SOLUTION
}

// BEGIN SOLUTION 06.4 (nothing in a first version)
template <typename E, int V>
static void launch(forward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    chain link =
        make_chain(workspace, B, call.T, call.C, WARPS * STEPS, WARP * V, stream);
    forward_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS), 0, stream>>>(call, link);
}

template <typename E, int V>
static void launch(backward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    chain link = make_chain(workspace, B, call.T, call.C, WARPS * BACK, WARP * V, stream);
    backward_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS), 0, stream>>>(call, link);
}

/* BYTES of a lane if every row allows it; `addresses`: those of all tensors of E or-ed */
template <typename E, typename Call>
static wb_status
launch_wide(Call call, size_t addresses, int B, void *workspace, cudaStream_t stream)
{
    constexpr int V = BYTES / sizeof(E);
    if (addresses % BYTES == 0 && call.C % V == 0)
        launch<E, V>(call, B, workspace, stream);
    else
        launch<E, 1>(call, B, workspace, stream);
    return wb_launched();
}
// END SOLUTION

template <typename E>
static wb_status
forward(forward_call<E> call, int B, void *workspace, size_t bytes, cudaStream_t stream)
{
    if (B < 0 || call.T < 0 || call.C < 0) return WB_BAD_SHAPE;
    if (B == 0 || call.T == 0 || call.C == 0) return WB_OK;
    if (!call.h || !call.a || !call.z) return WB_BAD_SHAPE;
    if (bytes < forward_workspace(B, call.T, call.C)) return WB_NO_SPACE;
    // BEGIN SOLUTION 06.4 (2 lines)
    //> // TODO(06.4): launch forward_rows on the stream with a thread for each of B C, then
    //> // return wb_launched().
    //> (void)workspace, (void)stream;
    //> return WB_TODO;
    size_t addresses = (size_t)call.h | (size_t)call.a | (size_t)call.z;
    return launch_wide<E>(call, addresses, B, workspace, stream);
    // END SOLUTION
}

template <typename E>
static wb_status
backward(backward_call<E> call, int B, void *workspace, size_t bytes, cudaStream_t stream)
{
    if (B < 0 || call.T < 0 || call.C < 0) return WB_BAD_SHAPE;
    if (B == 0 || call.T == 0 || call.C == 0) return WB_OK;
    if (!call.da || !call.dz || !call.dh || !call.a || !call.h) return WB_BAD_SHAPE;
    if (bytes < backward_workspace(B, call.T, call.C)) return WB_NO_SPACE;
    // BEGIN SOLUTION 06.4 (2 lines)
    //> // TODO(06.4): launch backward_rows, then return wb_launched().
    //> (void)workspace, (void)stream;
    //> return WB_TODO;
    size_t addresses = (size_t)call.da | (size_t)call.dz | (size_t)call.dh |
                       (size_t)call.a | (size_t)call.h;
    return launch_wide<E>(call, addresses, B, workspace, stream);
    // END SOLUTION
}

#define DEFINE(E, e)                                                                     \
    wb_status linear_scan_forward_##e(                                                   \
        E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T,      \
        int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        forward_call<E> call = {h, h_last, a, z, h0, T, C};                              \
        return forward<E>(call, B, workspace, workspace_bytes, stream);                  \
    }                                                                                    \
    size_t linear_scan_forward_workspace_##e(int B, int T, int C)                        \
    {                                                                                    \
        return forward_workspace(B, T, C);                                               \
    }                                                                                    \
    wb_status linear_scan_backward_##e(                                                  \
        E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a,         \
        const E *h, const float *h0, int B, int T, int C, void *workspace,               \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        backward_call<E> call = {da, dz, dh0, dh, dh_last, a, h, h0, T, C};              \
        return backward<E>(call, B, workspace, workspace_bytes, stream);                 \
    }                                                                                    \
    size_t linear_scan_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return backward_workspace(B, T, C);                                              \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
