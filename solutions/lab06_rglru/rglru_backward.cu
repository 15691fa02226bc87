/* rglru_backward.cu - lab 06, part 06.5, backward: the scan backwards in time and the
 * gradients of side branch and gates, in one pass. The contract is rglru.h. */
#include "cuda/vec.cuh"
#include "partial_sums.cuh"
#include "rglru_contract.cuh"
#include "rglru_tile.cuh"

// BEGIN SOLUTION 06.5 (about 35 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* A thread for each channel takes one row after another, each from its last step to its
//>  * first, so da_param is the sum of one thread, always in the same order. `-k slope` and
//>  * `-k slope_y` grade steps 1 and 2, `-k slope_docs` all three. */
//> template <typename E> static __global__ void backward_rows(rglru_back_call<E> call)
//> {
//>     int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
//>     if (c >= call.C) return;
//>     // TODO(06.5, step 1): for every row, back = 0; for every token, from the last to the
//>     // first: gx, ga, log_a, a, q and m again, as in 06.3. About 8 lines.
//>     // TODO(06.5, step 2): in step 1, dh = dout. Now, if y is not NULL, dh = dout gelu(y)
//>     // and dy = dout h gelu'(y). 4 lines.
//>     // TODO(06.5, step 1): dz = dh + back; da = dz h[t-1], with h[-1] = 0. Then dc, dpx,
//>     // dlog_a and dpa as in 06.3, and back = a dz. About 9 lines.
//>     // TODO(06.5, step 3): add s(a_param) times the sum of -8 ga dlog_a to da_param, once,
//>     // after all rows. 2 lines.
//> }
/* Blocks, warps and lanes share the work as in rglru.cu, but chunk 0 is the last of a
 * row. All outputs of a step except dy are dz times a factor that does not depend on dz.
 * These factors stay in registers until dz is known. */
#include "cluster_walk.cuh"
#include "rglru_slopes.cuh"

constexpr int STEPS = 4;  // per warp: their loads are all in flight together
constexpr int CHUNK = WARPS_PER_BLOCK * STEPS;
/* With a 16-bit type a lane has two channels, whose slopes need more registers. */
template <typename E> constexpr int BLOCKS_PER_SM = sizeof(E) == 2 ? 3 : 4;
constexpr int WALKS_PER_SM = 3;

/* The factors of dz for all steps of a lane; stores dy on the way. */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void load_steps(
    slopes<V> (&d)[STEPS], const rglru_back_call<E> &call, size_t token, int channel,
    int t0, int steps)
{
    size_t from = token * call.C + channel, from_y = token * call.ldy + channel;
    raw<E, V> dout[STEPS], c[STEPS], px[STEPS], pa[STEPS], y[STEPS];
    raw<float, V> h[STEPS + 1] = {};  // h[0] belongs to the step before
    if (t0 > 0 && steps > 0) h[0] = load_raw<float, V>(call.h + from - call.C);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + row_offset<WHOLE>(s, call.C);
        dout[s] = load_raw<E, V>(call.dout + i);
        c[s] = load_raw<E, V>(call.c + i);
        px[s] = load_raw<E, V>(call.px + i);
        pa[s] = load_raw<E, V>(call.pa + i);
        h[s + 1] = load_raw<float, V>(call.h + i);
    }
    if (call.y)
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps)
                y[s] = load_raw<E, V>(call.y + from_y + row_offset<WHOLE>(s, call.ldy));
    unsigned starts = document_starts<STEPS>(call.pos, token, t0, steps);
    float plus[V], dh[V], cs[V], pxs[V], pas[V], hs[V];
    softplus_of_tile<E, V>(plus, call.a_param, channel, call.C);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        to_float<E, V>(dh, dout[s]), to_float<float, V>(hs, h[s + 1]);
        E *dy = call.dy + from_y + row_offset<WHOLE>(s, call.ldy);
        if (call.y) side_slopes<E, V>(dy, dh, y[s], hs);
        to_float<E, V>(cs, c[s]), to_float<E, V>(pxs, px[s]);
        to_float<E, V>(pas, pa[s]), to_float<float, V>(hs, h[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            bool first = starts >> s & 1;
            float ga = sigmoid(pas[v]), a = first ? 0.0f : decay(ga, plus[v]);
            gate_slopes(d[s], v, dh[v], cs[v], pxs[v], ga, a, hs[v], plus[v], first);
        }
    }
}

/* Joins the warps' sums for da_param, of a chunk or of all chunks of a walk. partial
 * (rows, B, C) */
template <typename E, int V>
static __device__ __forceinline__ void store_sums(
    float *partial, const float (&sum)[V], const rglru_back_call<E> &call, int row,
    chunk_place at)
{
    int channel = (at.tile * WARP + threadIdx.x) * V;
    __shared__ float sums[WARPS_PER_BLOCK][V][WARP];
    for (int v = 0; v < V; v++)
        sums[threadIdx.y][v][threadIdx.x] = sum[v];
    __syncthreads();                          // every warp's sums are visible
    int v = threadIdx.y, here = channel + v;  // a warp for each of the V
    if (v >= V || here >= call.C) return;
    float all = 0.0f;
    for (int w = 0; w < WARPS_PER_BLOCK; w++)
        all += sums[w][v][threadIdx.x];
    all *= sigmoid((float)call.a_param[here]);
    partial[((size_t)row * call.B + at.b) * call.C + here] = all;
}

/* Adds to sum, for da_param. WHOLE: all steps and channels exist, so nothing is checked.
 * LINK: chain, or walk */
