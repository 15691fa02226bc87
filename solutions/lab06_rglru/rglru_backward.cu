/* rglru_backward.cu - lab 06.5, backward: the scan backwards in time and the slopes of side
 * branch and gates, in one pass. The contract is rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

/* The tensors and sizes of a call. partial: sums for da_param, in the workspace */
template <typename E> struct backward_call {
    E *dc, *dpx, *dpa, *dy;
    float *da_param;
    const E *dout, *c, *px, *pa, *y;
    const float *h;
    const E *a_param;
    const int *pos;
    int T, C, ldy;
    float *partial;
};

// BEGIN SOLUTION 06.5 (about 35 lines in a first version)
//> enum { THREADS = 128 };  // of a block
//>
//> /* A thread for each channel takes one row after another, each from its last step to its
//>  * first: so da_param is one thread's sum, and its order is always the same. */
//> template <typename E> static __global__ void backward_rows(backward_call<E> call, int B)
//> {
//>     int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
//>     if (c >= call.C) return;
//>     // TODO(06.5): for every row, back = 0; for every step, from the last to the first:
//>     // TODO(06.5): gx, ga, log_a, a, q and m again, as in the forward pass. 6 lines.
//>     // TODO(06.5): dh = dout gelu(y), dy = dout h gelu'(y); without y dh = dout. 4 lines.
//>     // TODO(06.5): dz = dh + back; da = dz h[t-1], which is 0 at t = 0. 2 lines.
//>     // TODO(06.5): dc, dpx, dlog_a, dpa as in 06.3. About 6 lines.
//>     // TODO(06.5): back = a dz. 1 line.
//>     // TODO(06.5): da_param, once, behind all rows. 1 line.
//> }
/* Blocks, warps and lanes share the work as in rglru.cu, but chunk 0 is the last of a row.
 * All that is written for a step is dz times something that needs no dz: those factors stay
 * in registers until dz is known. */

constexpr int WARPS = 8;  // of a block
constexpr int STEPS = 4;  // of a warp: their loads are all under way at once
constexpr int CHUNK = WARPS * STEPS;
constexpr int FULL = 4;   // blocks that a multiprocessor should hold
constexpr int BYTES = 4;  // of a lane in one access of E: a warp reads 128 in a stretch

/* One step of one channel. dc = dz to_c and so on; da_param sums dz to_param */
typedef struct slopes {
    float a, dh, to_c, to_px, to_pa, to_param;
} slopes;

/* The factors of dz. plus = softplus(a_param); before = h[t-1]. At the start of a document a
 * and m are constants, 0 and 1. */
static __device__ __forceinline__ slopes
gate_slopes(float dh, float c, float px, float pa, float before, float plus, bool first)
{
    float gx = logistic(px), ga = logistic(pa), scale = -8.0f * ga;
    float log2_a = LOG2_E * plus * scale;
    float a = fast_exp2(log2_a), q = one_minus_square(log2_a, a);
    float inverse = fast_rsqrt(fmaxf(q, 1e-37f));    // 1 / m
    float bounded = fminf(0.5f * inverse, 1000.0f);  // of the root, its slope
    slopes d;
    d.dh = dh;
    d.a = first ? 0.0f : a;
    d.to_c = (first ? 1.0f : q * inverse) * gx;
    d.to_px = d.to_c * c * (1.0f - gx);
    d.to_param = scale * d.a * (before - 2.0f * a * gx * c * bounded);
    d.to_pa = d.to_param * plus * (1.0f - ga);
    return d;
}

/* dh = dout gelu(y), and writes dy = dout h gelu'(y) */
template <typename E, int V>
static __device__ __forceinline__ void
side_slopes(E *dy, float dh[V], const lanes<E, V> &y, const float h[V])
{
    float ys[V], slope[V];
    widen<V>(ys, y);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float s = gelu_logistic(ys[v]);
        slope[v] = dh[v] * h[v] * (s + ys[v] * s * (1.0f - s) * gelu_inside_slope(ys[v]));
        dh[v] *= ys[v] * s;
    }
    store<V>(dy, slope);
}

