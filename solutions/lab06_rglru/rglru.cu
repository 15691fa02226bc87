/* rglru.cu - lab 06.5, forward: gates, scan and side branch in one pass. The contract is
 * rglru.h. */
#include "fast_math.cuh"
#include "lanes.cuh"
#include "lookback.cuh"
#include "rglru_contract.cuh"

/* The tensors and sizes of a call */
template <typename E> struct forward_call {
    E *out;
    float *h, *state;
    const E *c, *px, *pa, *y, *a_param;
    const int *pos, *len;
    int T, C, ldy;
};

// BEGIN SOLUTION 06.5 (about 25 lines in a first version)
//> enum { THREADS = 128 };  // of a block
//>
//> /* A thread for each row b and channel c walks through time, as in 06.4, and computes a
//>  * and z of 06.3 on its way: they never reach memory. fast_math.cuh has the functions. */
//> template <typename E> static __global__ void forward_rows(forward_call<E> call, int B)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)B * call.C) return;
//>     // TODO(06.5): b and c; what depends on the channel alone, once. About 2 lines.
//>     // TODO(06.5): the state: state[b,c] if the row goes on from it, else 0. If its first
//>     // token is at pos 0, the memory may hold anything: do not read it. About 3 lines.
//>     // TODO(06.5): for every step: a and z, at pos 0 a = 0 and m = 1; the state; h unless
//>     // it is NULL; out = state gelu(y), or the state if y is NULL. About 12 lines.
//>     // TODO(06.5): the state of token len[b]-1 (T-1 if len is NULL) is kept. 1 line.
//> }
/* A block takes a chunk of time and a tile of channels, a warp some steps of it and a
 * lane V channels: the steps' a and z stay in registers until the state before them is
 * known, so every tensor is read or written once. */

constexpr int WARPS = 8;  // of a block
constexpr int STEPS = 8;  // of a warp: their loads are all under way at once
constexpr int CHUNK = WARPS * STEPS;
constexpr int FULL = 4;   // blocks that a multiprocessor should hold
constexpr int BYTES = 4;  // of a lane in one access: a warp reads 128 in a stretch

/* a and z of one step of one channel; rate = -8 softplus(a_param) / ln 2. The first token of
 * a document is a matter of two selections: a branch would keep the steps' long chains of
 * special functions from overlapping. */
static __device__ __forceinline__ void
gates(float *a, float *z, float c, float px, float pa, float rate, bool first)
{
    float log2_a = rate * logistic(pa), kept = fast_exp2(log2_a);
    float m = fast_sqrt(one_minus_square(log2_a, kept));
    *a = first ? 0.0f : kept;
    *z = (first ? 1.0f : m) * logistic(px) * c;
}

/* -8 softplus(a_param) / ln 2 of the tile's channels, the same for all warps */
template <typename E, int V>
static __device__ __forceinline__ void
find_rates(float rate[V], const forward_call<E> &call, int channel)
{
    __shared__ float rates[V][WARP];
    int v = threadIdx.y, lane = threadIdx.x;
    if (v < V && channel + v < call.C)
        rates[v][lane] = -8.0f * LOG2_E * softplus((float)call.a_param[channel + v]);
    __syncthreads();  // the rates are there
#pragma unroll
    for (int i = 0; i < V; i++)
        rate[i] = rates[i][lane];
}

/* WHOLE: all steps and channels exist, and nothing asks whether they do */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void
forward_chunk(const forward_call<E> &call, const chain &link, place at)
{
    int t0 = at.chunk * CHUNK + threadIdx.y * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t token = (size_t)at.b * call.T + t0;
    size_t from = token * call.C + channel, from_y = token * call.ldy + channel;

    lanes<E, V> c[STEPS], px[STEPS], pa[STEPS], y[STEPS];
    unsigned first = t0 == 0;  // bit s: step s begins a document
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + rows_on<WHOLE>(s, call.C);
        c[s] = load<E, V>(call.c + i);
        px[s] = load<E, V>(call.px + i);
        pa[s] = load<E, V>(call.pa + i);
    }
    if (call.y)
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps)
                y[s] = load<E, V>(call.y + from_y + rows_on<WHOLE>(s, call.ldy));
    if (call.pos) {
        first = 0;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps && call.pos[token + s] == 0) first |= 1u << s;
    }

    float a[STEPS][V], z[STEPS][V], rate[V], A[V], H[V], h[V];
    find_rates<E, V>(rate, call, channel);
