// BEGIN SOLUTION 07.6 (about 110 lines)
/* sample_slice.cuh - lab 07, part 07.6: the slice that a block reads of a long row, for
 * sample_once.cuh. It arrives in a ring of shared memory, which fills while the block
 * searches the first step.
 */
#ifndef SAMPLE_SLICE_CUH
#define SAMPLE_SLICE_CUH
#include "cuda/hopper.cuh"
#include "cuda/pdl.cuh"
#include "sample.cuh"

constexpr int ONCE_THREADS = 512;
constexpr int ONCE_BLOCKS = 8;                 // of a cluster, at most
constexpr int ONCE_PER_SM = 2;                 // blocks on a multiprocessor
constexpr int VECS = 4;                        // of 4 logits, that a thread has of a step
constexpr int STEP = ONCE_THREADS * VECS * 4;  // logits of a block at a time
constexpr int STAGES = 3;                      // steps in shared memory
constexpr int RING_BYTES = STAGES * STEP * (int)sizeof(float);
constexpr float SATURATED = 9.02f;  // tanh is 1 as a float from here on

/* A block's part of a row: entries first to end - 1. A thread has vector
 * threadIdx.x + v * ONCE_THREADS of a step. */
struct slice {
    int first, end, steps;
    bool aligned;     // 16-byte copies
    float *ring;      // (STAGES, STEP)
    uint64_t *full;   // (STAGES)
    float saturated;  // where tanh is 1: larger logits are equal

    __device__ int index(int step, int v) const
    {
        return first + step * STEP + (v * ONCE_THREADS + (int)threadIdx.x) * 4;
    }
    /* One thread */
    __device__ void start_copy(const row &r, int step) const
    {
        int at = first + step * STEP, bytes = min(end - at, STEP) / 4 * 16;
        if (step >= steps || !aligned) return;
        mbarrier_expect(&full[step % STAGES], bytes);
        if (bytes)
            tma_load_bytes(
                ring + step % STAGES * STEP, r.logits + at, bytes, &full[step % STAGES]);
    }
    __device__ void start(const row &r)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; i++)
                mbarrier_init(&full[i], 1);
            mbarrier_fence_init();
            start_copy(r, 0);
        }
        __syncthreads();  // the barriers are visible to the block
    }
    /* One thread calls it when the first step is loaded. If all copies started together,
     * they would arrive together, and the memory would be idle in the first search. */
    __device__ void start_others(const row &r) const
    {
        for (int i = 1; i < STAGES; i++)
            start_copy(r, i);
    }
    /* A thread's entries of a step: logits, or z with repetition penalties. NaN past the end,
     * which is never a candidate */
    __device__ __forceinline__ void
    load(float (&x)[VECS][4], const rules &a, const row &r, int step) const
    {
        if (aligned) mbarrier_wait(&full[step % STAGES], step / STAGES & 1);
        const float *from = ring + step % STAGES * STEP + threadIdx.x * 4;
#pragma unroll
        for (int v = 0; v < VECS; v++) {
            int i = index(step, v);
            if (aligned && i + 4 <= end)
                *(float4 *)x[v] = *(const float4 *)(from + v * ONCE_THREADS * 4);
            else
#pragma unroll
                for (int c = 0; c < 4; c++)
                    x[v][c] = i + c < end ? r.logits[i + c] : NAN;
        }
        if (!r.seen) return;
#pragma unroll
        for (int v = 0; v < VECS; v++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                int i = index(step, v) + c;
                if (i < end) x[v][c] = score_of(a, x[v][c], r.seen[i]);
            }
    }
    /* z of a thread's entry c of vector v, whose logit is still in the ring. */
    __device__ __forceinline__ float
    score_at(const rules &a, const row &r, int step, int v, int c) const
    {
        int i = index(step, v);
        const float *from = ring + step % STAGES * STEP;
        bool in_ring = aligned && i + 4 <= end;
        float z = in_ring ? from[i - first - step * STEP + c] : r.logits[i + c];
        return score_of(a, z, r.seen && r.seen[i + c]);
    }
};

static __device__ slice
slice_of(const rules &a, const row &r, int blocks, int rank, float *ring, uint64_t *full)
{
    int length = ((a.V - 1) / blocks + 4) / 4 * 4, first = min(a.V, rank * length);
    int end = min(a.V, first + length);
    bool aligned = (uintptr_t)r.logits % sizeof(float4) == 0;
    float saturated = a.softcap > 0.0f && !r.seen ? SATURATED * a.softcap : INFINITY;
    return {first, end, (end - first + STEP - 1) / STEP, aligned, ring, full, saturated};
}

static __device__ float max4(const float (&x)[4])
{
    return fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
}

/* Host. Blocks of a cluster: together they fill the GPU, each with a few steps at least.
 * 0: take the kernels of sample_parts.cuh. Clusters do not fill the groups of
 * multiprocessors evenly, and with 3 blocks a large batch is slower than with 2. */
static int once_blocks(int B, int V)
{
    if (!code_is_sm90a()) return 0;
    int blocks = ONCE_BLOCKS, most = sm_count() * ONCE_PER_SM * 9 / 10;
    while (blocks > 1 && ((long long)blocks * B > most || V / blocks < 4 * ONCE_THREADS))
        blocks -= blocks > 2 ? 2 : 1;
    return blocks;
}
#endif
// END SOLUTION
