/* rglru_backward_stream.cuh - part 06.5: code of yours for rglru_backward.cu, if you
 * like. The solution has its kernel for Hopper here.
 */
#ifndef RGLRU_BACKWARD_STREAM_CUH
#define RGLRU_BACKWARD_STREAM_CUH

// BEGIN SOLUTION 06.5 (nothing in a first version)
//> /* TODO(06.5): nothing, if rglru_backward.cu has it all. */
/* The backward pass where a block fetches its next chunk while it computes one. Until dz
 * is known, a step keeps three numbers per channel in registers, not six: a, the gate and
 * dh. The slopes are computed afterwards, from c, px and h in shared memory. So a warp
 * has twice as many steps as in backward_chunks, and half as many chunks wait for each
 * other:
 *
 *     copies      dout pa y   h   c px | dout pa y        h   c px | ...
 *     computes         first half 0    | state | second half 0     | first half 1
 */
#include "chunk_stream.cuh"
#include "rglru_slopes.cuh"

constexpr int STREAM_STEPS = 8, STREAM_CHUNK = WARPS_PER_BLOCK * STREAM_STEPS;
constexpr int STREAMS_PER_SM = 3;  // blocks

template <typename E, int V> struct stream_smem {
    tensor_rows<E, STREAM_CHUNK, WARP * V> dout, c, px, pa, y;
    tensor_rows<float, STREAM_CHUNK + WARPS_PER_BLOCK, WARP * V> h;  // see first_h_row
    float plus[2][V][WARP], sums[2][WARPS_PER_BLOCK][V][WARP];
    chunk_place place[PLACES];
};

/* What a lane keeps of its steps */
template <int V> struct kept_steps {
    float a[STREAM_STEPS][V], ga[STREAM_STEPS][V], dh[STREAM_STEPS][V], plus[V];
    unsigned starts;  // bit s: step s starts a document
};

/* Step 0 of this warp, and where its rows begin; those of h with the step before. */
static __device__ __forceinline__ int first_step(const chain &link, chunk_place at)
{
    return (link.chunks - 1 - at.chunk) * STREAM_CHUNK + threadIdx.y * STREAM_STEPS;
}
static __device__ __forceinline__ int first_row(void)
{
    return threadIdx.y * STREAM_STEPS;
}
static __device__ __forceinline__ int first_h_row(void)
{
    return threadIdx.y * (STREAM_STEPS + 1);
}

/* dout, pa and y, which only the first half needs: a group of copies */
template <typename E, int V>
static __device__ __forceinline__ void fetch_first(
    stream_smem<E, V> &x, const rglru_back_call<E> &call, const chain &link,
    chunk_place to)
{
    constexpr int S = STREAM_STEPS;
    int t0 = first_step(link, to), row = first_row(), T = call.T, C = call.C;
    int channel = to.tile * link.tile;
    size_t start = (size_t)to.b * T * C, start_y = (size_t)to.b * T * call.ldy;
    if (to.chunk < link.chunks) {
        fetch_rows<S>(x.dout, row, call.dout + start, C, t0, T, channel, C);
        fetch_rows<S>(x.pa, row, call.pa + start, C, t0, T, channel, C);
        if (call.y)
            fetch_rows<S>(x.y, row, call.y + start_y, call.ldy, t0, T, channel, C);
    }
    cp_async_commit();
}

/* h, then c and px: two groups */
template <typename E, int V>
static __device__ __forceinline__ void fetch_rest(
    stream_smem<E, V> &x, const rglru_back_call<E> &call, const chain &link,
    chunk_place to)
{
    constexpr int S = STREAM_STEPS;
    int t0 = first_step(link, to), row = first_row(), T = call.T, C = call.C;
    int channel = to.tile * link.tile;
    size_t start = (size_t)to.b * T * C;
    bool exists = to.chunk < link.chunks;
    if (exists)
        fetch_rows<S + 1>(x.h, first_h_row(), call.h + start, C, t0 - 1, T, channel, C);
    cp_async_commit();
    if (exists) {
        fetch_rows<S>(x.c, row, call.c + start, C, t0, T, channel, C);
        fetch_rows<S>(x.px, row, call.px + start, C, t0, T, channel, C);
    }
    cp_async_commit();
}

