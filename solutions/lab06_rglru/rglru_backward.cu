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
//>  * first, so da_param is the sum of one thread, always in the same order. */
//> template <typename E> static __global__ void backward_rows(rglru_back_call<E> call)
//> {
//>     int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
//>     if (c >= call.C) return;
//>     // TODO(06.5): for every row, back = 0; for every step, from the last to the first:
//>     // TODO(06.5): gx, ga, log_a, a, q and m again, as in the forward pass. 6 lines.
//>     // TODO(06.5): dh = dout gelu(y), dy = dout h gelu'(y); without y dh = dout. 4 lines.
//>     // TODO(06.5): dz = dh + back; da = dz h[t-1], which is 0 at t = 0. 2 lines.
//>     // TODO(06.5): dc, dpx, dlog_a, dpa as in 06.3. About 6 lines.
//>     // TODO(06.5): back = a dz. 1 line.
//>     // TODO(06.5): da_param, once, after all rows. 1 line.
//> }
/* Blocks, warps and lanes share the work as in rglru.cu, but chunk 0 is the last of a
 * row. All outputs of a step except dy are dz times a factor that does not depend on dz.
 * These factors stay in registers until dz is known. */
#include "cluster_walk.cuh"

constexpr int WARPS_PER_BLOCK = 8;
constexpr int STEPS = 4;  // per warp: their loads are all in flight together
constexpr int CHUNK = WARPS_PER_BLOCK * STEPS;
/* With a 16-bit type a lane has two channels, whose slopes need more registers. */
template <typename E> constexpr int BLOCKS_PER_SM = sizeof(E) == 2 ? 3 : 4;
constexpr int WALKS_PER_SM = 3;

/* One step of V channels: dc = dz to_c and so on; da_param is the sum of dz to_param. */
template <int V> struct slopes {
    float a[V], dh[V], to_c[V], to_px[V], to_pa[V], to_param[V];
};

/* a, where no document starts */
static __device__ __forceinline__ float decay(float ga, float plus)
{
    return fast_exp2(LOG2_E * plus * (-8.0f * ga));
}

/* The factors of dz for channel v. plus = softplus(a_param); before = h[t-1]; ga =
 * sigmoid(pa); a: 0 at the start of a document, where a and m are constants, 0 and 1 */
template <int V>
static __device__ __forceinline__ void gate_slopes(
    slopes<V> &d, int v, float dh, float c, float px, float ga, float a, float before,
    float plus, bool first)
{
    float gx = sigmoid(px), scale = -8.0f * ga;
    float q = one_minus_square(LOG2_E * plus * scale, a);
    float inverse = fast_rsqrt(fmaxf(q, 1e-37f));    // 1 / m
    float bounded = fminf(0.5f * inverse, 1000.0f);  // the slope of the root
    float to_c = (first ? 1.0f : q * inverse) * gx;
    float to_param = scale * a * (before - 2.0f * a * gx * c * bounded);
    d.a[v] = a;
    d.dh[v] = dh;
    d.to_c[v] = to_c;
    d.to_px[v] = to_c * c * (1.0f - gx);
    d.to_param[v] = to_param;
    d.to_pa[v] = to_param * plus * (1.0f - ga);
}

/* dh = dout gelu(y), in place of dout; stores dy = dout h gelu'(y). */
template <typename E, int V>
static __device__ __forceinline__ void
side_slopes(E *dy, float dh[V], const raw<E, V> &y, const float h[V])
{
    float ys[V], slope[V];
    to_float<E, V>(ys, y);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float s = gelu_sigmoid(ys[v]);
        slope[v] = dh[v] * h[v] * (s + ys[v] * s * (1.0f - s) * gelu_inner_slope(ys[v]));
        dh[v] *= ys[v] * s;
    }
    store_float<V>(dy, slope);
}

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
    constexpr int V = BYTES_PER_LANE / sizeof(E);
    int B = call.B, C = call.C;
    size_t blocks = (size_t)B * (C / (WARP * V)) * WALKERS;
    if (!walks(B, call.T, C, CHUNK, WARP * V, call.ldy) ||
        blocks > (size_t)sm_count() * WALKS_PER_SM)
        return false;
    launch_walk<V, WARPS_PER_BLOCK>(backward_walk<E, V>, B, C, 0, stream, partial, call);
    add_partial_sums({{call.da_param}, {(size_t)C}}, partial, WALKERS * B, stream);
    return true;
}

#include "chunk_stream.cuh"

#ifndef STREAM_PER_SM
#define STREAM_PER_SM 3
#endif
#ifndef STREAM_STEPS_
#define STREAM_STEPS_ 8
#endif
constexpr int STREAM_STEPS = STREAM_STEPS_, STREAM_CHUNK = WARPS_PER_BLOCK * STREAM_STEPS;

