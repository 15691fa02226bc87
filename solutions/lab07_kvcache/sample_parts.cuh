/* sample_parts.cuh - lab 07, part 07.6: room for kernels that share a long row between
 * blocks. The solution has its own here; no part needs one.
 */
#ifndef SAMPLE_PARTS_CUH
#define SAMPLE_PARTS_CUH
#include "sample.cuh"

// BEGIN SOLUTION 07.6 (about 190 lines)
//> /* TODO(07.6): nothing, if one block per row is fast enough for you. */
#include "cuda/pdl.cuh"
#include "sample_search.cuh"

/* Scratch memory of a row */
struct scratch {
    u64 *highest, *best;  // (parts): keys without noise; of kept entries, with it
    u64 *weights;         // (BINS), in units of e^(-bin / 32) 2^-18
    unsigned *counts;     // (BINS)
    int *list;            // (LIST_SIZE)
    cut *known;
};

static __host__ __device__ int parts_of(int V, int part = PART)
{
    return (V - 1) / part + 1;
}

/* Entries of a block: one step of PART, or in large batches, of more than 16 such blocks
 * per multiprocessor, up to four, which share the fixed cost of a block. */
static int part_of(int B, int V)
{
    int part = PART;
    size_t enough = 16 * (size_t)sm_count();
    while (part < 4 * PART && B * (size_t)parts_of(V, part) > enough)
        part *= 2;
    return part;
}

static __host__ __device__ size_t scratch_bytes(int V)
{
    size_t bytes = 2 * sizeof(u64) * parts_of(V) +
                   BINS * (sizeof(u64) + sizeof(unsigned)) + LIST_SIZE * sizeof(int) +
                   sizeof(cut);
    return (bytes + 255) / 256 * 256;
}

static __device__ scratch scratch_of(void *workspace, int b, int V)
{
    scratch s;
    s.highest = (u64 *)((char *)workspace + b * scratch_bytes(V));
    s.best = s.highest + parts_of(V);
    s.weights = s.best + parts_of(V);
    s.known = (cut *)(s.weights + BINS);
    s.counts = (unsigned *)(s.known + 1);
    s.list = (int *)(s.counts + BINS);
    return s;
}

/* This thread's logits of a step, PART_THREADS apart. All loads are issued before the
 * first value is used. */
constexpr int LOGITS_PER_THREAD = PART / PART_THREADS;
static __device__ void
load_step(float (&z)[LOGITS_PER_THREAD], const row &r, int start, int V)
{
#pragma unroll
    for (int u = 0; u < LOGITS_PER_THREAD; u++) {
        int i = start + u * PART_THREADS + threadIdx.x;
        z[u] = i < V ? r.logits[i] : 0.0f;
    }
}

/* Step 1: the highest key of each part; clears the bins. The grid of all steps is
 * parts * B. */
static __global__ void __launch_bounds__(PART_THREADS) highest_kernel(batch x, rules a)
{
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    for (int i = part * PART_THREADS + threadIdx.x; i < BINS; i += parts * PART_THREADS)
        s.weights[i] = 0, s.counts[i] = 0;
    if (part == 0 && threadIdx.x == 0) s.known->listed = 0;
    u64 high = 0;
    int end = min(a.V, (part + 1) * a.part);
    for (int start = part * a.part; start < end; start += PART) {
        float z[LOGITS_PER_THREAD];
        load_step(z, r, start, a.V);
#pragma unroll
        for (int u = 0; u < LOGITS_PER_THREAD; u++) {
            int i = start + u * PART_THREADS + threadIdx.x;
            if (i < a.V)
                high = max(high, key_of(score_of(a, z[u], r.seen && r.seen[i]), i));
        }
    }
    high = block_reduce<false>(high);
    if (threadIdx.x == 0) s.highest[part] = high;
}

