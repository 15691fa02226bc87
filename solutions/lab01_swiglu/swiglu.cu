/* swiglu.cu - lab 01: gated activations. The contract is swiglu.h.
 *
 * 01.1, 01.2  SwiGLU forward          01.4  GeGLU, both directions
 * 01.3        SwiGLU backward         01.5  vectors
 *
 * All of it in float, f16 and bf16: (float)x converts any E to float, E(y) rounds to E.
 */
#include "swiglu.h"

#include "cuda/vec.cuh"

typedef enum activation { SILU, GELU_TANH } activation;

/* --- the activations ---------------------------------------------------------------- */

// BEGIN SOLUTION 01.1 (about 10 lines)
//> // A function act<A>(z) for both activations keeps the kernels short (01.1, 01.4).
/* Both activations are z s(g(z)) with the logistic sigmoid s. SiLU has g(z) = z. Since
 * (1 + tanh(u)) / 2 = s(2u), the tanh form of GELU has g(z) = 2k (z + 0.044715 z^3). So
 * one forward and one backward kernel serve both:
 *     act(z) = z s        act'(z) = s (1 + z g'(z) (1 - s))        with s = s(g(z)) */

/* expf is accurate to one unit in the last place. __expf loses |z| of them, which the
 * rounding of a 16-bit result hides, and takes a quarter of the instructions. */
template <typename E> static __device__ __forceinline__ float exponential(float z)
{
    return sizeof(E) == sizeof(float) ? expf(z) : __expf(z);
}

/* s(z) = 1 / (1 + exp(-z)) = exp(z) / (1 + exp(z)): take the form with the negative
 * exponent. It cannot overflow, and s(-90) is not 0, as 1 / (1 + inf) would be. */
template <typename E> static __device__ __forceinline__ float sigmoid(float z)
{
    float e = exponential<E>(-fabsf(z));
    return __fdividef(z < 0.0f ? e : 1.0f, 1.0f + e);
}
// END SOLUTION

// BEGIN SOLUTION 01.4 (about 15 lines)
/* To the last bit, s(g(16)) is 1 and s(g(-16)) is 0. So this clamp changes no result, but
 * keeps z^3 finite. */
constexpr float GELU_LIMIT = 16.0f;
constexpr float GELU_2K = 1.5957691216057308f;  // 2 sqrt(2/pi)
constexpr float GELU_CUBE = 0.044715f;

/* g(z) */
template <activation A> static __device__ __forceinline__ float inner(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -GELU_LIMIT), GELU_LIMIT);
    return GELU_2K * z * (1.0f + GELU_CUBE * z * z);
}

/* z g'(z) */
template <activation A> static __device__ __forceinline__ float inner_slope(float z)
{
    if (A == SILU) return z;
    z = fminf(fmaxf(z, -GELU_LIMIT), GELU_LIMIT);
    return GELU_2K * z * (1.0f + 3.0f * GELU_CUBE * z * z);
}
// END SOLUTION

/* --- kernels ------------------------------------------------------------------------ */

// BEGIN SOLUTION 01.1 (about 30 lines)
//> /* One thread for each element of out: R F of them. */
//> template <activation A, typename E>
//> static __global__ void
//> forward_kernel(E *out, const E *gate, const E *up, int R, int F, int ld)
//> {
//>     size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, R*F)
//>     if (i >= (size_t)R * F) return;
//>     // TODO(01.1): the row and the column of i, and their offset in gate and up. Rows of
//>     // gate and up start ld elements apart, rows of out F. About 2 lines.
//>     // TODO(01.1): out[i] = z s(z) u for A == SILU. About 3 lines. (float)x converts any
//>     // E to float, E(y) rounds: compute in float and round once, at the end.
//>     // TODO(01.4): the same for A == GELU_TANH.
//> }
/* Nothing is summed and every element is read once: memory is the only limit, and enough
 * loads must be in flight to keep it busy. A thread issues all of its loads before it
 * uses the first: 64 bytes per tensor. */
template <int V> constexpr int VECS_PER_THREAD = V == 1 ? 8 : 4;
constexpr int MAX_THREADS = 256;  // per block

template <activation A, typename E>
static __device__ __forceinline__ E gated(E gate, E up)
{
    float z = (float)gate;
    return E(z * sigmoid<E>(inner<A>(z)) * (float)up);  // z up alone may overflow
}

