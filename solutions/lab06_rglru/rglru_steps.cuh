/* rglru_steps.cuh - part 06.5: code of yours for rglru.cu, if you like. The solution has
 * what its two kernels share here.
 */
#ifndef RGLRU_STEPS_CUH
#define RGLRU_STEPS_CUH

// BEGIN SOLUTION 06.5 (nothing in a first version)
//> /* TODO(06.5): nothing, if rglru.cu has it all. */
#include "cuda/vec.cuh"
#include "rglru_tile.cuh"

constexpr int WARPS_PER_BLOCK = 8;
constexpr int STEPS = 8;  // per warp: their loads are all in flight together
constexpr int CHUNK = WARPS_PER_BLOCK * STEPS;

/* a and z of one step of one channel; rate = -8 softplus(a_param) / ln 2. The first token
 * of a document takes two selections: a branch would keep the long chains of special
 * functions of different steps from overlapping. */
static __device__ __forceinline__ void
gates(float *a, float *z, float c, float px, float pa, float rate, bool first)
{
    float log2_a = rate * sigmoid(pa), decay = fast_exp2(log2_a);
    *a = first ? 0.0f : decay;
    float m = fast_sqrt(one_minus_square(log2_a, decay));
    *z = (first ? 1.0f : m) * sigmoid(px) * c;
}

/* a and z of a lane's steps, from its inputs. starts: see document_starts */
template <typename E, int V>
static __device__ __forceinline__ void gates_of_steps(
    float (&a)[STEPS][V], float (&z)[STEPS][V], const raw<E, V> (&c)[STEPS],
    const raw<E, V> (&px)[STEPS], const raw<E, V> (&pa)[STEPS], const float (&plus)[V],
    unsigned starts, int steps)
{
    float cs[V], pxs[V], pas[V];
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        to_float<E, V>(cs, c[s]), to_float<E, V>(pxs, px[s]), to_float<E, V>(pas, pa[s]);
#pragma unroll
        for (int v = 0; v < V; v++) {
            float rate = -8.0f * LOG2_E * plus[v];
            gates(&a[s][v], &z[s][v], cs[v], pxs[v], pas[v], rate, starts >> s & 1);
        }
    }
}

/* A and H of a lane's steps, which are one step (lookback.cuh) */
template <int V>
static __device__ __forceinline__ void join_steps(
    float (&A)[V], float (&H)[V], const float (&a)[STEPS][V], const float (&z)[STEPS][V],
    int steps)
{
#pragma unroll
    for (int v = 0; v < V; v++) {
        A[v] = 1.0f, H[v] = 0.0f;
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            if (s >= steps) continue;
            A[v] *= a[s][v];
            H[v] = a[s][v] * H[v] + z[s][v];
        }
    }
}

/* out of a lane's steps, and h if it is kept. h: the state before them */
template <typename E, int V, bool WHOLE>
static __device__ __forceinline__ void store_steps(
    const rglru_call<E> &call, const float (&a)[STEPS][V], const float (&z)[STEPS][V],
    float (&h)[V], const raw<E, V> (&y)[STEPS], size_t token, int channel, int steps)
{
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        if (s >= steps) continue;
        size_t i = token * call.C + channel + row_offset<WHOLE>(s, call.C);
        float out[V], ys[V];
#pragma unroll
        for (int v = 0; v < V; v++)
            out[v] = h[v] = a[s][v] * h[v] + z[s][v];
        if (call.h) store_float<V>(call.h + i, h);
        if (call.y) {
            to_float<E, V>(ys, y[s]);
#pragma unroll
            for (int v = 0; v < V; v++)
                out[v] *= gelu(ys[v]);
        }
        store_float<V>(call.out + i, out);
    }
}

/* The state of the row's last real token, if that is one of these steps. h: the state
 * before them */
template <typename E, int V>
static __device__ __forceinline__ void store_state(
    const rglru_call<E> &call, const float (&a)[STEPS][V], const float (&z)[STEPS][V],
    const float (&h)[V], int b, int channel, int t0, int steps)
{
    int last = call.state ? (call.len ? call.len[b] : call.T) - 1 - t0 : -1;
    if (last < 0 || last >= steps) return;
    float state[V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        state[v] = h[v];
#pragma unroll
        for (int s = 0; s < STEPS; s++)
            if (s <= last) state[v] = a[s][v] * state[v] + z[s][v];
    }
    store_float<V>(call.state + (size_t)b * call.C + channel, state);
}
// END SOLUTION
#endif
