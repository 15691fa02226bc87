// BEGIN SOLUTION 05.6 (about 170 lines)
/* attention_tensor_softmax.cuh - lab 05, part 05.6: masked scores become probabilities,
 * and the weighted sums O go to device memory. P is the plan of a kernel
 * (attention_tensor.cu).
 */
#ifndef ATTENTION_TENSOR_SOFTMAX_CUH
#define ATTENTION_TENSOR_SOFTMAX_CUH
#include "attention_tensor_rows.cuh"
#include "cuda/math.cuh"

/* --- softmax ------------------------------------------------------------------------ */

/* Element i of C is in row lane/4 + 8*(i/2), column 2*(lane%4) + i%2. The row of `half`
 * sees the keys [first, last]; this lane's first column is `key`. */
template <int N8>
static __device__ __forceinline__ void
mask_row(float (&s)[N8][4], int half, int first, int last, int key)
{
#pragma unroll
    for (int n = 0; n < N8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (key + n * 8 + i < first || key + n * 8 + i > last)
                s[n][2 * half + i] = -INFINITY;
}

template <typename P>
static __device__ __forceinline__ void
apply_mask(float (&s)[P::M][P::BN / 8][4], const row_info *rows, int first_key, int lane)
{
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            row_info row = rows[m * 16 + half * 8 + lane / 4];
            mask_row(s[m], half, row.first, row.last, first_key + lane % 4 * 2);
        }
}

/* What a lane keeps of its 2 M rows: its elements of O, the exponent that everything is
 * relative to (a maximum, as a power of two), and its share of the sum of
 * exponentials. */
template <typename P> struct accumulator {
    float o[P::M][P::D / 8][4];
    float max[P::M][2], sum[P::M][2];
};

template <typename P> static __device__ __forceinline__ void clear(accumulator<P> &acc)
{
#pragma unroll
    for (int m = 0; m < P::M; m++) {
#pragma unroll
        for (int n = 0; n < P::D / 8; n++)
            for (int i = 0; i < 4; i++)
                acc.o[m][n][i] = 0.0f;
        for (int half = 0; half < 2; half++)  // not -inf: (-inf) - (-inf) is NaN
            acc.max[m][half] = -1e30f, acc.sum[m][half] = 0.0f;
    }
}

/* O need not be rescaled for every new maximum: any number near the maximum works as
 * well. So it changes only where a maximum grows by more than a factor of 2^8, in a few
 * tiles. Then p <= 2^8, far from the largest f16 (65504).
 * Returns whether one of the warp's does; then O is to be multiplied by `shrink`. */
template <typename P>
static __device__ __forceinline__ bool raise_max(
    accumulator<P> &acc, float (&shrink)[P::M][2], const float (&s)[P::M][P::BN / 8][4],
    float c)
{
    const float NEAR = 8.0f;
    float top[P::M][2];
    bool grows = false;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float t = fmaxf(s[m][0][2 * half], s[m][0][2 * half + 1]);
#pragma unroll
            for (int n = 1; n < P::BN / 8; n++)
                t = fmaxf(t, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
            t = fmaxf(t, __shfl_xor_sync(~0u, t, 1));  // four lanes share a row
            t = fmaxf(t, __shfl_xor_sync(~0u, t, 2));
            top[m][half] = t *= c;
            grows |= t - acc.max[m][half] > NEAR;
        }
    grows = __any_sync(~0u, grows);
    if (grows) {
#pragma unroll
        for (int m = 0; m < P::M; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float max = fmaxf(acc.max[m][half], top[m][half]);
                shrink[m][half] = fast_exp2(acc.max[m][half] - max);
                acc.max[m][half] = max, acc.sum[m][half] *= shrink[m][half];
            }
    }
    return grows;
}

template <typename P>
static __device__ __forceinline__ void
shrink_o(accumulator<P> &acc, const float (&shrink)[P::M][2])
{
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int n = 0; n < P::D / 8; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                acc.o[m][n][i] *= shrink[m][i / 2];
}