/* A block owns a tile of a row. The vectors of a thread lie blockDim.x vectors apart, so
 * that neighbouring threads access neighbouring vectors of V columns:
 *
 *     tile   | t0 t1 t2 ...   | t0 t1 t2 ...   | t0 t1 t2 ...   |
 *              k = 0            k = 1            k = 2
 *
 * After the last whole vector of a row up to V-1 columns are left. They have a statement
 * of their own: with a test inside the vector the compiler would split its store. */
template <activation A, int V, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    constexpr int K = VECS_PER_THREAD<V>;
    size_t row = blockIdx.x / tiles;  // [0, R)
    unsigned tile = blockIdx.x % tiles, whole = F / V;
    out += row * F, gate += row * ld, up += row * ld;

    vec<E, V> z[K], u[K];
    unsigned first = tile * K * blockDim.x + threadIdx.x;  // vector of the row
#pragma unroll
    for (int k = 0; k < K; k++) {
        unsigned i = first + k * blockDim.x;
        if (i >= whole) continue;
        z[k] = load_vec<V>(gate, i);
        u[k] = load_vec<V>(up, i);
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
        unsigned i = first + k * blockDim.x;
        if (i >= whole) continue;
#pragma unroll
        for (int j = 0; j < V; j++)
            u[k][j] = gated<A>(z[k][j], u[k][j]);
        store_vec(out, i, u[k]);
    }
    unsigned tail = whole * V + threadIdx.x;
    if (tile == 0 && tail < (unsigned)F) out[tail] = gated<A>(gate[tail], up[tail]);
}
// END SOLUTION

// BEGIN SOLUTION 01.3 (about 15 lines in a first version)
//> /* One thread for each column of dgate and dup. dgate may be gate, dup may be up. */
//> template <activation A, typename E>
//> static __global__ void backward_kernel(
//>     E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld)
//> {
//>     // TODO(01.3): read gate, up and dout, all three before anything is written. About 5
//>     // lines.
//>     // TODO(01.3): dgate = dout up s (1 + z (1 - s)) and dup = dout z s. About 4 lines.
//>     // TODO(01.4): the same for A == GELU_TANH, with the derivative in swiglu.h.
//> }
/* Replaces (gate, up) by (dgate, dup). */
template <activation A, typename E>
static __device__ __forceinline__ void gradients(E &gate, E &up, E dout)
{
    float z = (float)gate, u = (float)up, dy = (float)dout;
    float s = sigmoid<E>(inner<A>(z));
    float slope = s * (1.0f + inner_slope<A>(z) * (1.0f - s));  // act'(z) <= 1.13
    // 0.5 first and 2 last: no step overflows unless the result does
    gate = E(0.5f * slope * dy * u * 2.0f);
    up = E(z * s * dy);
}

/* dgate may be gate, and dup may be up: a thread reads everything before it writes, and
 * no other thread accesses its columns. */
template <activation A, int V, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    constexpr int K = VECS_PER_THREAD<V>;
    size_t row = blockIdx.x / tiles;  // [0, R)
    unsigned tile = blockIdx.x % tiles, whole = F / V;
    dgate += row * ld, dup += row * ld;
    dout += row * F, gate += row * ld, up += row * ld;

    vec<E, V> z[K], u[K], dy[K];
    unsigned first = tile * K * blockDim.x + threadIdx.x;  // vector of the row
#pragma unroll
    for (int k = 0; k < K; k++) {
        unsigned i = first + k * blockDim.x;
        if (i >= whole) continue;
        z[k] = load_vec<V>(gate, i);
        u[k] = load_vec<V>(up, i);
        dy[k] = load_vec<V>(dout, i);
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
        unsigned i = first + k * blockDim.x;
        if (i >= whole) continue;
#pragma unroll
        for (int j = 0; j < V; j++)
            gradients<A>(z[k][j], u[k][j], dy[k][j]);
        store_vec(dgate, i, z[k]);
        store_vec(dup, i, u[k]);
    }
    unsigned tail = whole * V + threadIdx.x;
    if (tile == 0 && tail < (unsigned)F) {
        E g = gate[tail], v = up[tail];
        gradients<A>(g, v, dout[tail]);
        dgate[tail] = g, dup[tail] = v;
    }
}
// END SOLUTION

