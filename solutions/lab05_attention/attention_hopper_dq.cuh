// BEGIN SOLUTION 05.7 (about 150 lines)
/* attention_hopper_dq.cuh - lab 05, part 05.7: dq of heads wider than 128. Adding to a
 * tile of dQ for every tile of keys would move more bytes than the L2 cache can add. So
 * this kernel owns rows, computes S and dP again, and keeps dQ in registers:
 *
 *     S = Q K^T     dP = dO V^T     dQ += dS K
 *
 * A block has 128 rows of a head, 64 for each of two warpgroups.
 */
#ifndef ATTENTION_HOPPER_DQ_CUH
#define ATTENTION_HOPPER_DQ_CUH
#include "attention_hopper_backward_tiles.cuh"

constexpr int DQ_BM = 128, DQ_BN = 64;

/* K has two stages: it is needed longer than V. */
template <int D, typename E> struct dq_smem {
    E q[DQ_BM * D], dout[DQ_BM * D];
    E k[2][DQ_BN * D], v[DQ_BN * D];
    uint64_t full_q, full_dout, full_k[2], empty_k[2], full_v, empty_v;
};

/* Rows [t, t + DQ_BM) of head h of sequence b see only keys from `from` on, in `tiles`
 * tiles. */
struct dq_job {
    int b, h, t, from, tiles;
};

/* Of `wave` heads together, the last rows run first, because they see the most keys. */
static __device__ __forceinline__ dq_job
dq_job_of(int n, const sizes &z, const int *first, int Tp, int wave)
{
    int tiles = (z.T + DQ_BM - 1) / DQ_BM, start = n / (wave * tiles) * wave;
    n %= wave * tiles;
    int count = min(wave, z.B * z.H - start), head = start + n % count;
    int b = head / z.H, t = (tiles - 1 - n / count) * DQ_BM;
    int from = first[(size_t)b * Tp + t] / DQ_BN * DQ_BN;
    int end = z.S - z.T + min(t + DQ_BM, z.T);
    return {b, head % z.H, t, from, (end - from + DQ_BN - 1) / DQ_BN};
}

template <int D, typename E>
static __device__ __forceinline__ void
dq_load(dq_smem<D, E> &x, const hopper_maps &maps, const sizes &z, dq_job job)
{
    const int Q_BYTES = DQ_BM * D * sizeof(E), K_BYTES = DQ_BN * D * sizeof(E);
    int g = job.h / (z.H / z.K);
    mbarrier_expect(&x.full_q, Q_BYTES);
    load_parts<D>(x.q, DQ_BM, &maps.q, &x.full_q, job.h, job.t, job.b);
    for (int n = 0; n < job.tiles; n++) {
        int s = n % 2, key = job.from + n * DQ_BN;
        mbarrier_wait(&x.empty_k[s], (n / 2 & 1) ^ 1);
        mbarrier_expect(&x.full_k[s], K_BYTES);
        load_parts<D>(x.k[s], DQ_BN, &maps.k, &x.full_k[s], g, key, job.b);
        if (n == 0) {
            mbarrier_expect(&x.full_dout, Q_BYTES);
            load_parts<D>(x.dout, DQ_BM, &maps.dout, &x.full_dout, job.h, job.t, job.b);
        }
        mbarrier_wait(&x.empty_v, (n & 1) ^ 1);
        mbarrier_expect(&x.full_v, K_BYTES);
        load_parts<D>(x.v, DQ_BN, &maps.v, &x.full_v, g, key, job.b);
    }
}

/* Of this thread's rows r and r + 8 */
struct dq_rows {
    float lse[2], delta[2];
    int first[2], last[2];
};

/* s of 64 rows and N keys from `key` on becomes p. */
template <int R>
static __device__ __forceinline__ void row_probabilities(
    float (&s)[R], const dq_rows &rows, float factor, bool needs_mask, int key)
{
#pragma unroll
    for (int j = 0; j < R; j++)
        s[j] = fast_exp2(fmaf(s[j], factor, -rows.lse[j / 2 % 2]));
    if (!needs_mask) return;
#pragma unroll
    for (int j = 0; j < R; j++) {
        int half = j / 2 % 2, k = key + j / 4 * 8 + threadIdx.x % 4 * 2 + j % 2;
        if (k < rows.first[half] || k > rows.last[half]) s[j] = 0.0f;
    }
}