template <typename E, int V, bool WHOLE, typename LINK>
static __device__ __forceinline__ void backward_chunk(
    float (&sum)[V], const rglru_back_call<E> &call, LINK &link, chunk_place at)
{
    int warp = threadIdx.y, t0 = (link.chunks - 1 - at.chunk) * CHUNK + warp * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t token = (size_t)at.b * call.T + t0;

    slopes<V> d[STEPS];
    float A[V], H[V], back[V];  // back: a[t+1] dz[t+1], which is passed on
    load_steps<E, V, WHOLE>(d, call, token, channel, t0, steps);
#pragma unroll
    for (int v = 0; v < V; v++) {
        A[v] = 1.0f, H[v] = 0.0f;
#pragma unroll
        for (int s = STEPS - 1; s >= 0; s--) {
            if (s >= steps) continue;
            A[v] *= d[s].a[v];
            H[v] = d[s].a[v] * (d[s].dh[v] + H[v]);
        }
    }
    int order = WARPS_PER_BLOCK - 1 - warp;
    carry_in<V, WARPS_PER_BLOCK>(back, A, H, link, at, order, NULL);
#pragma unroll
    for (int s = STEPS - 1; s >= 0; s--) {
        if (s >= steps) continue;
        size_t i = token * call.C + channel + row_offset<WHOLE>(s, call.C);
        float dc[V], dpx[V], dpa[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            float dz = d[s].dh[v] + back[v];
            back[v] = d[s].a[v] * dz;
            dc[v] = dz * d[s].to_c[v];
            dpx[v] = dz * d[s].to_px[v];
            dpa[v] = dz * d[s].to_pa[v];
            sum[v] += dz * d[s].to_param[v];
        }
        store_float<V>(call.dc + i, dc);
        store_float<V>(call.dpx + i, dpx);
        store_float<V>(call.dpa + i, dpa);
    }
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, BLOCKS_PER_SM<E>)
    backward_chunks(float *partial, rglru_back_call<E> call, chain link)
{
    chunk_place at = claim_chunk(link);
    float sum[V] = {};
    if (is_whole<CHUNK, true>(link, at, call.T, call.C, call.ldy))
        backward_chunk<E, V, true>(sum, call, link, at);
    else
        backward_chunk<E, V, false>(sum, call, link, at);
    store_sums(partial, sum, call, at.chunk, at);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, WALKS_PER_SM)
    backward_walk(float *partial, rglru_back_call<E> call)
{
    __shared__ walk_pairs<V> shared;
    walk<V> link;
    float sum[V] = {};
    chunk_place at = begin_walk<V>(link, &shared, call.T / CHUNK, call.C, NULL);
    for (; at.chunk < link.chunks; at.chunk += WALKERS)
        backward_chunk<E, V, true>(sum, call, link, at);
    store_sums(partial, sum, call, cluster_rank(), at);
    end_walk();
}

/* On a Hopper GPU a cluster walks along the row, if all clusters run at the same time. */
template <typename E>
static bool launch_walk(float *partial, rglru_back_call<E> call, cudaStream_t stream)
{
    constexpr int V = 4 / sizeof(E);
    int B = call.B, C = call.C;
    size_t blocks = (size_t)B * (C / (WARP * V)) * WALKERS;
    if (!walks(B, call.T, C, CHUNK, WARP * V, call.ldy) ||
        blocks > (size_t)sm_count() * WALKS_PER_SM)
        return false;
    launch_walk<V, WARPS_PER_BLOCK>(backward_walk<E, V>, B, C, 0, stream, partial, call);
    add_partial_sums({{call.da_param}, {(size_t)C}}, partial, WALKERS * B, stream);
    return true;
}

#include "rglru_backward_stream.cuh"

template <typename E, int V>
static void launch(rglru_back_call<E> call, void *workspace, cudaStream_t stream)
{
    int B = call.B, C = call.C;
    if (launch_stream<E, V>(workspace, call, stream)) return;
    chain link = make_chain(workspace, B, call.T, C, CHUNK, WARP * V, stream);
    size_t chain_bytes = chain_workspace(B, call.T, C, CHUNK);
    float *partial = (float *)((char *)workspace + chain_bytes);
    backward_chunks<E, V><<<chain_blocks(link), dim3(WARP, WARPS_PER_BLOCK), 0, stream>>>(
        partial, call, link);
    add_partial_sums({{call.da_param}, {(size_t)C}}, partial, link.chunks * B, stream);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t rglru_back_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.5 (3 lines)
    //> // TODO(06.5): 0 is correct while nothing is stored there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    if (B < 1 || T < 1 || C < 1) return 0;
    size_t sums = chunks_of(T, CHUNK) * B * C * sizeof(float);  // after the chain
    return chain_workspace(B, T, C, CHUNK) + sums;
    // END SOLUTION
}

template <typename E>
static wb_status rglru_back(rglru_back_call<E> call, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.5 (10 lines)
    //> // TODO(06.5, step 1): launch backward_rows on the stream with a thread for each
    //> // channel, then return wb_launched().
    //> (void)call, (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = BYTES_PER_LANE / sizeof(E);
    bool wide = call.C % V == 0 && (!call.y || call.ldy % V == 0) &&
                is_aligned(V * sizeof(E), call.dc, call.dpx, call.dpa, call.dy) &&
                is_aligned(V * sizeof(E), call.dout, call.c, call.px, call.pa, call.y) &&
                is_aligned(V * sizeof(float), call.h);
    if constexpr (sizeof(E) == 2)
        if (wide && launch_walk((float *)workspace, call, stream)) return wb_launched();
    if (wide)
        launch<E, V>(call, workspace, stream);
    else
        launch<E, 1>(call, workspace, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_RGLRU_BACKWARD(float, f32)
DEFINE_RGLRU_BACKWARD(wb_f16, f16)
DEFINE_RGLRU_BACKWARD(wb_bf16, bf16)
