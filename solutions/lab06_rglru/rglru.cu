/* rglru.cu - lab 06, part 06.5, forward: gates, scan and side branch in one pass. The
 * contract is rglru.h; the backward pass is in rglru_backward.cu. */
#include "cuda/vec.cuh"
#include "rglru_contract.cuh"
#include "rglru_tile.cuh"

// BEGIN SOLUTION 06.5 (about 25 lines in a first version)
//> enum { THREADS = 128 };  // per block
//>
//> /* A thread for each row b and channel c walks through time, as in 06.4, and computes
//>  * the a and z of 06.3 on the way: they never reach memory. gate_math.cuh has the
//>  * functions. `-k fused`, `-k fused_y` and `-k fused_state` grade the three steps. */
//> template <typename E> static __global__ void forward_rows(rglru_call<E> call)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*C)
//>     if (i >= (size_t)call.B * call.C) return;
//>     // TODO(06.5, step 1): b and c; what depends on the channel alone, once. 2 lines.
//>     // TODO(06.5, step 3): the state before the row: state[b,c] if the row continues an
//>     // earlier call, else 0. If state is NULL or the first token is at pos 0, do not read
//>     // state[b,c]: it may hold anything. 2 lines.
//>     // TODO(06.5, step 1): for every token: a and z, with a = 0 and m = 1 at pos 0; the
//>     // state, which is 0 before the first token; h unless it is NULL; out = state. About
//>     // 12 lines.
//>     // TODO(06.5, step 2): if y is not NULL, out = state gelu(y). 2 lines.
//>     // TODO(06.5, step 3): store the state after token len[b]-1 (T-1 if len is NULL),
//>     // unless state is NULL. About 3 lines.
//> }
/* A block takes a chunk of time and a tile of channels, a warp some steps of it, a lane V
 * channels. The a and z of the steps stay in registers until the state before them is
 * known, so every tensor is read or written once. */
#include "rglru_steps.cuh"

constexpr int BLOCKS_PER_SM = 4;

/* a and z of all steps of a lane. y, if there is a side branch, is loaded for later. */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void load_steps(
    float (&a)[STEPS][V], float (&z)[STEPS][V], raw<E, V> (&y)[STEPS],
    const rglru_call<E> &call, size_t token, int channel, int t0, int steps)
{
    size_t from = token * call.C + channel, from_y = token * call.ldy + channel;
    raw<E, V> c[STEPS], px[STEPS], pa[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = from + row_offset<WHOLE>(s, call.C);
        c[s] = load_raw<E, V>(call.c + i);
        px[s] = load_raw<E, V>(call.px + i);
        pa[s] = load_raw<E, V>(call.pa + i);
    }
    if (call.y)
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s < steps)
                y[s] = load_raw<E, V>(call.y + from_y + row_offset<WHOLE>(s, call.ldy));
    unsigned starts = document_starts<STEPS>(call.pos, token, t0, steps);
    float plus[V];
    softplus_of_tile<E, V>(plus, call.a_param, channel, call.C);
    gates_of_steps<E, V>(a, z, c, px, pa, plus, starts, steps);
}

/* WHOLE: all steps and channels exist, so nothing is checked */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void
forward_chunk(const rglru_call<E> &call, const chain &link, chunk_place at)
{
    int t0 = at.chunk * CHUNK + threadIdx.y * STEPS;
    int channel = at.tile * link.tile + threadIdx.x * V;  // [0, C), V of them
    int steps = WHOLE ? STEPS : channel < call.C ? min(call.T - t0, STEPS) : 0;
    size_t token = (size_t)at.b * call.T + t0;

    raw<E, V> y[STEPS];
    float a[STEPS][V], z[STEPS][V], A[V], H[V], h[V];
    load_steps<E, V, WHOLE>(a, z, y, call, token, channel, t0, steps);
    join_steps(A, H, a, z, steps);
    // a row that begins with a document reads no state: it may never have been written
    bool fresh = call.pos ? call.pos[(size_t)at.b * call.T] == 0 : true;
    const float *start = fresh ? NULL : call.state;
    carry_in<V, WARPS_PER_BLOCK>(h, A, H, link, at, threadIdx.y, start);

    store_state(call, a, z, h, at.b, channel, t0, steps);
    store_steps<E, V, WHOLE>(call, a, z, h, y, token, channel, steps);
}

template <typename E, int V>
static __global__ void __launch_bounds__(WARPS_PER_BLOCK *WARP, BLOCKS_PER_SM)
    forward_chunks(rglru_call<E> call, chain link)
{
    chunk_place at = claim_chunk(link);
    if (is_whole<CHUNK, false>(link, at, call.T, call.C, call.ldy))
        forward_chunk<E, V, true>(call, link, at);
    else
        forward_chunk<E, V, false>(call, link, at);
}

#include "rglru_stream.cuh"

template <typename E, int V>
static void launch(rglru_call<E> call, void *workspace, cudaStream_t stream)
{
    if (launch_stream<E, V>(workspace, call, stream)) return;
    chain link = make_chain(workspace, call.B, call.T, call.C, CHUNK, WARP * V, stream);
    forward_chunks<E, V>
        <<<chain_blocks(link), dim3(WARP, WARPS_PER_BLOCK), 0, stream>>>(call, link);
}
// END SOLUTION

/* Bytes of workspace */
template <typename E> static size_t rglru_workspace(int B, int T, int C)
{
    // BEGIN SOLUTION 06.5 (1 line)
    //> // TODO(06.5): 0 is correct while nothing is stored there.
    //> (void)B, (void)T, (void)C;
    //> return 0;
    return chain_workspace(B, T, C, CHUNK);
    // END SOLUTION
}

template <typename E>
static wb_status rglru(rglru_call<E> call, void *workspace, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.5 (9 lines)
    //> // TODO(06.5, step 1): launch forward_rows on the stream with a thread for each of
    //> // B C, then return wb_launched().
    //> (void)call, (void)workspace, (void)stream;
    //> return WB_TODO;
    constexpr int V = BYTES_PER_LANE / sizeof(E);
    bool wide = call.C % V == 0 && (!call.y || call.ldy % V == 0) &&
                is_aligned(V * sizeof(E), call.out, call.c, call.px, call.pa, call.y) &&
                is_aligned(V * sizeof(float), call.h, call.state);
    if (wide)
        launch<E, V>(call, workspace, stream);
    else
        launch<E, 1>(call, workspace, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_RGLRU_FORWARD(float, f32)
DEFINE_RGLRU_FORWARD(wb_f16, f16)
DEFINE_RGLRU_FORWARD(wb_bf16, bf16)