/* The highest z of a row, from its parts */
static __device__ float max_z_of(const u64 *highest, int parts)
{
    u64 high = 0;
    for (int i = threadIdx.x; i < parts; i += blockDim.x)
        high = max(high, highest[i]);
    return value_of(block_reduce<false>(high));
}

/* Step 2: how many entries each bin has, and their weights relative to the bin's: 18 bits
 * each, rounded to nearest, so the errors average out. 8192 of them fit into 32 bits. */
constexpr float UNIT = 0x1p18f;
static __global__ void __launch_bounds__(PART_THREADS) bins_kernel(batch x, rules a)
{
    __shared__ unsigned counts[BINS], weights[BINS];
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    for (int i = threadIdx.x; i < BINS; i += PART_THREADS)
        counts[i] = weights[i] = 0;
    float max_z = max_z_of(s.highest, parts);  // has barriers: the bins are empty
    int end = min(a.V, (part + 1) * a.part);
    for (int start = part * a.part; start < end; start += PART) {
        float logits[LOGITS_PER_THREAD];
        load_step(logits, r, start, a.V);
#pragma unroll
        for (int u = 0; u < LOGITS_PER_THREAD; u++) {
            int i = start + u * PART_THREADS + threadIdx.x;
            if (i >= a.V) continue;
            float z = score_of(a, logits[u], r.seen && r.seen[i]);
            int bin = bin_of(z, max_z);
            if (bin == BINS - 1) continue;  // never sampled: see cut_of
            atomicAdd(&counts[bin], 1u);
            float weight = __expf(bin / 32.0f - below(z, max_z));
            atomicAdd(&weights[bin], (unsigned)(weight * UNIT + 0.5f));
        }
    }
    __syncthreads();  // all entries are counted
    for (int i = threadIdx.x; i < BINS; i += PART_THREADS)
        if (counts[i]) {
            atomicAdd(&s.counts[i], counts[i]);
            atomicAdd(&s.weights[i], (u64)weights[i]);
        }
}

/* Prefix sums over the block. Thread t has 4 neighbouring bins: [i] is that of bin
 * 4t+i. */
template <typename N> static __device__ void prefix_sum(N (&sum)[BINS / PART_THREADS])
{
    __shared__ N part[PART_THREADS / WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int i = 1; i < BINS / PART_THREADS; i++)
        sum[i] += sum[i - 1];
    N own = sum[BINS / PART_THREADS - 1], upto = own;
    for (int m = 1; m < WARP; m <<= 1) {
        N other = __shfl_up_sync(0xffffffffu, upto, m);
        if (lane >= m) upto += other;
    }
    if (lane == WARP - 1) part[warp] = upto;
    __syncthreads();  // the sums of all warps are visible to the block
    N before = upto - own;
    for (int i = 0; i < warp; i++)
        before += part[i];
    for (int i = 0; i < BINS / PART_THREADS; i++)
        sum[i] += before;
}

/* The cut of a row, from its bins; the same in every block. Entries in the last bin are
 * never sampled and weigh nothing: they do not count. */