/* a, the gate and dh of all steps; stores dy. token: of step 0 */
template <typename E, int V>
static __device__ __forceinline__ void first_half(
    kept_steps<V> &k, const stream_smem<E, V> &x, const rglru_back_call<E> &call,
    size_t token, int channel, int steps)
{
    int lane = threadIdx.x * V, row = first_row(), h_row = first_h_row() + 1;
#pragma unroll
    for (int s = 0; s < STREAM_STEPS; s++) {
        float pa[V], h[V];
        to_float<E, V>(k.dh[s], load_raw<E, V>(x.dout.row[row + s] + lane));
        to_float<E, V>(pa, load_raw<E, V>(x.pa.row[row + s] + lane));
        to_float<float, V>(h, load_raw<float, V>(x.h.row[h_row + s] + lane));
        if (call.y && s < steps)
            side_slopes<E, V>(
                call.dy + (token + s) * call.ldy + channel, k.dh[s],
                load_raw<E, V>(x.y.row[row + s] + lane), h);
#pragma unroll
        for (int v = 0; v < V; v++) {
            k.ga[s][v] = sigmoid(pa[v]);
            k.a[s][v] = k.starts >> s & 1 ? 0.0f : decay(k.ga[s][v], k.plus[v]);
        }
    }
}

/* The other gradients, and in sum that of a_param. back: a[t+1] dz[t+1] of the last step.
 * out: where step 0 is in dc, dpx and dpa */
template <typename E, int V>
static __device__ __forceinline__ void second_half(
    float (&sum)[V], const kept_steps<V> &k, float (&back)[V], const stream_smem<E, V> &x,
    const rglru_back_call<E> &call, size_t out, int steps)
{
    int lane = threadIdx.x * V, row = first_row(), h_row = first_h_row();
#pragma unroll
    for (int s = STREAM_STEPS - 1; s >= 0; s--) {
        float c[V], px[V], before[V], dc[V], dpx[V], dpa[V];
        slopes<V> d;
        to_float<E, V>(c, load_raw<E, V>(x.c.row[row + s] + lane));
        to_float<E, V>(px, load_raw<E, V>(x.px.row[row + s] + lane));
        to_float<float, V>(before, load_raw<float, V>(x.h.row[h_row + s] + lane));
#pragma unroll
        for (int v = 0; v < V; v++) {
            float a = k.a[s][v], dz = k.dh[s][v] + back[v];
            gate_slopes(
                d, v, k.dh[s][v], c[v], px[v], k.ga[s][v], a, before[v], k.plus[v],
                k.starts >> s & 1);
            back[v] = a * dz;
            dc[v] = dz * d.to_c[v];
            dpx[v] = dz * d.to_px[v];
            dpa[v] = dz * d.to_pa[v];
            sum[v] += s < steps ? dz * d.to_param[v] : 0.0f;
        }
        if (s >= steps) continue;
        store_float<V>(call.dc + out + (size_t)s * call.C, dc);
        store_float<V>(call.dpx + out + (size_t)s * call.C, dpx);
        store_float<V>(call.dpa + out + (size_t)s * call.C, dpa);
    }
}

/* Joins the warps' sums of round i, which a barrier has made visible. A warp for each of
 * the V channels of a lane. partial (chunks, B, C) */