template <typename E, int V> struct stream_smem {
    tensor_rows<E, STREAM_CHUNK, WARP * V> dout, c, px, pa, y;
    tensor_rows<float, STREAM_CHUNK + WARPS_PER_BLOCK, WARP * V> h;  // and those before
    float plus[2][V][WARP], sums[2][WARPS_PER_BLOCK][V][WARP];
    chunk_place place[PLACES];
};

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, STREAM_PER_SM)
    backward_stream(float *partial, rglru_back_call<E> call, chain link)
{
    extern __shared__ uint4 memory[];
    stream_smem<E, V> &x = *(stream_smem<E, V> *)memory;
    constexpr int STEPS = STREAM_STEPS;
    int lane = threadIdx.x, warp = threadIdx.y, row0 = warp * STEPS, h0 = warp * (STEPS + 1);
    int T = call.T, C = call.C;
    bool claims = lane == 0 && warp == 0;
    auto first_step = [&](chunk_place at) {
        return (link.chunks - 1 - at.chunk) * STREAM_CHUNK + row0;
    };
    // what the first half of a step needs alone, and the rest
    auto fetch_first = [&](chunk_place to) {
        int t0 = first_step(to), channel = to.tile * link.tile;
        size_t start = (size_t)to.b * T * C, y = (size_t)to.b * T * call.ldy;
        if (to.chunk < link.chunks) {
            fetch_rows<STEPS>(x.dout, row0, call.dout + start, C, t0, T, channel, C);
            fetch_rows<STEPS>(x.pa, row0, call.pa + start, C, t0, T, channel, C);
            if (call.y)
                fetch_rows<STEPS>(x.y, row0, call.y + y, call.ldy, t0, T, channel, C);
        }
    };
    auto fetch_rest = [&](chunk_place to) {
        int t0 = first_step(to), channel = to.tile * link.tile;
        size_t start = (size_t)to.b * T * C;
        bool exists = to.chunk < link.chunks;
        if (exists)
            fetch_rows<STEPS + 1>(x.h, h0, call.h + start, C, t0 - 1, T, channel, C);
        cp_async_commit();
        if (exists) {
            fetch_rows<STEPS>(x.c, row0, call.c + start, C, t0, T, channel, C);
            fetch_rows<STEPS>(x.px, row0, call.px + start, C, t0, T, channel, C);
        }
        cp_async_commit();
    };
    auto a_param_of = [&](chunk_place to) {
        int channel = to.tile * link.tile + lane * V + warp;
        return warp < V && channel < C ? (float)call.a_param[channel] : 0.0f;
    };
    // a warp for each of the V channels, after a barrier
    auto store_sums_of = [&](int i) {
        chunk_place at = x.place[i % PLACES];
        int channel = at.tile * link.tile + lane * V + warp;
        if (warp >= V || channel >= C) return;
        float all = 0.0f;
        for (int w = 0; w < WARPS_PER_BLOCK; w++)
            all += x.sums[i % 2][w][warp][lane];
        all *= sigmoid((float)call.a_param[channel]);
        partial[((size_t)at.chunk * call.B + at.b) * C + channel] = all;
    };

    begin_stream(x.place, link);
    fetch_first(x.place[0]);
    fetch_rest(x.place[0]);
    if (warp < V) x.plus[0][warp][lane] = softplus(a_param_of(x.place[0]));
    __syncthreads();  // plus is visible
    int i = 0;
#pragma unroll 1
    for (;; i++) {
        chunk_place at = x.place[i % PLACES], next = x.place[(i + 1) % PLACES];
        if (at.chunk >= link.chunks) break;
        int t0 = first_step(at), channel = at.tile * link.tile + lane * V;
        int steps = channel < C ? min(T - t0, STEPS) : 0;
        size_t token = (size_t)at.b * T + t0;
        unsigned number = claims ? claim_number(link) : 0;
        float a_param = a_param_of(next);
        unsigned starts = document_starts<STEPS>(call.pos, token, t0, steps);
        float a[STEPS][V], ga[STEPS][V], dh[STEPS][V], plus[V], A[V], H[V], back[V];
#pragma unroll
        for (int v = 0; v < V; v++)
            plus[v] = x.plus[i % 2][v][lane], A[v] = 1.0f, H[v] = 0.0f;
        cp_async_wait<1>();
        __syncwarp();  // what the lanes have copied is visible to the warp
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            float pas[V], hs[V];
            to_float<E, V>(dh[s], load_raw<E, V>(x.dout.row[row0 + s] + lane * V));
            to_float<E, V>(pas, load_raw<E, V>(x.pa.row[row0 + s] + lane * V));
            to_float<float, V>(hs, load_raw<float, V>(x.h.row[h0 + s + 1] + lane * V));
            if (call.y && s < steps)
                side_slopes<E, V>(
                    call.dy + (token + s) * call.ldy + channel, dh[s],
                    load_raw<E, V>(x.y.row[row0 + s] + lane * V), hs);
#pragma unroll
            for (int v = 0; v < V; v++) {
                ga[s][v] = sigmoid(pas[v]);
                a[s][v] = starts >> s & 1 ? 0.0f : decay(ga[s][v], plus[v]);
            }
        }
        __syncwarp();  // every lane has read
        fetch_first(next);
        cp_async_commit();
        if (warp < V) x.plus[(i + 1) % 2][warp][lane] = softplus(a_param);
        if (claims) x.place[(i + 2) % PLACES] = place_of(link, number);
#pragma unroll
        for (int v = 0; v < V; v++)
#pragma unroll
            for (int s = STEPS - 1; s >= 0; s--) {
                A[v] *= a[s][v];
                H[v] = a[s][v] * (dh[s][v] + H[v]);
            }
        carry_in<V, WARPS_PER_BLOCK>(
            back, A, H, link, at, WARPS_PER_BLOCK - 1 - warp, NULL);
        if (i > 0) store_sums_of(i - 1);
        cp_async_wait<1>();
        __syncwarp();
        float sum[V] = {};
        at = x.place[i % PLACES];
        t0 = first_step(at), channel = at.tile * link.tile + lane * V;
        steps = channel < C ? min(T - t0, STEPS) : 0;
        size_t out = ((size_t)at.b * T + t0) * C + channel;
#pragma unroll
        for (int s = STEPS - 1; s >= 0; s--) {
            float cs[V], pxs[V], hs[V], dc[V], dpx[V], dpa[V];
            slopes<V> d;
            to_float<E, V>(cs, load_raw<E, V>(x.c.row[row0 + s] + lane * V));
            to_float<E, V>(pxs, load_raw<E, V>(x.px.row[row0 + s] + lane * V));
            to_float<float, V>(hs, load_raw<float, V>(x.h.row[h0 + s] + lane * V));
#pragma unroll
            for (int v = 0; v < V; v++) {
                gate_slopes(
                    d, v, dh[s][v], cs[v], pxs[v], ga[s][v], a[s][v], hs[v], plus[v],
                    starts >> s & 1);
                float dz = dh[s][v] + back[v];
                back[v] = a[s][v] * dz;
                dc[v] = dz * d.to_c[v];
                dpx[v] = dz * d.to_px[v];
                dpa[v] = dz * d.to_pa[v];
                sum[v] += s < steps ? dz * d.to_param[v] : 0.0f;
            }
            if (s >= steps) continue;
            store_float<V>(call.dc + out + (size_t)s * C, dc);
            store_float<V>(call.dpx + out + (size_t)s * C, dpx);
            store_float<V>(call.dpa + out + (size_t)s * C, dpa);
        }
        __syncwarp();
        fetch_rest(x.place[(i + 1) % PLACES]);
#pragma unroll
        for (int v = 0; v < V; v++)
            x.sums[i % 2][warp][v][lane] = sum[v];
    }
    __syncthreads();  // the last sums are visible
    if (i > 0) store_sums_of(i - 1);
}

