// BEGIN SOLUTION 05.7 (about 130 lines)
/* attention_hopper_narrow.cuh - lab 05, part 05.7: dk, dv and dq of heads up to 128 wide.
 * A warpgroup owns BLOCKS times 64 keys:
 *
 *     S' = K Q^T    dP' = V dO^T    dV += P' dO    dK += dS' Q    dQ = dS K
 *
 * P' and dS' stay in its registers as left operands of dV and dK. dS also goes to shared
 * memory, because dQ sums over the keys of both warpgroups; each computes half of it.
 */
#ifndef ATTENTION_HOPPER_NARROW_CUH
#define ATTENTION_HOPPER_NARROW_CUH
#include "attention_hopper_pipeline.cuh"

template <int BLOCKS, int R>
static __device__ __forceinline__ void clear(float (&sums)[BLOCKS][R])
{
#pragma unroll
    for (int m = 0; m < BLOCKS; m++)
#pragma unroll
        for (int i = 0; i < R; i++)
            sums[m][i] = 0.0f;
}

/* Where dQ of a tile of queries goes: dq itself if there is one tile of keys, otherwise
 * the workspace, in turn */
template <typename P, typename E, int R>
static __device__ __forceinline__ void put_dq(
    const backward_call<E> &c, const hopper_workspace &w, const hopper_job &job, int i,
    int head, const float (&dq)[R])
{
    const sizes &z = c.z;
    int group = threadIdx.x / WARPGROUP, thread = threadIdx.x % WARPGROUP;
    if (w.is_direct) {
        int t = i * P::BM + thread / WARP * 16, d = group * P::DQ_COLUMNS;
        E *to = c.dq + ((size_t)job.b * z.T + t) * z.ldq + (size_t)head * z.D + d;
        store_sums<P::DQ_COLUMNS>(to, z.ldq, z.T - t, dq, z.scale, z.D - d);
        return;
    }
    size_t row = ((size_t)job.b * z.H + head) * w.Tp + i * P::BM;
    float4 *to = (float4 *)w.dq + row * (P::D / 4) + group * (R / 4 * WARPGROUP) + thread;
    bool is_first = turn_of<P>(z, i, job.j) == 0;
    named_barrier_sync(BARRIER_TURN, CONSUMERS + WARP);
#pragma unroll
    for (int j = 0; j < R / 4; j++) {
        float4 x = {dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]};
        if (is_first)
            __stcg(to + j * WARPGROUP, x);
        else
            add_float4(to + j * WARPGROUP, x);
    }
    named_barrier_arrive(BARRIER_ADDED, CONSUMERS + WARP);
}

/* P' and dS' of each block of 64 keys, and dV += P' dO. S' and dP' of the first have
 * started. */
template <typename P, typename E>
static __device__ __forceinline__ void attend_blocks(
    float (&dv)[P::BLOCKS][P::D / 2], unsigned (&ds)[P::BLOCKS][P::BM / 16][4],
    float (&s)[P::BM / 2], float (&dp)[P::BM / 2], hopper_smem<P, E> &x, const E *k,
    const E *v, int stage, int last, int key, int row, float factor)
{
    const int BM = P::BM, BN = P::BN, D = P::D;
    int thread = threadIdx.x % WARPGROUP;
    int own = key + thread / WARP * 16 + thread % WARP / 4;
    const E *q = x.q[stage], *dout = x.dout[stage];
#pragma unroll
    for (int m = 0; m < P::BLOCKS; m++) {
        unsigned p[BM / 16][4];
        if (m > 0) wgmma_wait<1>(s);
        probabilities(s, x.lse[stage], factor);
        if (last < key + m * 64 + 63 || x.first[stage][BM - 1] > key + m * 64)
            apply_key_mask(s, x.first[stage], last, own + m * 64);
        pack_operand<E>(p, s);
        wgmma_fence(dv[m]);
        start_ab<E, BM>(dv[m], p, dout);
        wgmma_wait<1>(dp);
        score_gradients<E>(dp, p, x.delta[stage]);
        pack_operand<E>(ds[m], dp);
        store_operand<BN>(x.ds[stage], ds[m], row + m * 64);
        if (m + 1 == P::BLOCKS) break;
        wgmma_wait<0>(dv[m]);  // the registers of p are needed
        wgmma_fence(s);
        start_abt<E, D, BN, BM>(s, k + (m + 1) * 64 * PART, q);
        wgmma_fence(dp);
        start_abt<E, D, BN, BM>(dp, v + (m + 1) * 64 * PART, dout);
    }
}

