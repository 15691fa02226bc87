// BEGIN SOLUTION 07.3 (about 110 lines)
/* decode_plain.cuh - lab 07, parts 07.3 and 07.4: the slots of a part, without tensor
 * cores.
 *
 * plain_kernel serves f32, heads with keys of their own (H = K), and f16 and bf16 where
 * tensor_kernel (decode_tensor.cuh) cannot run. A thread per slot computes scores. A
 * thread per 16 bytes of a row sums values; where those are fewer than the block's
 * threads, groups of them share the slots.
 */
#ifndef DECODE_PLAIN_CUH
#define DECODE_PLAIN_CUH
#include "cuda/vec.cuh"
#include "decode.cuh"

/* Query heads of a tile. With 8, a 16-bit part would fill 48 KB: on Turing, one block per
 * multiprocessor. */
template <typename E> constexpr int PLAIN_HEADS = sizeof(E) == 2 ? 4 : 8;

/* p[h][j] = q[h] . key j of the part */
template <int HEADS, typename E>
static __device__ __forceinline__ void plain_scores(
    float (&p)[HEADS][MAX_SLOTS], const float (&q)[HEADS][MAX_D], const E *keys,
    size_t row, int count, int D)
{
    constexpr int N = VEC16<E>;
    constexpr int SUMS = HEADS == 1 ? N : 1;  // per score: additions that do not wait
    for (int j = threadIdx.x; j < count; j += THREADS) {
        float sum[HEADS][SUMS] = {};
#pragma unroll 4
        for (int d = 0; d < D / N; d++) {
            vec<E, N> k = load_vec<N>(keys + j * row + d * N);
#pragma unroll
            for (int h = 0; h < HEADS; h++)
#pragma unroll
                for (int c = 0; c < N; c++)
                    sum[h][c % SUMS] += q[h][d * N + c] * (float)k[c];
        }
#pragma unroll
        for (int h = 0; h < HEADS; h++) {
            float score = 0.0f;
#pragma unroll
            for (int c = 0; c < SUMS; c++)
                score += sum[h][c];
            p[h][j] = score;
        }
    }
}

/* Scores become p = e^(score - max). A warp per head. */
template <int HEADS, typename E>
static __device__ __forceinline__ void plain_softmax(
    float (&p)[HEADS][MAX_SLOTS], softmax *softmaxes, const token<E> &a,
    const block_work &at, const split &s)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int h = warp; h < at.heads; h += WARPS_PER_BLOCK) {
        float max = -INFINITY, sum = 0.0f;
        for (int j = lane; j < at.count; j += WARP)
            max = fmaxf(max, p[h][j]);
        max = warp_max(max);
        for (int j = lane; j < at.count; j += WARP)
            sum += p[h][j] = expf(p[h][j] - max);
        sum = warp_sum(sum);
        if (lane == 0)
            softmaxes[record(at.b, at.head + h, a.H, at.part, s.parts, 1)] = {max, sum};
    }
}

/* partial[h][group] = the sum of p[h][j] value j over the slots of a group. Returns how
 * many groups there are. */
template <int HEADS, typename E>
static __device__ __forceinline__ int plain_values(
    float *partial, const float (&p)[HEADS][MAX_SLOTS], const E *values, size_t row,
    int count, int D)
{
    constexpr int N = VEC16<E>;
    int tid = threadIdx.x, vecs = D / N, groups = THREADS / vecs;
    int group = tid / vecs, d = tid % vecs;
    float y[HEADS][N] = {};
    if (group >= groups) return groups;
#pragma unroll 4
    for (int j = group; j < count; j += groups) {
        vec<E, N> v = load_vec<N>(values + j * row + d * N);
#pragma unroll
        for (int h = 0; h < HEADS; h++)
#pragma unroll
            for (int c = 0; c < N; c++)
                y[h][c] += p[h][j] * (float)v[c];
    }
#pragma unroll
    for (int h = 0; h < HEADS; h++)
#pragma unroll
        for (int c = 0; c < N; c++)
            partial[(h * groups + group) * D + d * N + c] = y[h][c];
    return groups;
}

/* HEADS query heads at a time */
template <int HEADS, typename E>
static __global__ void __launch_bounds__(THREADS)
    plain_kernel(token<E> a, split s, float *sums, softmax *softmaxes)
{
    __shared__ float q[HEADS][MAX_D], p[HEADS][MAX_SLOTS];
    __shared__ float partial[THREADS * VEC16<E> * HEADS];
    pdl_trigger();
    pdl_wait();
    queries<HEADS, E> own;
    block_work at = block_work_of(a, s, HEADS);
    int tid = threadIdx.x, D = a.D;
    size_t row = (size_t)a.K * D;  // from slot to slot
    size_t from = ((size_t)at.b * a.S + at.first) * row + head_offset(a, at.g);

    for (int i = tid; i < (HEADS - at.heads) * D; i += THREADS)
        q[at.heads + i / D][i % D] = 0.0f;  // a tile that is not full
    own.load(a, at);
    own.rotate(a, at, [&](int h, int d, float x) { q[h][d] = a.scale * x; });
    __syncthreads();  // q is visible to the block
    plain_scores<HEADS>(p, q, a.kcache + from, row, at.count, D);
    __syncthreads();  // all scores are visible to the block
    plain_softmax<HEADS>(p, softmaxes, a, at, s);
    __syncthreads();  // all p are visible to the block
    int groups = plain_values<HEADS>(partial, p, a.vcache + from, row, at.count, D);
    __syncthreads();  // the sums of all groups are visible to the block
    for (int h = 0; h < at.heads; h++)
        for (int i = tid; i < D; i += THREADS) {
            float sum = 0.0f;
            for (int k = 0; k < groups; k++)
                sum += partial[(h * groups + k) * D + i];
            sums[record(at.b, at.head + h, a.H, at.part, s.parts, D) + i] = sum;
        }
}
#endif
// END SOLUTION