/* softplus(a_param) of the tile's channels, the same for all warps */
template <typename E, int V>
static __device__ __forceinline__ void
find_softplus(float plus[V], const backward_call<E> &call, int channel)
{
    __shared__ float shared[V][WARP];
    int v = threadIdx.y, lane = threadIdx.x;
    if (v < V && channel + v < call.C)
        shared[v][lane] = softplus((float)call.a_param[channel + v]);
    __syncthreads();  // softplus of the channels is there
#pragma unroll
    for (int i = 0; i < V; i++)
        plus[i] = shared[i][lane];
}

/* Reads the inputs of the steps, writes dy, and gives the factors of dz. */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void load_steps(
    slopes d[STEPS][V], const backward_call<E> &call, size_t token, int channel, int t0,
    int steps)
{
    size_t from = token * call.C + channel, from_y = token * call.ldy + channel;
    lanes<E, V> dout[STEPS], c[STEPS], px[STEPS], pa[STEPS], y[STEPS];
    lanes<float, V> h[STEPS + 1] = {};  // h[0] belongs to the step before
    if (t0 > 0 && steps > 0) h[0] = load<float, V>(call.h + from - call.C);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + rows_on<WHOLE>(s, call.C);
        dout[s] = load<E, V>(call.dout + i);
        c[s] = load<E, V>(call.c + i);
        px[s] = load<E, V>(call.px + i);
        pa[s] = load<E, V>(call.pa + i);
        h[s + 1] = load<float, V>(call.h + i);
    }
    if (call.y)
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps)
                y[s] = load<E, V>(call.y + from_y + rows_on<WHOLE>(s, call.ldy));
    unsigned first = t0 == 0;  // bit s: step s begins a document
    if (call.pos) {
        first = 0;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps && call.pos[token + s] == 0) first |= 1u << s;
    }
    float plus[V], dh[V], cs[V], pxs[V], pas[V], hs[V];
    find_softplus<E, V>(plus, call, channel);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        widen<V>(dh, dout[s]), widen<V>(hs, h[s + 1]);
        E *dy = call.dy + from_y + rows_on<WHOLE>(s, call.ldy);
        if (call.y) side_slopes<E, V>(dy, dh, y[s], hs);
        widen<V>(cs, c[s]), widen<V>(pxs, px[s]), widen<V>(pas, pa[s]),
            widen<V>(hs, h[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            d[s][v] =
                gate_slopes(dh[v], cs[v], pxs[v], pas[v], hs[v], plus[v], first >> s & 1);
        }
    }
}