static __device__ cut cut_of(const rules &a, const scratch &s)
{
    constexpr int BINS_PER_THREAD = BINS / PART_THREADS;
    __shared__ unsigned count_to[BINS + 1];
    __shared__ double weight_to[BINS + 1];
    unsigned count[BINS_PER_THREAD];
    double weight[BINS_PER_THREAD];
    for (int i = 0; i < BINS_PER_THREAD; i++) {
        int bin = threadIdx.x * BINS_PER_THREAD + i;
        bool ignored = bin == BINS - 1;
        count[i] = ignored ? 0 : s.counts[bin];
        weight[i] =
            ignored ? 0.0 : s.weights[bin] / (double)UNIT * (double)expf(-bin / 32.0f);
    }
    prefix_sum(count), prefix_sum(weight);
    for (int i = 0; i < BINS_PER_THREAD; i++) {
        int bin = threadIdx.x * BINS_PER_THREAD + i;
        count_to[bin + 1] = count[i], weight_to[bin + 1] = weight[i];
    }
    if (threadIdx.x == 0) count_to[0] = 0, weight_to[0] = 0.0;
    __syncthreads();  // bins below i hold count_to[i], weight_to[i]
    cut c = {0, BINS - 2, 0, 0, 0.0, weight_to[BINS]};
    bool cuts_k = a.top_k > 0 && (unsigned)a.top_k < count_to[BINS];
    if (cuts_k) {
        int low = 0, high = BINS;  // first i with count_to[i + 1] >= top_k
        while (low < high) {
            int i = (low + high) / 2;
            if (count_to[i + 1] >= (unsigned)a.top_k)
                high = i;
            else
                low = i + 1;
        }
        c.high = c.low = low;
        c.all = weight_to[low];  // and some of bin high
    }
    if (a.top_p < 1.0f) {
        int low = 0, high = cuts_k ? c.high : BINS - 2;
        while (low < high) {
            int i = (low + high) / 2;
            if (weight_to[i + 1] >= a.top_p * c.all)
                high = i;
            else
                low = i + 1;
        }
        c.low = low;
        if (!cuts_k) c.high = low;
    } else if (!cuts_k) {
        c.low = BINS - 1;
    }
    c.count = count_to[c.low], c.weight = weight_to[c.low];
    if (cuts_k) c.all = 0.0;  // some of bin high belongs to it
    return c;
}

/* Step 3: the best of the kept entries of each part; lists the open ones. */
static __global__ void __launch_bounds__(PART_THREADS)
    best_kernel(batch x, rules a, bool filtered)
{
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    float max_z = 0.0f, lower = -INFINITY;  // of the winner's z with noise
    cut c = {};
    if (filtered) {
        max_z = max_z_of(s.highest, parts);
        lower = max_z + MIN_NOISE;
        c = cut_of(a, s);
        if (part == 0 && threadIdx.x == 0) {
            s.known->low = c.low, s.known->high = c.high, s.known->count = c.count;
            s.known->weight = c.weight, s.known->all = c.all;
        }
    }
    u64 best = 0;
    uint32_t number[4];
    bool whole = (uintptr_t)r.logits % sizeof(float4) == 0;  // four logits at a time
    int end = min(a.V, (part + 1) * a.part);
    for (int i = part * a.part + threadIdx.x * 4; i < end; i += PART_THREADS * 4) {
        alignas(16) float z[4];
        float have = best ? fmaxf(value_of(best), lower) : lower;
        bool sure[4], some = false;
        if (whole && i + 4 <= end)
            *(float4 *)z = *(const float4 *)(r.logits + i);
        else
            for (int j = 0; j < 4 && i + j < end; j++)
                z[j] = r.logits[i + j];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            sure[j] = i + j < end;
            if (!sure[j]) continue;
            z[j] = score_of(a, z[j], r.seen && r.seen[i + j]);
            if (filtered) {
                int bin = bin_of(z[j], max_z);
                sure[j] = bin < c.low;
                if (c.low <= bin && bin <= c.high) {
                    unsigned at = atomicAdd(&s.known->listed, 1u);
                    if (at < LIST_SIZE) s.list[at] = i + j;
                }
            }
            some |= sure[j] && !(z[j] + MAX_NOISE < have);
        }
        if (!some) continue;
        if (a.temperature > 0.0f) wb_random(number, r.seed, i / 4, r.pos, 0, 0);
        for (int j = 0; j < 4; j++) {
            if (!sure[j]) continue;
            float noisy = a.temperature > 0.0f ? z[j] + gumbel(number[j]) : z[j];
            best = max(best, key_of(noisy, i + j));
        }
    }
    best = block_reduce<false>(best);
    if (threadIdx.x == 0) s.best[part] = best;
}
// END SOLUTION
#endif
