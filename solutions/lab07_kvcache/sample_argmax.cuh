// BEGIN SOLUTION 07.5 (about 95 lines)
/* sample_argmax.cuh - lab 07, part 07.5: temperature 0 and a long row. Blocks share the
 * row; a second kernel compares their keys.
 *
 * z grows with the logit, so logits are compared, and z is computed only for those close
 * to the largest of the block.
 */
#ifndef SAMPLE_ARGMAX_CUH
#define SAMPLE_ARGMAX_CUH
#include "cuda/pdl.cuh"
#include "sample_parts.cuh"

/* A thread's vectors of 4 logits, all loaded before the first one is used */
constexpr int ARGMAX_VECS = 8, ARGMAX_PART = PART_THREADS * ARGMAX_VECS * 4;

/* Entries below it have a smaller z than `highest`. As a float, z is not exact: where
 * tanh is steep, logits that differ by 1e-5 softcap have different z. */
static __device__ __forceinline__ float
lower_of(const rules &a, const row &r, float highest)
{
    float steep = 2.0f * a.softcap;
    if (a.softcap == 0.0f || r.seen) return highest;  // z itself if seen
    return highest < -steep ? -INFINITY : fminf(highest, steep) - 1e-5f * a.softcap;
}

/* The largest number of the block; NaN is ignored */
static __device__ __forceinline__ float block_max(float x)
{
    __shared__ float part[PART_THREADS / WARP];
    for (int m = WARP / 2; m > 0; m >>= 1)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, m));
    if (threadIdx.x % WARP == 0) part[threadIdx.x / WARP] = x;
    __syncthreads();  // the maxima of all warps are visible to the block
#pragma unroll
    for (int i = 0; i < PART_THREADS / WARP; i++)
        x = fmaxf(x, part[i]);
    return x;
}

/* The best key of each part. The grid is parts * B. */
static __global__ void __launch_bounds__(PART_THREADS) argmax_kernel(batch x, rules a)
{
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    int end = min(a.V, (part + 1) * a.part), first = part * a.part + threadIdx.x * 4;
    bool aligned = (uintptr_t)r.logits % sizeof(float4) == 0;
    alignas(16) float z[ARGMAX_VECS][4];
    float highest = -INFINITY;
#pragma unroll
    for (int v = 0; v < ARGMAX_VECS; v++) {
        int i = first + v * PART_THREADS * 4;
        if (aligned && i + 4 <= end)
            *(float4 *)z[v] = *(const float4 *)(r.logits + i);
        else
#pragma unroll
            for (int c = 0; c < 4; c++)
                z[v][c] = i + c < end ? r.logits[i + c] : NAN;
    }
    if (r.seen)  // a repetition penalty changes the order
#pragma unroll
        for (int k = 0; k < ARGMAX_VECS * 4; k++) {
            int i = first + k / 4 * PART_THREADS * 4 + k % 4;
            float &one = z[k / 4][k % 4];
            one = score_of(a, one, i < end && r.seen[i]);
        }
#pragma unroll
    for (int i = 0; i < ARGMAX_VECS * 4; i++)
        highest = fmaxf(highest, z[i / 4][i % 4]);
    float lower = lower_of(a, r, block_max(highest));
    unsigned some = 0;  // a bit per entry that reaches it, which NaN does not
#pragma unroll
    for (int i = 0; i < ARGMAX_VECS * 4; i++)
        some |= (unsigned)(z[i / 4][i % 4] >= lower) << i;
    // without a number above -inf: the first entry
    u64 best = threadIdx.x == 0 ? key_of(-INFINITY, first) : 0;
    for (; some; some &= some - 1) {
        int bit = __ffs((int)some) - 1, i = first + bit / 4 * PART_THREADS * 4 + bit % 4;
        float best_z = score(a, r, i);
        if (best_z > -INFINITY) best = max(best, key_of(best_z, i));
    }
    best = block_reduce<false>(best);
    if (threadIdx.x == 0) scratch_of(x.workspace, b, a.V).best[part] = best;
}

/* A warp per row: the token, from the best keys of its parts */
static __global__ void __launch_bounds__(WARP) pick_kernel(batch x, rules a)
{
    pdl_trigger();
    pdl_wait();
    const u64 *keys = scratch_of(x.workspace, blockIdx.x, a.V).best;
    u64 best = 0;
    for (int i = threadIdx.x; i < parts_of(a.V, a.part); i += WARP)
        best = max(best, keys[i]);
    for (int m = WARP / 2; m > 0; m >>= 1)
        best = max(best, __shfl_xor_sync(0xffffffffu, best, m));
    if (threadIdx.x == 0) store_token(x, blockIdx.x, a.V, best);
}
#endif
// END SOLUTION
