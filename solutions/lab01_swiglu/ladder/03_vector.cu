/* 03_vector.cu - 16-byte accesses.
 *
 * Lesson: a warp that requests 512 bytes at a time needs a quarter (f32) or an eighth
 * (16-bit) of the instructions to move the same data. The price is alignment: where a row
 * of any tensor does not start at a multiple of 16 bytes (packed, F odd), vectors have
 * one element. The columns after the last whole vector have a statement of their own:
 * with a test inside the vector the compiler would merge both and store 2 bytes at a
 * time.
 */
#include "swiglu.h"

#include "activations.cuh"
#include "cuda/vec.cuh"

constexpr int THREADS = 256;

/* One vector per thread; the first V - 1 threads also take one column of the tail each.
 * gridDim.x = R * tiles */
template <activation A, int V, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    unsigned tile = blockIdx.x % tiles, whole = F / V;  // whole vectors of the row
    unsigned i = tile * THREADS + threadIdx.x, tail = whole * V + threadIdx.x;
    out += row * F, gate += row * ld, up += row * ld;
    if (i < whole) {
        vec<E, V> z = load_vec<V>(gate, i);
        vec<E, V> u = load_vec<V>(up, i);
#pragma unroll
        for (int j = 0; j < V; j++)
            u[j] = gated<A>(z[j], u[j]);
        store_vec(out, i, u);
    }
    if (tile == 0 && tail < (unsigned)F) out[tail] = gated<A>(gate[tail], up[tail]);
}

template <activation A, int V, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    unsigned tile = blockIdx.x % tiles, whole = F / V;
    unsigned i = tile * THREADS + threadIdx.x, tail = whole * V + threadIdx.x;
    dgate += row * ld, dup += row * ld, dout += row * F, gate += row * ld, up += row * ld;
    if (i < whole) {
        vec<E, V> z = load_vec<V>(gate, i);
        vec<E, V> u = load_vec<V>(up, i);
        vec<E, V> dy = load_vec<V>(dout, i);
#pragma unroll
        for (int j = 0; j < V; j++)
            gradients<A>(z[j], u[j], dy[j]);
        store_vec(dgate, i, z);
        store_vec(dup, i, u);
    }
    if (tile == 0 && tail < (unsigned)F) {
        E g = gate[tail], v = up[tail];
        gradients<A>(g, v, dout[tail]);
        dgate[tail] = g, dup[tail] = v;
    }
}

/* VEC16<E> if every row of every tensor starts at a multiple of 16 bytes, else 1.
 * `aligned`: the first row of each does. */
template <typename E> static int vec_width(bool aligned, int R, int F, int ld)
{
    aligned = aligned && (R == 1 || (F % VEC16<E> == 0 && ld % VEC16<E> == 0));
    return aligned ? VEC16<E> : 1;
}

template <activation A, typename E>
static void
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int V = vec_width<E>(is_aligned(16, out, gate, up), R, F, ld);
    int tiles = (int)(((long long)F + V * THREADS - 1) / (V * THREADS));
    auto kernel = V > 1 ? forward_kernel<A, VEC16<E>, E> : forward_kernel<A, 1, E>;
    kernel<<<(unsigned)R * tiles, THREADS, 0, stream>>>(out, gate, up, F, ld, tiles);
}

template <activation A, typename E>
static void backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int V = vec_width<E>(is_aligned(16, dgate, dup, dout, gate, up), R, F, ld);
    int tiles = (int)(((long long)F + V * THREADS - 1) / (V * THREADS));
    auto kernel = V > 1 ? backward_kernel<A, VEC16<E>, E> : backward_kernel<A, 1, E>;
    kernel<<<(unsigned)R * tiles, THREADS, 0, stream>>>(
        dgate, dup, dout, gate, up, F, ld, tiles);
}

#include "contract.h"