/* The sums of this warpgroup's keys over all steps of a piece of work */
template <typename P, typename E>
static __device__ __forceinline__ void attend_narrow(
    float (&dk)[P::BLOCKS][P::D / 2], float (&dv)[P::BLOCKS][P::D / 2], ring<STAGES> &at,
    hopper_smem<P, E> &x, int kv, const backward_call<E> &c, const hopper_workspace &w,
    const hopper_job &job)
{
    const sizes &z = c.z;
    const int BM = P::BM, BN = P::BN, D = P::D;
    int group = same_in_warp(threadIdx.x / WARPGROUP), lane = threadIdx.x % WARP;
    int row = group * P::BLOCKS * 64, i = job.from, head = job.head;
    const E *k = x.k[kv] + row * PART, *v = x.v[kv] + row * PART;
    int column = BM > 64 ? 0 : group * P::DQ_COLUMNS;  // of K and dQ
    const E *k_dq = x.k[kv] + column / PART * BN * PART + column % PART;
#pragma unroll 1
    for (int n = 0; n < job.steps; n++) {
        int stage = at.stage;
        float s[BM / 2], dp[BM / 2], dq[P::DQ_COLUMNS / 2];
        unsigned ds[P::BLOCKS][BM / 16][4];
        mbarrier_wait(&x.full_q[stage], at.parity);
        wgmma_fence(s);
        start_abt<E, D, BN, BM>(s, k, x.q[stage]);
        mbarrier_wait(&x.full_dout[stage], at.parity);
        wgmma_fence(dp);
        start_abt<E, D, BN, BM>(dp, v, x.dout[stage]);
        wgmma_wait<1>(s, dk[0]);
        if (P::DK_LATE && n > 0 && lane == 0) mbarrier_arrive(&x.empty_q[stage ^ 1]);
        attend_blocks<P>(
            dv, ds, s, dp, x, k, v, stage, z.S - z.T + i * BM, job.j * BN + row, row,
            z.scale * LOG2_E);
        fence_async();
        named_barrier_sync(BARRIER_DS, CONSUMERS);  // dS of both warpgroups is stored
        wgmma_fence(dq);
        start_atb<E, BN>(dq, x.ds[stage] + (BM > 64 ? group * BN * PART : 0), k_dq);
#pragma unroll
        for (int m = 0; m < P::BLOCKS; m++) {
            wgmma_fence(dk[m]);
            start_ab<E, BM>(dk[m], ds[m], x.q[stage], !P::DK_LATE || n > 0);
        }
        wgmma_wait<P::BLOCKS>(dq, dv[P::BLOCKS - 1]);
        __syncwarp();
        if (lane == 0) mbarrier_arrive(&x.empty_dout[stage]);
        put_dq<P>(c, w, job, i, head, dq);
        if (!P::DK_LATE) {
            wgmma_wait<0>(dk[0], dk[P::BLOCKS - 1]);
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&x.empty_q[stage]);
        }
        advance(at);
        next_tile(job, i, head);
    }
    wgmma_wait<0>(dk[0]);
    if (P::DK_LATE && job.steps > 0 && lane == 0)
        mbarrier_arrive(&x.empty_q[at.stage ^ 1]);
}

template <typename P, typename E>
static __device__ __forceinline__ void consume_narrow(
    hopper_smem<P, E> &x, const hopper_work &work, const backward_call<E> &c,
    const hopper_workspace &w)
{
    const sizes &z = c.z;
    ring<STAGES> at = {};
    for (ring<P::KV_STAGES> kv = {};; advance(kv)) {
        mbarrier_wait(&x.full_kv[kv.stage], kv.parity);
        int number = same_in_warp(x.number[kv.stage]);
        if (number == work.count) break;
        hopper_job job = hopper_job_of<P>(number, work, c, w);
        job.steps = same_in_warp(job.steps);
        float dk[P::BLOCKS][P::D / 2], dv[P::BLOCKS][P::D / 2];
        clear(dv);
        if (!P::DK_LATE || job.steps == 0) clear(dk);
        attend_narrow<P>(dk, dv, at, x, kv.stage, c, w, job);
        __syncwarp();
        if (threadIdx.x % WARP == 0) mbarrier_arrive(&x.empty_kv[kv.stage]);
        int group = threadIdx.x / WARPGROUP, warp = threadIdx.x / WARP % 4;
#pragma unroll
        for (int m = 0; m < P::BLOCKS; m++) {
            int key = job.j * P::BN + (group * P::BLOCKS + m) * 64 + warp * 16;
            size_t to = ((size_t)job.b * z.S + key) * z.ldkv + (size_t)job.g * z.D;
            store_sums<P::D>(c.dk + to, z.ldkv, z.S - key, dk[m], z.scale, z.D);
            store_sums<P::D>(c.dv + to, z.ldkv, z.S - key, dv[m], 1.0f, z.D);
        }
    }
}
#endif
// END SOLUTION
