/* rows.cuh - lab 04: what the kernels of all parts share, above all the reductions over
 * the threads of a row. */
#ifndef ROWS_CUH
#define ROWS_CUH
#include <float.h>

#include "cuda/device.cuh"
#include "cuda/math.cuh"
#include "cuda/vec.cuh"
#include "softmax.h"

// BEGIN SOLUTION 04.1 (about 170 lines)
//> /* TODO(04.1, step 1): block_max and block_sum: the maximum and the sum of v over the
//>  * block, in all of its threads, as in lab 03. Every part needs them. 10 lines each. */

/* short rows     4, 8 or 32 lanes each   the row stays in registers
 * middle rows    one block each          the row stays in registers
 * long rows      a block or a cluster    the row stays in shared memory and registers;
 *                of blocks each          what does not fit is read again, from the L2
 * few long rows  many blocks each        partial results meet in the workspace
 *
 * The plan is always the same: every thread keeps the maximum and the sum of its own
 * columns (struct stats), the stats of the threads are combined, and then each thread
 * goes once more over what it kept. out is written once. */
constexpr int WARP = 32;
constexpr int SHORT_ROW_THREADS = 128;  // per block with several rows
constexpr int ROW_THREADS = 512;        // at most, if a row stays in registers: 128 each

/* What a thread keeps in registers. Four vectors of 16 bytes, all in flight together, are
 * enough to keep the memory busy; of single elements (V = 1) a thread keeps 8. */
template <int V> constexpr int VECS_PER_THREAD = V == 1 ? 8 : 4;
template <int V> constexpr int COLUMNS_PER_THREAD = VECS_PER_THREAD<V> *V;

/* --- a row and its threads ---------------------------------------------------------- */

/* A thread's place: the row and, among the `width` threads of that row, its number */
struct place {
    int row, lane, width;
};
template <int LANES, int V> static __device__ __forceinline__ place my_place(void)
{
    static_assert(LANES == 0 || LANES >= V, "one lane for each column of the tail");
    int thread = threadIdx.x, block = blockIdx.x;
    if constexpr (LANES == 0)
        return {block, thread, (int)blockDim.x};
    else
        return {
            block * (SHORT_ROW_THREADS / LANES) + thread / LANES, thread % LANES, LANES};
}

/* Which of the n columns a thread takes: of the `whole` vectors lane, lane + width, ...,
 * and one column of the tail. The threads of a row load `step` vectors at a time; the
 * last step starts at vector `last`. Here 4 lanes and V = 4:
 *
 *     |0000|1111|2222|3333|0000|1111|012.|....|....|
 *      whole vectors                 tail, then zeros up to N                     */
struct share {
    int n, lane, width, whole, tail, step, last;
};
template <int V>
static __device__ __forceinline__ share share_of(int n, int lane, int width)
{
    int whole = n / V, tail = whole * V + lane, step = VECS_PER_THREAD<V> * width;
    int last = whole > 0 ? (whole - 1) / step * step : 0;
    return {n, lane, width, whole, tail, step, last};
}

/* Loads this thread's vectors of the step that starts at vector `first`. */
template <typename E, int V, int K>
static __device__ __forceinline__ void
load_step(raw<E, V> (&in)[K], const E *row, int first, const share &s)
{
#pragma unroll
    for (int k = 0; k < K; k++) {
        int i = first + k * s.width + s.lane;
        if (i < s.whole) in[k] = load_raw<E, V>(row, i);
    }
}

/* Vector i of a row of N columns: zeros from column n on. What precedes n stays. */
template <typename E, int V>
static __device__ __forceinline__ void store_zeros(E *row, int i, int n, int N)
{
    int c = i * V;
    if (c >= n && N - c >= V) {
        const float zeros[V] = {};
        store_raw<E, V>(row, i, to_raw<E, V>(zeros));
        return;
    }
    for (int j = 0; j < V; j++)
        if (c + j >= n && c + j < N) row[c + j] = E(0.0f);
}