#pragma unroll
    for (int v = 0; v < V; v++)
        A[v] = 1.0f, H[v] = 0.0f;
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        float cs[V], pxs[V], pas[V];
        widen<V>(cs, c[s]), widen<V>(pxs, px[s]), widen<V>(pas, pa[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            gates(&a[s][v], &z[s][v], cs[v], pxs[v], pas[v], rate[v], first >> s & 1);
            A[v] *= a[s][v];
            H[v] = a[s][v] * H[v] + z[s][v];
        }
    }

    // a row that begins with a document reads no state: there may be none
    bool fresh = call.pos ? call.pos[(size_t)at.b * call.T] == 0 : true;
    carry_in<V, WARPS>(h, A, H, link, at, threadIdx.y, fresh ? NULL : call.state);

    int last = call.state ? (call.len ? call.len[at.b] : call.T) - 1 - t0 : -1;
    if (last >= 0 && last < steps) {  // the last real token is one of these steps
        float kept[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            kept[v] = h[v];
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                if (s <= last) kept[v] = a[s][v] * kept[v] + z[s][v];
        }
        store<V>(call.state + (size_t)at.b * call.C + channel, kept);
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + rows_on<WHOLE>(s, call.C);
        float out[V], ys[V];
#pragma unroll
        for (int v = 0; v < V; v++)
            out[v] = h[v] = a[s][v] * h[v] + z[s][v];
        if (call.h) store<V>(call.h + i, h);
        if (call.y) {
            widen<V>(ys, y[s]);
#pragma unroll
            for (int v = 0; v < V; v++)
                out[v] *= gelu(ys[v]);
        }
        store<V>(call.out + i, out);
    }
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS *WARP, FULL)
    forward_chunks(forward_call<E> call, chain link)
{
    place at = take_place(link);
    bool whole = call.T - at.chunk * CHUNK >= CHUNK &&
                 call.C - at.tile * link.tile >= link.tile && call.C <= NEAR_LD &&
                 call.ldy <= NEAR_LD;
    if (whole)
        forward_chunk<E, V, true>(call, link, at);
    else
        forward_chunk<E, V, false>(call, link, at);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t rglru_space(int B, int T, int C)
{
    // BEGIN SOLUTION 06.5 (1 line)
    //> // TODO(06.5): 0 is right as long as nothing is kept there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, CHUNK);
    // END SOLUTION
}

// BEGIN SOLUTION 06.5 (nothing in a first version)
template <typename E, int V>
static void launch(forward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    chain link = make_chain(workspace, B, call.T, call.C, CHUNK, WARP * V, stream);
    forward_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS), 0, stream>>>(call, link);
}

/* Whether V elements of every row of the call lie on a multiple of their size */
template <typename E, int V> static bool aligned(forward_call<E> call)
{
    size_t tensors = (size_t)call.out | (size_t)call.c | (size_t)call.px |
                     (size_t)call.pa | (size_t)call.y;
    size_t floats = (size_t)call.h | (size_t)call.state;
    size_t rows = (size_t)call.C | (size_t)(call.y ? call.ldy : 0);
    return tensors % (V * sizeof(E)) == 0 && floats % (V * sizeof(float)) == 0 &&
           rows % V == 0;
}
// END SOLUTION

template <typename E>
static wb_status rglru(forward_call<E> call, int B, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.5 (6 lines)
    //> // TODO(06.5): launch forward_rows on the stream with a thread for each of B C, then
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

DEFINE_RGLRU(float, f32)
DEFINE_RGLRU(wb_f16, f16)
DEFINE_RGLRU(wb_bf16, bf16)