template <typename E, int V>
static __device__ __forceinline__ void store_round(
    float *partial, const stream_smem<E, V> &x, const rglru_back_call<E> &call,
    const chain &link, int i)
{
    chunk_place at = x.place[i % PLACES];
    int v = threadIdx.y, channel = at.tile * link.tile + threadIdx.x * V + v;
    if (v >= V || channel >= call.C) return;
    float all = 0.0f;
    for (int w = 0; w < WARPS_PER_BLOCK; w++)
        all += x.sums[i % 2][w][v][threadIdx.x];
    all *= sigmoid((float)call.a_param[channel]);
    partial[((size_t)at.chunk * call.B + at.b) * call.C + channel] = all;
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, STREAMS_PER_SM)
    backward_stream(float *partial, rglru_back_call<E> call, chain link)
{
    extern __shared__ uint4 memory[];
    stream_smem<E, V> &x = *(stream_smem<E, V> *)memory;
    int lane = threadIdx.x, warp = threadIdx.y, i = 0;
    bool claims = lane == 0 && warp == 0;
    begin_stream(x.place, link);
    fetch_first(x, call, link, x.place[0]);
    fetch_rest(x, call, link, x.place[0]);
    if (warp < V)
        x.plus[0][warp][lane] = softplus(a_param_of<V>(call.a_param, link, x.place[0]));
    __syncthreads();  // plus is visible
#pragma unroll 1
    for (;; i++) {
        chunk_place at = x.place[i % PLACES], next = x.place[(i + 1) % PLACES];
        if (at.chunk >= link.chunks) break;
        int t0 = first_step(link, at), channel = at.tile * link.tile + lane * V;
        int steps = channel < call.C ? min(call.T - t0, STREAM_STEPS) : 0;
        size_t token = (size_t)at.b * call.T + t0;
        // early, as an atomic operation takes as long as a load
        unsigned number = claims ? claim_number(link) : 0;
        float a_param = a_param_of<V>(call.a_param, link, next);
        kept_steps<V> k;
        float A[V], H[V], back[V], sum[V] = {};
        k.starts = document_starts<STREAM_STEPS>(call.pos, token, t0, steps);
#pragma unroll
        for (int v = 0; v < V; v++)
            k.plus[v] = x.plus[i % 2][v][lane], A[v] = 1.0f, H[v] = 0.0f;
        cp_async_wait<1>();  // all but c and px
        __syncwarp();        // what the lanes have copied is visible to the warp
        first_half(k, x, call, token, channel, steps);
        __syncwarp();  // every lane has read its rows
        fetch_first(x, call, link, next);
        if (warp < V) x.plus[(i + 1) % 2][warp][lane] = softplus(a_param);
        if (claims) x.place[(i + 2) % PLACES] = place_of(link, number);
#pragma unroll
        for (int v = 0; v < V; v++)
#pragma unroll
            for (int s = STREAM_STEPS - 1; s >= 0; s--) {
                A[v] *= k.a[s][v];
                H[v] = k.a[s][v] * (k.dh[s][v] + H[v]);
            }
        carry_in<V, WARPS_PER_BLOCK>(
            back, A, H, link, at, WARPS_PER_BLOCK - 1 - warp, NULL);
        if (i > 0) store_round(partial, x, call, link, i - 1);
        cp_async_wait<1>();  // c and px
        __syncwarp();
        at = x.place[i % PLACES];  // again: fewer registers than to keep what follows
        t0 = first_step(link, at), channel = at.tile * link.tile + lane * V;
        steps = channel < call.C ? min(call.T - t0, STREAM_STEPS) : 0;
        size_t out = ((size_t)at.b * call.T + t0) * call.C + channel;
        second_half(sum, k, back, x, call, out, steps);
        __syncwarp();
        fetch_rest(x, call, link, x.place[(i + 1) % PLACES]);
#pragma unroll
        for (int v = 0; v < V; v++)
            x.sums[i % 2][warp][v][lane] = sum[v];
    }
    __syncthreads();  // the sums of the last round are visible
    if (i > 0) store_round(partial, x, call, link, i - 1);
}

/* false: take backward_chunks */
template <typename E, int V>
static bool launch_stream(void *workspace, rglru_back_call<E> call, cudaStream_t stream)
{
    int B = call.B, T = call.T, C = call.C;
    if constexpr (sizeof(E) == 2 && V * sizeof(E) == 4) {
        if (!streams(
                B, T, C, STREAM_CHUNK, WARP * V, STREAMS_PER_SM, sizeof(E),
                call.y ? call.ldy : 0, call.dout, call.c, call.px, call.pa, call.y,
                call.h))
            return false;
        chain link = make_chain(workspace, B, T, C, STREAM_CHUNK, WARP * V, stream);
        size_t chain_bytes = chain_workspace(B, T, C, STREAM_CHUNK);
        float *partial = (float *)((char *)workspace + chain_bytes);
        int smem = sizeof(stream_smem<E, V>), blocks = STREAMS_PER_SM * sm_count();
        auto kernel = backward_stream<E, V>;
        allow_smem(kernel, smem);
        kernel<<<blocks, dim3(WARP, WARPS_PER_BLOCK), smem, stream>>>(
            partial, call, link);
        add_partial_sums(
            {{call.da_param}, {(size_t)C}}, partial, link.chunks * B, stream);
        return true;
    }
    return false;
}
// END SOLUTION
#endif