/* WHOLE: all steps and channels exist, and nothing asks whether they do */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void
backward_chunk(const backward_call<E> &call, const chain &link, place at)
{
    __shared__ float sums[WARPS][V][WARP];
    int warp = threadIdx.y, t0 = (link.chunks - 1 - at.chunk) * CHUNK + warp * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t token = (size_t)at.b * call.T + t0;

    slopes d[STEPS][V];
    float A[V], H[V], back[V], sum[V];  // back: a[t+1] dz[t+1], what is handed on
    load_steps<E, V, WHOLE>(d, call, token, channel, t0, steps);
#pragma unroll
    for (int v = 0; v < V; v++) {
        A[v] = 1.0f, H[v] = 0.0f, sum[v] = 0.0f;
#pragma unroll
        for (int s = STEPS - 1; s >= 0; s--) {
            if (s >= steps) continue;
            A[v] *= d[s][v].a;
            H[v] = d[s][v].a * (d[s][v].dh + H[v]);
        }
    }
    carry_in<V, WARPS>(back, A, H, link, at, WARPS - 1 - warp, NULL);
#pragma unroll
    for (int s = STEPS - 1; s >= 0; s--) {
        if (s >= steps) continue;
        size_t i = token * call.C + channel + rows_on<WHOLE>(s, call.C);
        float dc[V], dpx[V], dpa[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            float dz = d[s][v].dh + back[v];
            back[v] = d[s][v].a * dz;
            dc[v] = dz * d[s][v].to_c;
            dpx[v] = dz * d[s][v].to_px;
            dpa[v] = dz * d[s][v].to_pa;
            sum[v] += dz * d[s][v].to_param;
        }
        store<V>(call.dc + i, dc);
        store<V>(call.dpx + i, dpx);
        store<V>(call.dpa + i, dpa);
    }
    for (int v = 0; v < V; v++)
        sums[warp][v][threadIdx.x] = sum[v];
    __syncthreads();                   // every warp's sums for da_param
    int v = warp, here = channel + v;  // a warp for each of the V
    if (v >= V || here >= call.C) return;
    float all = 0.0f;
    for (int w = 0; w < WARPS; w++)
        all += sums[w][v][threadIdx.x];
    all *= logistic((float)call.a_param[here]);
    call.partial[((size_t)at.chunk * link.B + at.b) * call.C + here] = all;
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS *WARP, FULL)
    backward_chunks(backward_call<E> call, chain link)
{
    place at = take_place(link);
    bool whole = (call.T % CHUNK == 0 || at.chunk > 0) &&  // chunk 0 is the last in time
                 call.C - at.tile * link.tile >= link.tile && call.C <= NEAR_LD &&
                 call.ldy <= NEAR_LD;
    if (whole)
        backward_chunk<E, V, true>(call, link, at);
    else
        backward_chunk<E, V, false>(call, link, at);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t rglru_space(int B, int T, int C)
{
    // BEGIN SOLUTION 06.5 (3 lines)
    //> // TODO(06.5): 0 is right as long as nothing is kept there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    if (B < 1 || T < 1 || C < 1) return 0;
    size_t sums = chunks_of(T, CHUNK) * B * C * sizeof(float);  // behind the chain
    return chain_workspace(B, T, C, CHUNK) + sums;
    // END SOLUTION
}

// BEGIN SOLUTION 06.5 (nothing in a first version)
template <typename E, int V>
static void launch(backward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    chain link = make_chain(workspace, B, call.T, call.C, CHUNK, WARP * V, stream);
    size_t chained = chain_workspace(B, call.T, call.C, CHUNK);
    call.partial = (float *)((char *)workspace + chained);
    backward_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS), 0, stream>>>(call, link);
    launch_add(
        {{call.da_param}, {(size_t)call.C}}, call.partial, link.chunks * B, stream);
}

/* Whether V elements of every row of the call lie on a multiple of their size */
template <typename E, int V> static bool aligned(backward_call<E> call)
{
    size_t tensors = (size_t)call.dc | (size_t)call.dpx | (size_t)call.dpa |
                     (size_t)call.dy | (size_t)call.dout | (size_t)call.c |
                     (size_t)call.px | (size_t)call.pa | (size_t)call.y;
    size_t rows = (size_t)call.C | (size_t)(call.y ? call.ldy : 0);
    return tensors % (V * sizeof(E)) == 0 && (size_t)call.h % (V * sizeof(float)) == 0 &&
           rows % V == 0;
}
// END SOLUTION

template <typename E>
static wb_status
rglru_back(backward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.5 (6 lines)
    //> // TODO(06.5): launch backward_rows on the stream with a thread for each channel, then
    //> // return wb_launched().
    //> (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = BYTES / sizeof(E);
    if (aligned<E, V>(call))
        launch<E, V>(call, B, workspace, stream);
    else
        launch<E, 1>(call, B, workspace, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_RGLRU_BACKWARD(float, f32)
DEFINE_RGLRU_BACKWARD(wb_f16, f16)
DEFINE_RGLRU_BACKWARD(wb_bf16, bf16)