/* --- launchers ---------------------------------------------------------------------- */

// BEGIN SOLUTION 01.1 (about 20 lines)
/* How the kernels divide the tensors: rows of F columns into tiles, one per block */
typedef struct layout {
    int R, F, ld, threads, tiles;
    bool vectors;  // 16-byte accesses; otherwise single elements
} layout;

/* `aligned`: the first row of every tensor starts at a multiple of 16 bytes. */
template <typename E> static layout choose_layout(bool aligned, int R, int F, int ld)
{
    if (ld == F && (long long)R * F <= INT_MAX)  // no gaps: one long row
        F = ld = R * F, R = 1;
    int V = VEC16<E>;
    bool vectors = aligned && (R == 1 || (F % V == 0 && ld % V == 0));
    if (!vectors) V = 1;

    int columns = V * (vectors ? VECS_PER_THREAD<4> : VECS_PER_THREAD<1>);  // per thread
    int threads = F / columns + (F % columns != 0);                         // per row
    int tiles = threads / MAX_THREADS + (threads % MAX_THREADS != 0);
    threads = (threads + tiles - 1) / tiles;
    if (threads < V) threads = V;  // at least one for each column of the tail
    return {R, F, ld, threads, tiles, vectors};
}
// END SOLUTION

template <activation A, typename E>
static wb_status
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!out || !gate || !up) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 01.1 (about 5 lines)
    //> // TODO(01.1): forward_kernel<A><<<blocks, threads, 0, stream>>>(...) with enough
    //> // blocks for R F threads, then return wb_launched(). About 4 lines.
    //> // TODO(01.4): delete the next line when the kernel computes GELU_TANH.
    //> if (A == GELU_TANH) return WB_TODO;
    //> (void)stream;
    //> return WB_TODO;
    layout l = choose_layout<E>(is_aligned(16, out, gate, up), R, F, ld);
    auto kernel = l.vectors ? forward_kernel<A, VEC16<E>, E> : forward_kernel<A, 1, E>;
    kernel<<<(unsigned)l.R * l.tiles, l.threads, 0, stream>>>(
        out, gate, up, l.F, l.ld, l.tiles);
    return wb_launched();
    // END SOLUTION
}

template <activation A, typename E>
static wb_status backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (R < 0 || F < 0 || ld < F) return WB_BAD_SHAPE;
    if (R == 0 || F == 0) return WB_OK;
    if (!dgate || !dup || !dout || !gate || !up) return WB_BAD_SHAPE;
    // BEGIN SOLUTION 01.3 (about 5 lines)
    //> // TODO(01.3): launch backward_kernel<A>. About 4 lines.
    //> // TODO(01.4): delete the next line when the kernel computes GELU_TANH.
    //> if (A == GELU_TANH) return WB_TODO;
    //> (void)stream;
    //> return WB_TODO;
    layout l = choose_layout<E>(is_aligned(16, dgate, dup, dout, gate, up), R, F, ld);
    auto kernel = l.vectors ? backward_kernel<A, VEC16<E>, E> : backward_kernel<A, 1, E>;
    kernel<<<(unsigned)l.R * l.tiles, l.threads, 0, stream>>>(
        dgate, dup, dout, gate, up, l.F, l.ld, l.tiles);
    return wb_launched();
    // END SOLUTION
}

/* The functions of swiglu.h */
#define DEFINE(name, ACTIVATION, E, e)                                                   \
    wb_status name##_forward_##e(                                                        \
        E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)   \
    {                                                                                    \
        return forward<ACTIVATION>(out, gate, up, R, F, ld, stream);                     \
    }                                                                                    \
    wb_status name##_backward_##e(                                                       \
        E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F,       \
        int ld, cudaStream_t stream)                                                     \
    {                                                                                    \
        return backward<ACTIVATION>(dgate, dup, dout, gate, up, R, F, ld, stream);       \
    }
DEFINE(swiglu, SILU, float, f32)
DEFINE(swiglu, SILU, wb_f16, f16)
DEFINE(swiglu, SILU, wb_bf16, bf16)
DEFINE(geglu, GELU_TANH, float, f32)
DEFINE(geglu, GELU_TANH, wb_f16, f16)
DEFINE(geglu, GELU_TANH, wb_bf16, bf16)
#undef DEFINE
