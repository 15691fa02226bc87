/* 02_rows.cu - one block per row, one exponential per element.
 *
 * Lesson: the row follows from the block index, so no thread divides the index of an
 * element. 1 + tanh(u) is 2 s(2u), so both activations and both derivatives cost one
 * exponential and one fast division (activations.cuh). A contiguous tensor is one long
 * row, cut into tiles of TILE columns so that every SM has work.
 */
// fails: vectors,back_vectors,geglu_vectors,geglu_back_vec
#include "swiglu.h"

#include "activations.cuh"

constexpr int THREADS = 256;
constexpr int TILE = 4 * THREADS;  // columns per block

/* One block per tile: gridDim.x = R * tiles */
template <activation A, typename E>
static __global__ void
forward_kernel(E *out, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long first = (long long)(blockIdx.x % tiles) * TILE;
    long long end = min(first + TILE, (long long)F);
    out += row * F, gate += row * ld, up += row * ld;
    for (long long f = first + threadIdx.x; f < end; f += THREADS)
        out[f] = gated<A>(gate[f], up[f]);
}

template <activation A, typename E>
static __global__ void backward_kernel(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int F, int ld, int tiles)
{
    size_t row = blockIdx.x / tiles;
    long long first = (long long)(blockIdx.x % tiles) * TILE;
    long long end = min(first + TILE, (long long)F);
    dgate += row * ld, dup += row * ld, dout += row * F, gate += row * ld, up += row * ld;
    for (long long f = first + threadIdx.x; f < end; f += THREADS) {
        E g = gate[f], u = up[f];
        gradients<A>(g, u, dout[f]);
        dgate[f] = g, dup[f] = u;
    }
}

template <activation A, typename E>
static void
forward(E *out, const E *gate, const E *up, int R, int F, int ld, cudaStream_t stream)
{
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int tiles = (int)(((long long)F + TILE - 1) / TILE);
    forward_kernel<A>
        <<<(unsigned)R * tiles, THREADS, 0, stream>>>(out, gate, up, F, ld, tiles);
}

template <activation A, typename E>
static void backward(
    E *dgate, E *dup, const E *dout, const E *gate, const E *up, int R, int F, int ld,
    cudaStream_t stream)
{
    if (ld == F && (long long)R * F <= INT_MAX) F = ld = R * F, R = 1;
    int tiles = (int)(((long long)F + TILE - 1) / TILE);
    backward_kernel<A><<<(unsigned)R * tiles, THREADS, 0, stream>>>(
        dgate, dup, dout, gate, up, F, ld, tiles);
}

#include "contract.h"
