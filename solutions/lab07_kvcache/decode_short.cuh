// BEGIN SOLUTION 07.3 (about 110 lines)
/* decode_short.cuh - lab 07, part 07.3: a short ring, and heads with keys of their own.
 *
 * With few heads most of the GPU is idle, and latency dominates: the chain of dependent
 * loads. Here the chain has two links: pos, then everything else. A block handles one
 * head. Its registers hold all keys and values of the ring, so every load is issued
 * before the first one is used. `lanes` neighbouring lanes share a slot, each with 16
 * bytes of its row.
 */
#ifndef DECODE_SHORT_CUH
#define DECODE_SHORT_CUH
#include "cuda/vec.cuh"
#include "decode.cuh"

constexpr int SHORT_THREADS = 256;
constexpr int SHORT_WARPS = SHORT_THREADS / WARP;
constexpr int SHORT_SLOTS = 8;  // of a thread, at most
static_assert(SHORT_THREADS >= MAX_D, "a thread per channel");

/* A power of two, so that shuffles with distances 1, 2, ... add up a row */
template <typename E> static int short_lanes(int D)
{
    int lanes = 1;
    while (lanes * VEC16<E> < D)
        lanes *= 2;
    return lanes;
}

/* With more heads, memory bandwidth limits every kernel. The CPU back end has few
 * multiprocessors, and no latency to hide. */
template <typename E> static bool short_fits(int B, int S, int H, int K, int D)
{
    int lanes = short_lanes<E>(D);
    return H == K && lanes <= WARP && 8ll * B * K <= sm_count() &&
           (long long)S * lanes <= SHORT_SLOTS * SHORT_THREADS;
}

/* What one thread has of a row: 16 bytes of a key or value, as floats */
template <typename E> using row_part = float[VEC16<E>];

/* The token itself: d is the thread's channel. */
template <typename E> struct short_token {
    float q[MAX_D], key[MAX_D], value[MAX_D];  // key, value: rounded, as in the ring

    __device__ void load(const token<E> &a, int b, int h, int p, E *own_key, E *own_value)
    {
        int d = threadIdx.x;
        if (d >= a.D) return;
        size_t query = (size_t)b * a.ldq + (size_t)h * a.D;
        size_t row = (size_t)b * a.ldkv + head_offset(a, h);
        *own_key = (E)rotated(a.k + row, a.cis, p, d, a.N);
        *own_value = a.v[row + d];
        q[d] = a.scale * rotated(a.q + query, a.cis, p, d, a.N);
        key[d] = (float)*own_key, value[d] = (float)*own_value;
    }
};

/* Partial results of the warps: their softmax, and sums of p v with their maximum */
struct short_sums {
    softmax of[SHORT_WARPS];
    float y[SHORT_WARPS][MAX_D];
};

/* Keys become scores: *self is the token's own. The score of a slot past n is unused. */
template <typename E>
static __device__ __forceinline__ void short_scores(
    float (&score)[SHORT_SLOTS], float *self, const short_token<E> &t,
    const vec<E, VEC16<E>> (&key)[SHORT_SLOTS], int first, int lanes, int D)
{
    row_part<E> x, k;
    *self = 0.0f;
#pragma unroll
    for (int c = 0; c < VEC16<E>; c++) {
        x[c] = first < D ? t.q[first + c] : 0.0f;
        *self += first < D ? x[c] * t.key[first + c] : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < SHORT_SLOTS; u++) {
        to_float(k, key[u]);
        score[u] = 0.0f;
#pragma unroll
        for (int c = 0; c < VEC16<E>; c++)
            score[u] += x[c] * k[c];
    }
    for (int m = 1; m < lanes; m *= 2) {
#pragma unroll
        for (int u = 0; u < SHORT_SLOTS; u++)
            score[u] += __shfl_xor_sync(0xffffffffu, score[u], m);
        *self += __shfl_xor_sync(0xffffffffu, *self, m);
    }
}

/* The softmax of the warp's slots, and its sum of p v. The token belongs to group 0, the
 * first `lanes` threads. */
