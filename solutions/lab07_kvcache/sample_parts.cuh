/* sample_parts.cuh - room for kernels that share a row of many entries between blocks.
 * The solution's stand here; a pass needs none.
 */
#ifndef SAMPLE_PARTS_CUH
#define SAMPLE_PARTS_CUH
#include "sample.cuh"

// BEGIN SOLUTION 07.6 (about 190 lines)
//> /* TODO(07.6): nothing, if one block per row is fast enough for you. */
#include "cuda/pdl.cuh"

/* What is known of a row before its last block, from the bins: bins below low are kept,
 * those above high are not; how much the kept ones are, and all that top_k keeps (0: not
 * known yet). */
struct cut {
    int low, high;
    unsigned count, listed;
    double weight, all;
};

/* Scratch memory of a row. */
struct scratch {
    u64 *highest, *best;  // (parts): the keys without noise, and of sure entries with it
    u64 *weights;         // (BINS), in units of e^(-bin / 32) 2^-18
    unsigned *counts;     // (BINS)
    int *list;            // (LIST)
    cut *known;
};

static __host__ __device__ int parts_of(int V, int part = PART)
{
    return (V - 1) / part + 1;
}

/* Entries of a block: one step of it, or in large batches up to four, since what a block
 * does besides is then the same for more of them. */
static int part_of(int B, int V)
{
    int part = PART;
    while (part < 4 * PART && (size_t)B * parts_of(V, part) > 2048)
        part *= 2;
    return part;
}

static __host__ __device__ size_t scratch_bytes(int V)
{
    size_t bytes = 2 * sizeof(u64) * parts_of(V) +
                   BINS * (sizeof(u64) + sizeof(unsigned)) + LIST * sizeof(int) +
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

/* This thread's logits of a step, FEW apart, all under way before the first is used. */
constexpr int EACH = PART / FEW;
static __device__ void load_step(float (&z)[EACH], const row &r, int start, int V)
{
#pragma unroll
    for (int u = 0; u < EACH; u++) {
        int i = start + u * FEW + threadIdx.x;
        z[u] = i < V ? r.logits[i] : 0.0f;
    }
}

/* Step 1: the highest key of each part; empties the bins. Grid (parts * B) here and
 * below. */
static __global__ void __launch_bounds__(FEW) highest_kernel(batch x, rules a)
{
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    for (int i = part * FEW + threadIdx.x; i < BINS; i += parts * FEW)
        s.weights[i] = 0, s.counts[i] = 0;
    if (part == 0 && threadIdx.x == 0) s.known->listed = 0;
    u64 high = 0;
    for (int start = part * a.part; start < min(a.V, (part + 1) * a.part);
         start += PART) {
        float z[EACH];
        load_step(z, r, start, a.V);
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int i = start + u * FEW + threadIdx.x;
            if (i < a.V)
                high = max(high, key_of(score_of(a, z[u], r.seen && r.seen[i]), i));
        }
    }
    high = over_block<false>(high);
    if (threadIdx.x == 0) s.highest[part] = high;
}

/* The highest z of a row, from its parts. */
static __device__ float most_of(const u64 *highest, int parts)
{
    u64 high = 0;
    for (int i = threadIdx.x; i < parts; i += blockDim.x)
        high = max(high, highest[i]);
    return value_of(over_block<false>(high));
}

/* Step 2: how many entries each bin has, and their weights, nearly equal within a bin: 18
 * bits each are enough, rounded as likely up as down, and 8192 of them fit into 32. */
constexpr float UNIT = 0x1p18f;
static __global__ void __launch_bounds__(FEW) bins_kernel(batch x, rules a)
{
    __shared__ unsigned counts[BINS], weights[BINS];
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    for (int i = threadIdx.x; i < BINS; i += FEW)
        counts[i] = weights[i] = 0;
    float most = most_of(s.highest, parts);  // with barriers: the bins are empty
    for (int start = part * a.part; start < min(a.V, (part + 1) * a.part);
         start += PART) {
        float logits[EACH];
        load_step(logits, r, start, a.V);
#pragma unroll
        for (int u = 0; u < EACH; u++) {
            int i = start + u * FEW + threadIdx.x;
            if (i >= a.V) continue;
            float z = score_of(a, logits[u], r.seen && r.seen[i]);
            int bin = bin_of(z, most);
            if (bin == BINS - 1) continue;  // too far: see cut_of
            atomicAdd(&counts[bin], 1u);
            atomicAdd(
                &weights[bin], (unsigned)(__expf(z - most + bin / 32.0f) * UNIT + 0.5f));
        }
    }
    __syncthreads();  // all are counted
    for (int i = threadIdx.x; i < BINS; i += FEW)
        if (counts[i]) {
            atomicAdd(&s.counts[i], counts[i]);
            atomicAdd(&s.weights[i], (u64)weights[i]);
        }
}

