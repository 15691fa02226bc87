/* decode_tensor.cuh - room for a kernel for 16-bit caches on tensor cores. The solution's stands
 * here; a pass needs none.
 */
#ifndef DECODE_TENSOR_CUH
#define DECODE_TENSOR_CUH
#include "decode.cuh"

// BEGIN SOLUTION 07.7 (about 170 lines)
//> /* TODO(07.7): nothing, if the templates of attention_decode.cu serve f16 and bf16. */
#include <cuda_pipeline.h>
#include <mma.h>

constexpr int ROWS = 16;   // of a tensor core's matrix: query heads, if need be fewer
constexpr int TILE = 64;   // slots that are copied at a time, 16 a warp
constexpr int STAGES = 2;  // tiles in shared memory: one in use, one on its way
constexpr int PAD = 8;     // elements behind a row: rows begin in different banks
constexpr int PITCH_S = MOST + 4;    // floats from head to head in the scores
constexpr int PITCH_P = MOST + PAD;  // elements from head to head in p

/* Shared memory of a block, in bytes; D16: D up to a multiple of 16. */
static __host__ __device__ int pitch_of(int D)
{
    return (D + ROWS - 1) / ROWS * ROWS + PAD;
}

static size_t tensor_bytes(int D)
{
    size_t elements = (size_t)(STAGES * TILE + 2 * ROWS) * pitch_of(D) + ROWS * PITCH_P;
    return elements * 2 + ROWS * PITCH_S * sizeof(float);
}

/* TILE rows of the ring to shared memory, 16 bytes a copy; behind the last row zeros, which
 * no p = 0 makes NaN. */
template <typename E>
static __device__ void copy_tile(E *tile, const E *from, size_t row, int count, int D)
{
    int pitch = pitch_of(D), vecs = D / 8, lane = threadIdx.x % WARP;
    int together = WARP / vecs, r = lane / vecs, c = lane % vecs * 8;  // rows of a warp
    if (r < together)
        for (int i = threadIdx.x / WARP * together + r; i < TILE;
             i += BLOCK / WARP * together) {
            bool there = i < count;
            __pipeline_memcpy_async(
                tile + i * pitch + c, from + (there ? i : 0) * row + c, 16,
                there ? 0 : 16);
        }
    __pipeline_commit();
}

using namespace nvcuda;
template <typename E>
using left = wmma::fragment<wmma::matrix_a, 16, 16, 16, E, wmma::row_major>;
template <typename E, typename L>
using right = wmma::fragment<wmma::matrix_b, 16, 16, 16, E, L>;
using result = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

/* Scores of a warp's 16 slots: q is the sum of two E, for it has more digits than one. */
template <typename E>
static __device__ void
scores_of(float *score, const E *high, const E *low, const E *tile, int pitch)
{
    int warp = threadIdx.x / WARP;
    result sum;
    wmma::fill_fragment(sum, 0.0f);
#pragma unroll 4
    for (int d = 0; d < pitch - PAD; d += 16) {
        left<E> a;
        right<E, wmma::col_major> k;  // (channels, slots)
        wmma::load_matrix_sync(k, tile + warp * 16 * pitch + d, pitch);
        wmma::load_matrix_sync(a, high + d, pitch);
        wmma::mma_sync(sum, a, k, sum);
        wmma::load_matrix_sync(a, low + d, pitch);
        wmma::mma_sync(sum, a, k, sum);
    }
    wmma::store_matrix_sync(score + warp * 16, sum, PITCH_S, wmma::mem_row_major);
}

/* y += p v of a tile, for the 16-channel columns of this warp: warp, warp + 4, ... */
template <typename E>
static __device__ void add_values(result (&y)[4], const E *p, const E *tile, int pitch)
{
    int warp = threadIdx.x / WARP;
    for (int j = 0; j < TILE; j += 16) {
        left<E> a;
        wmma::load_matrix_sync(a, p + j, PITCH_P);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int d = (warp + 4 * i) * 16;
            if (d >= pitch - PAD) continue;
            right<E, wmma::row_major> v;  // (slots, channels)
            wmma::load_matrix_sync(v, tile + j * pitch + d, pitch);
            wmma::mma_sync(y[i], a, v, y[i]);
        }
    }
}