/* s becomes p = exp(scale (s - max)), as a power of two with c = scale log2(e): one FMA
 * and one ex2 each. */
template <typename P>
static __device__ __forceinline__ void
probabilities(accumulator<P> &acc, float (&s)[P::M][P::BN / 8][4], float c)
{
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float max = acc.max[m][half], sum = 0.0f;
#pragma unroll
            for (int n = 0; n < P::BN / 8; n++)
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; i++)
                    sum += s[m][n][i] = fast_exp2(fmaf(s[m][n][i], c, -max));
            acc.sum[m][half] += sum;
        }
}

template <typename P>
static __device__ __forceinline__ void
online_softmax(accumulator<P> &acc, float (&s)[P::M][P::BN / 8][4], float c)
{
    float shrink[P::M][2];
    if (raise_max(acc, shrink, s, c)) shrink_o(acc, shrink);
    probabilities(acc, s, c);
}

/* --- results ------------------------------------------------------------------------ */

/* Divides O by the sum of its row, and returns the logarithm (base 2) of the sum. */
template <typename P>
static __device__ __forceinline__ float normalize(accumulator<P> &acc, int m, int half)
{
    float sum = acc.sum[m][half];
    sum += __shfl_xor_sync(~0u, sum, 1);  // four lanes share a row
    sum += __shfl_xor_sync(~0u, sum, 2);
    float share = sum > 0.0f ? __fdividef(1.0f, sum) : 0.0f;  // 0: no key in this part
#pragma unroll
    for (int n = 0; n < P::D / 8; n++)
        acc.o[m][n][2 * half] *= share, acc.o[m][n][2 * half + 1] *= share;
    return acc.max[m][half] + (sum > 0.0f ? log2f(sum) : 0.0f);
}

/* O, through the warp's own rows of the Q tile, and lse */
template <typename P, typename E>
static __device__ __forceinline__ void store_out(
    E *out, float *lse, E *tile, accumulator<P> &acc, const row_info *rows,
    int valid_rows, int b, const sizes &z)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = m * 16 + half * 8 + lane / 4;
            float log_sum = normalize(acc, m, half);
            if (lse && lane % 4 == 0 && row < valid_rows)
                lse[((size_t)b * z.H + rows[row].head) * z.T + rows[row].t] =
                    log_sum * LN_2;
        }
    store_gmem<P::M, P::D, P::D>(tile, acc.o, 1.0f, 0, z.D, [&](int r) {
        size_t at = ((size_t)b * z.T + rows[r].t) * z.H + rows[r].head;
        return r < valid_rows ? out + at * z.D : NULL;
    });
}

/* What each part of the keys contributes: rows of O as floats, divided by their own sums,
 * and the logarithms (base 2) of those. The parts follow each other in the workspace. */
struct kv_parts {
    float *o;        // (number, B,T,H, D)
    float *log_sum;  // (number, B,T,H)
    int number;
};

template <typename P>
static __device__ __forceinline__ void store_part(
    const kv_parts &to, int part, accumulator<P> &acc, const row_info *rows,
    int valid_rows, int b, const sizes &z)
{
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int m = 0; m < P::M; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            int row = m * 16 + half * 8 + lane / 4;
            float log_sum = normalize(acc, m, half);
            if (row >= valid_rows) continue;
            size_t at =
                ((size_t)(part * z.B + b) * z.T + rows[row].t) * z.H + rows[row].head;
            if (lane % 4 == 0) to.log_sum[at] = log_sum;
            float2 *to_row = (float2 *)(to.o + at * z.D) + lane % 4;
#pragma unroll
            for (int n = 0; n < P::D / 8; n++)
                if (n * 8 < z.D)
                    to_row[n * 4] = {acc.o[m][n][2 * half], acc.o[m][n][2 * half + 1]};
        }
}
#endif
// END SOLUTION