template <typename E, int V>
static void launch(rglru_back_call<E> call, void *workspace, cudaStream_t stream)
{
    int B = call.B, C = call.C;
#ifndef NO_STREAM
    if constexpr (V * sizeof(E) == 4 && sizeof(E) == 2) {
        chain link = {};
        link.chunks = (int)chunks_of(call.T, STREAM_CHUNK), link.B = B;
        link.tiles = (C + WARP * V - 1) / (WARP * V);
        if (streams(link, STREAM_PER_SM, sizeof(E), C, call.y ? call.ldy : 0, call.dout, call.c, call.px, call.pa, call.y, call.h)) {
            link = make_chain(workspace, B, call.T, C, STREAM_CHUNK, WARP * V, stream);
            float *partial = (float *)((char *)workspace + chain_workspace(B, call.T, C, STREAM_CHUNK));
            int smem = sizeof(stream_smem<E, V>);
            launch_pdl(backward_stream<E, V>, STREAM_PER_SM * sm_count(), dim3(WARP, WARPS_PER_BLOCK), smem, stream, partial, call, link);
            add_partial_sums({{call.da_param}, {(size_t)C}}, partial, link.chunks * B, stream);
            return;
        }
    }
#endif
    chain link = make_chain(workspace, B, call.T, C, CHUNK, WARP * V, stream);
    size_t chain_bytes = chain_workspace(B, call.T, C, CHUNK);
    float *partial = (float *)((char *)workspace + chain_bytes);
    launch_pdl(
        backward_chunks<E, V>, chain_blocks(link), dim3(WARP, WARPS_PER_BLOCK), 0, stream,
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
    //> // TODO(06.5): launch backward_rows on the stream with a thread for each channel, then
    //> // return wb_launched().
    //> (void)call, (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = BYTES_PER_LANE / sizeof(E);
    bool wide = call.C % V == 0 && (!call.y || call.ldy % V == 0) &&
                is_aligned(V * sizeof(E), call.dc, call.dpx, call.dpa, call.dy) &&
                is_aligned(V * sizeof(E), call.dout, call.c, call.px, call.pa, call.y) &&
                is_aligned(V * sizeof(float), call.h);
#ifndef STREAM_ALL
    if constexpr (sizeof(E) == 2)
        if (wide && launch_walk((float *)workspace, call, stream)) return wb_launched();
#endif
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