/* Running sums of 4 neighbouring bins a thread, over the block: [i] is that of bin 4t+i.
 *  */
template <typename N> static __device__ void run_up(N (&sum)[BINS / FEW])
{
    __shared__ N part[FEW / WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int i = 1; i < BINS / FEW; i++)
        sum[i] += sum[i - 1];
    N mine = sum[BINS / FEW - 1], upto = mine;
    for (int m = 1; m < WARP; m <<= 1) {
        N other = __shfl_up_sync(0xffffffffu, upto, m);
        if (lane >= m) upto += other;
    }
    if (lane == WARP - 1) part[warp] = upto;
    __syncthreads();  // every warp's sum is there
    N before = upto - mine;
    for (int i = 0; i < warp; i++)
        before += part[i];
    for (int i = 0; i < BINS / FEW; i++)
        sum[i] += before;
}

/* From the bins of a row to what is known of it; the same in every block. Beyond the last
 * bin but one nothing is ever drawn, nor does it weigh anything: it does not count. */
static __device__ cut cut_of(const rules &a, const scratch &s)
{
    constexpr int MINE = BINS / FEW;
    __shared__ unsigned count_to[BINS + 1];
    __shared__ double weight_to[BINS + 1];
    unsigned count[MINE];
    double weight[MINE];
    for (int i = 0; i < MINE; i++) {
        int bin = threadIdx.x * MINE + i;
        bool far = bin == BINS - 1;
        count[i] = far ? 0 : s.counts[bin];
        weight[i] =
            far ? 0.0 : s.weights[bin] / (double)UNIT * (double)expf(-bin / 32.0f);
    }
    run_up(count), run_up(weight);
    for (int i = 0; i < MINE; i++) {
        int bin = threadIdx.x * MINE + i;
        count_to[bin + 1] = count[i], weight_to[bin + 1] = weight[i];
    }
    if (threadIdx.x == 0) count_to[0] = 0, weight_to[0] = 0.0;
    __syncthreads();  // bins below i hold count_to[i], weight_to[i]
    cut c = {0, BINS - 2, 0, 0, 0.0, weight_to[BINS]};
    bool few = a.top_k > 0 && (unsigned)a.top_k < count_to[BINS];
    if (few) {
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
        int low = 0, high = few ? c.high : BINS - 2;
        while (low < high) {
            int i = (low + high) / 2;
            if (weight_to[i + 1] >= a.top_p * c.all)
                high = i;
            else
                low = i + 1;
        }
        c.low = low;
        if (!few) c.high = low;
    } else if (!few) {
        c.low = BINS - 1;
    }
    c.count = count_to[c.low], c.weight = weight_to[c.low];
    if (few) c.all = 0.0;  // some of bin high belongs to it
    return c;
}

/* Step 3: draws among the sure entries, lists those whose fate is open. */
static __global__ void __launch_bounds__(FEW) draw_kernel(batch x, rules a, bool filtered)
{
    pdl_trigger();
    pdl_wait();
    int parts = parts_of(a.V, a.part), part = blockIdx.x % parts, b = blockIdx.x / parts;
    row r = row_of(x, b, a.V);
    scratch s = scratch_of(x.workspace, b, a.V);
    float most = 0.0f, never = -INFINITY;  // what is certainly surpassed
    cut c = {};
    if (filtered) {
        most = most_of(s.highest, parts);
        never = most - LEAST_NOISE;
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
    for (int i = part * a.part + threadIdx.x * 4; i < end; i += FEW * 4) {
        alignas(16) float z[4];
        float have = best ? fmaxf(value_of(best), never) : never;
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
                int bin = bin_of(z[j], most);
                sure[j] = bin < c.low;
                if (c.low <= bin && bin <= c.high) {
                    unsigned at = atomicAdd(&s.known->listed, 1u);
                    if (at < LIST) s.list[at] = i + j;
                }
            }
            some |= sure[j] && !(z[j] + MOST_NOISE < have);
        }
        if (!some) continue;
        if (a.temperature > 0.0f) wb_random(number, r.seed, i / 4, r.pos, 0, 0);
        for (int j = 0; j < 4; j++)
            if (sure[j])
                best =
                    max(best, key_of(
                                  a.temperature > 0.0f ? z[j] + gumbel(number[j]) : z[j],
                                  i + j));
    }
    best = over_block<false>(best);
    if (threadIdx.x == 0) s.best[part] = best;
}
// END SOLUTION
#endif