/* --- maximum and sum ---------------------------------------------------------------- */

/* exp(scale x - m), as a power of two. In float the difference is rounded first, and the
 * error grows with it; with the one fma of a 16-bit type it would grow with |x|. */
template <typename E>
static __device__ __forceinline__ float term(float x, float scale, float m)
{
    if (sizeof(E) == 4) return fast_exp2(fmaf(x, scale, -m) * LOG2_E);
    return fast_exp2(fmaf(x, scale * LOG2_E, -m * LOG2_E));
}

/* Of some columns: the maximum, and the sum of exp(column - max) */
struct stats {
    float max, sum;
};

/* No column. Not -inf: (-inf) - (-inf) is NaN, and exp(-FLT_MAX - m) is 0 as well. */
static __device__ __forceinline__ stats no_columns(void)
{
    return {-FLT_MAX, 0.0f};
}

/* A larger maximum leaves the sum in units of the old one: rescale it. */
static __device__ __forceinline__ void rescale(stats &s, float m)
{
    if (m <= s.max) return;
    s.sum *= expf(s.max - m);
    s.max = m;
}

/* Adds V columns to the running maximum and sum. */
template <typename E, int V>
static __device__ __forceinline__ void
online_softmax(stats &s, const float (&x)[V], float scale)
{
    float m = x[0] * scale;
    for (int j = 1; j < V; j++)
        m = fmaxf(m, x[j] * scale);
    rescale(s, m);
    for (int j = 0; j < V; j++)
        s.sum += term<E>(x[j], scale, s.max);
}

/* --- reductions --------------------------------------------------------------------- */

/* Every lane of a group of LANES gets the group's maximum or sum. Butterfly: lane i meets
 * i^16, i^8 ... and all lanes add in the same order, so all have the same bits. */
template <int LANES> static __device__ __forceinline__ float group_max(float v)
{
    static_assert(LANES == 4 || LANES == 8 || LANES == WARP, "");
#pragma unroll
    for (int o = LANES / 2; o > 0; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
template <int LANES> static __device__ __forceinline__ float group_sum(float v)
{
#pragma unroll
    for (int o = LANES / 2; o > 0; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

/* The stats of the LANES lanes that share a row, or (LANES = 0) of the block, in all of
 * its threads. Every warp repeats the last step itself, which saves a barrier. */
template <int LANES> static __device__ stats combine(stats own)
{
    if constexpr (LANES > 0) {
        float m = group_max<LANES>(own.max);
        return {m, group_sum<LANES>(own.sum * expf(own.max - m))};
    } else {
        __shared__ stats of_warp[ROW_THREADS / WARP];
        int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
        own = combine<WARP>(own);
        if (lane == 0) of_warp[threadIdx.x / WARP] = own;
        __syncthreads();  // every warp's stats are in of_warp
        return combine<WARP>(lane < warps ? of_warp[lane] : no_columns());
    }
}

/* --- launches ----------------------------------------------------------------------- */

/* Can rows that are `stride` elements apart be read in vectors of 16 bytes? */
template <typename E> static bool rows_aligned(const void *p, int R, int stride)
{
    return is_aligned(16, p) && (R <= 1 || stride % VEC16<E> == 0);
}

/* Threads of a block that takes a row of n columns, one step at a time */
template <int V> static int row_threads(int n, int most)
{
    int threads = (n + COLUMNS_PER_THREAD<V> - 1) / COLUMNS_PER_THREAD<V>;
    threads = (threads + WARP - 1) / WARP * WARP;
    return threads < most ? threads : most;
}

/* Blocks for R rows of `lanes` lanes each */
static unsigned short_blocks(int R, int lanes)
{
    int rows = SHORT_ROW_THREADS / lanes;
    return ((unsigned)R + rows - 1) / rows;
}
// END SOLUTION
#endif