/* A stream of tiles: those of the keys, then those of the values. While one is worked on,
 * the next is on its way, also across the softmax in between. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK, 2)
    tensor_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    extern __shared__ __align__(128) unsigned char memory[];
    place at = place_of(a, s, ROWS);
    int part = blockIdx.x % s.parts, tid = threadIdx.x, warp = tid / WARP, D = a.D;
    int pitch = pitch_of(D), tiles = (at.count + TILE - 1) / TILE;
    float *score = (float *)memory;           // (ROWS, PITCH_S)
    E *ring = (E *)(score + ROWS * PITCH_S);  // (STAGES, TILE, pitch)
    E *high = ring + STAGES * TILE * pitch;   // (ROWS, pitch)
    E *low = high + ROWS * pitch;             // (ROWS, pitch)
    E *p = low + ROWS * pitch;                // (ROWS, PITCH_P)
    size_t row = (size_t)a.K * D, from = ((size_t)at.b * a.S + at.first) * row + at.g * D;

    if (D % 16)  // the last 16 channels are not all there: the others are 0
        for (int i = tid; i < STAGES * TILE; i += BLOCK)
            *(float4 *)(ring + i * pitch + D) = {};
    auto fetch = [&](int t) {
        if (t >= 2 * tiles) {
            __pipeline_commit();  // an empty one, so that the count of groups stays
            return;
        }
        int first = t % tiles * TILE;
        const E *source = t < tiles ? a.kcache : a.vcache;
        copy_tile(
            ring + t % STAGES * TILE * pitch, source + from + first * row, row,
            at.count - first, D);
    };
    for (int t = 0; t < STAGES; t++)
        fetch(t);
    for (int i = tid; i < 2 * ROWS * pitch / 8; i += BLOCK)
        ((float4 *)high)[i] = {};  // high and low: rows without a head, channels behind D
    __syncthreads();               // before the others are stored
    each_query<ROWS>(a, at, [&](int h, int d, float x) {
        E near = (E)x;
        high[h * pitch + d] = near;
        low[h * pitch + d] = (E)(x - (float)near);
    });

    for (int t = 0; t < tiles; t++) {
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();  // tile t is there, and q
        scores_of(score + t * TILE, high, low, ring + t % STAGES * TILE * pitch, pitch);
        __syncthreads();  // nobody reads tile t any more
        fetch(t + STAGES);
    }
    for (int h = warp; h < at.heads; h += BLOCK / WARP) {  // of other rows anything: p is
        constexpr int EACH = MOST / WARP;                  // multiplied row by row
        float x[EACH], most = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int j = tid % WARP + u * WARP;
            x[u] = j < at.count ? score[h * PITCH_S + j] * a.scale : -INFINITY;
            most = fmaxf(most, x[u]);
        }
        most = warp_max(most);
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int j = tid % WARP + u * WARP;
            if (j >= tiles * TILE) break;
            float w = j < at.count ? expf(x[u] - most) : 0.0f;
            p[h * PITCH_P + j] = (E)w;
            sum += w;
        }
        sum = warp_sum(sum);
        if (tid % WARP == 0)
            softmaxes[record(at.b, at.head + h, a.H, part, s.parts, 1)] = {most, sum};
    }
    if (at.count == 0) return;  // the second kernel takes nothing from a sum of 0

    result y[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        wmma::fill_fragment(y[i], 0.0f);
    for (int t = tiles; t < 2 * tiles; t++) {
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();  // tile t is there, and p
        add_values(y, p + (t - tiles) * TILE, ring + t % STAGES * TILE * pitch, pitch);
        __syncthreads();  // nobody reads tile t any more
        fetch(t + STAGES);
    }
    float *total = (float *)ring;  // (ROWS, pitch), where the tiles were
#pragma unroll
    for (int i = 0; i < 4; i++)
        if ((warp + 4 * i) * 16 < pitch - PAD)
            wmma::store_matrix_sync(
                total + (warp + 4 * i) * 16, y[i], pitch, wmma::mem_row_major);
    __syncthreads();  // the sums of all warps are there
    for (int h = warp; h < at.heads; h += BLOCK / WARP) {
        float *to = sums + record(at.b, at.head + h, a.H, part, s.parts, D);
        for (int d = tid % WARP; d < D; d += WARP)
            to[d] = total[h * pitch + d];
    }
}
// END SOLUTION
#endif