/* dq: sums of 64 rows from `row` of the block on */
template <int D, typename E>
static __device__ __forceinline__ void dq_attend(
    float (&dq)[D / 2], dq_smem<D, E> &x, const hopper_workspace &w, const sizes &z,
    dq_job job)
{
    int row = same_in_warp(threadIdx.x / WARPGROUP) * 64, lane = threadIdx.x % WARP;
    int thread_row = job.t + row + threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
    const int *firsts = w.first + (size_t)job.b * w.Tp;
    size_t at = ((size_t)job.b * z.H + job.h) * w.Tp + thread_row;
    dq_rows rows;
    for (int half = 0; half < 2; half++) {
        int t = thread_row + half * 8;
        rows.lse[half] = w.lse[at + half * 8], rows.delta[half] = w.delta[at + half * 8];
        rows.first[half] = firsts[t], rows.last[half] = z.S - z.T + t;
    }
    int all_from = firsts[job.t + row + 63], all_to = z.S - z.T + job.t + row;
    float factor = z.scale * LOG2_E;
    mbarrier_wait(&x.full_q, 0);
#pragma unroll 1
    for (int n = 0; n < job.tiles; n++) {
        int stage = n % 2, key = job.from + n * DQ_BN;
        float s[DQ_BN / 2], dp[DQ_BN / 2];
        unsigned ds[DQ_BN / 16][4];
        mbarrier_wait(&x.full_k[stage], n / 2 & 1);
        wgmma_fence(s);
        start_abt<E, D, DQ_BM, DQ_BN>(s, x.q + row * PART, x.k[stage]);
        if (n == 0) mbarrier_wait(&x.full_dout, 0);
        mbarrier_wait(&x.full_v, n & 1);
        wgmma_fence(dp);
        start_abt<E, D, DQ_BM, DQ_BN>(dp, x.dout + row * PART, x.v);
        wgmma_wait<1>(s, dq);
        if (n > 0 && lane == 0) mbarrier_arrive(&x.empty_k[stage ^ 1]);
        bool needs_mask = key < all_from || key + DQ_BN - 1 > all_to;
        row_probabilities(s, rows, factor, needs_mask, key);
        wgmma_wait<0>(dp);
        if (lane == 0) mbarrier_arrive(&x.empty_v);
#pragma unroll
        for (int j = 0; j < DQ_BN / 2; j++)
            dp[j] = s[j] * (dp[j] - rows.delta[j / 2 % 2]);
        pack_operand<E>(ds, dp);
        wgmma_fence(dq);
        start_ab<E, DQ_BN>(dq, ds, x.k[stage], n > 0);
    }
    wgmma_wait<0>(dq);
}

template <int D, typename E>
static __global__ void __launch_bounds__(HOPPER_THREADS, 1) hopper_dq_kernel(
    const __grid_constant__ hopper_maps maps, backward_call<E> c, hopper_workspace w,
    int wave)
{
    extern __shared__ uint4 smem[];
    dq_smem<D, E> &x = *(dq_smem<D, E> *)align_tile(smem);
    const sizes &z = c.z;
    if (threadIdx.x == 0) {
        mbarrier_init(&x.full_q, 1), mbarrier_init(&x.full_dout, 1);
        mbarrier_init(&x.full_v, 1), mbarrier_init(&x.empty_v, CONSUMERS / WARP);
        for (int s = 0; s < 2; s++)
            mbarrier_init(&x.full_k[s], 1),
                mbarrier_init(&x.empty_k[s], CONSUMERS / WARP);
        mbarrier_fence_init();
    }
    __syncthreads();  // the barriers are visible
    dq_job job = dq_job_of(blockIdx.x, z, w.first, w.Tp, wave);
    job.tiles = same_in_warp(job.tiles);
    int warp = threadIdx.x / WARP;
    if (threadIdx.x >= CONSUMERS) {
        setmaxnreg_dec<24>();
        if (warp == CONSUMERS / WARP && elect_one()) dq_load(x, maps, z, job);
    } else {
        setmaxnreg_inc<240>();
        float dq[D / 2];
        dq_attend(dq, x, w, z, job);
        int t = job.t + warp * 16;
        E *to = c.dq + ((size_t)job.b * z.T + t) * z.ldq + (size_t)job.h * z.D;
        store_sums<D>(to, z.ldq, z.T - t, dq, z.scale, z.D);
    }
}
#endif
// END SOLUTION