template <typename E>
static __device__ __forceinline__ void short_values(
    short_sums &sums, const float (&score)[SHORT_SLOTS], float self,
    const short_token<E> &t, const vec<E, VEC16<E>> (&value)[SHORT_SLOTS], int n,
    int first, int lanes, int D)
{
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int group = threadIdx.x / lanes, groups = SHORT_THREADS / lanes;
    float max = group == 0 ? self : -INFINITY;
#pragma unroll
    for (int u = 0; u < SHORT_SLOTS; u++)
        if (group + u * groups < n) max = fmaxf(max, score[u]);
    max = warp_max(max);

    row_part<E> y = {}, v;
    float sum = 0.0f;
#pragma unroll
    for (int u = 0; u < SHORT_SLOTS; u++) {
        if (group + u * groups >= n) continue;
        float p = expf(score[u] - max);
        to_float(v, value[u]);
        sum += p;
#pragma unroll
        for (int c = 0; c < VEC16<E>; c++)
            y[c] += p * v[c];
    }
    if (group == 0) {
        float p = expf(self - max);
        sum += p;
#pragma unroll
        for (int c = 0; c < VEC16<E>; c++)
            if (first < D) y[c] += p * t.value[first + c];
    }
    for (int m = lanes; m < WARP; m *= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, m);
#pragma unroll
        for (int c = 0; c < VEC16<E>; c++)
            y[c] += __shfl_xor_sync(0xffffffffu, y[c], m);
    }
    if (lane == 0) sums.of[warp] = {max, sum};
#pragma unroll
    for (int c = 0; c < VEC16<E>; c++)
        if (lane < lanes && first < D) sums.y[warp][first + c] = y[c];
}

template <typename E>
static __global__ void __launch_bounds__(SHORT_THREADS)
    short_kernel(token<E> a, int lanes)
{
    __shared__ short_token<E> t;
    __shared__ short_sums sums;
    pdl_trigger();
    pdl_wait();
    int b = blockIdx.x / a.K, h = blockIdx.x % a.K, d = threadIdx.x;
    int p = a.pos[b], n = min(p, a.S), first = d % lanes * VEC16<E>;
    size_t row = (size_t)a.K * a.D, ring = (size_t)b * a.S * row + head_offset(a, h);
    vec<E, VEC16<E>> key[SHORT_SLOTS] = {}, value[SHORT_SLOTS] = {};
#pragma unroll
    for (int u = 0; u < SHORT_SLOTS; u++) {
        int slot = d / lanes + u * (SHORT_THREADS / lanes);
        if (slot >= n || first >= a.D) continue;
        key[u] = load_vec<VEC16<E>>(a.kcache + ring + slot * row + first);
        value[u] = load_vec<VEC16<E>>(a.vcache + ring + slot * row + first);
    }
    E own_key = (E)0.0f, own_value = (E)0.0f;
    t.load(a, b, h, p, &own_key, &own_value);
    __syncthreads();  // the token is visible to the block

    float score[SHORT_SLOTS], self;
    short_scores(score, &self, t, key, first, lanes, a.D);
    short_values(sums, score, self, t, value, n, first, lanes, a.D);
    __syncthreads();  // all sums are visible to the block
    if (d >= a.D) return;
    float max = sums.of[0].max, total = 0.0f, y = 0.0f;  // warp 0 has the token: no -inf
    for (int w = 1; w < SHORT_WARPS; w++)
        max = fmaxf(max, sums.of[w].max);
#pragma unroll
    for (int w = 0; w < SHORT_WARPS; w++) {
        float factor = expf(sums.of[w].max - max);  // 0: a warp without slots
        total += factor * sums.of[w].sum;
        y += factor * sums.y[w][d];
    }
    a.out[(size_t)blockIdx.x * a.D + d] = (E)(y / total);
    /* the slot of position p - S: the block has read it */
    size_t slot = ring + p % a.S * row + d;
    a.kcache[slot] = own_key;
    a.vcache[slot] = own_value;
}
#endif
// END SOLUTION
