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
    int group = same_in_warp(threadIdx.x / WARPGROUP), thread = threadIdx.x % WARPGROUP;
    if (w.is_direct) {
        int t = i * P::BM + thread / WARP * 16, d = group * P::DQ_COLUMNS;
        E *to = c.dq + ((size_t)job.b * z.T + t) * z.ldq + (size_t)head * z.D + d;
        store_sums<P::DQ_COLUMNS>(to, z.ldq, z.T - t, dq, z.scale, z.D - d);
        return;
    }
    size_t row = ((size_t)job.b * z.H + head) * w.Tp + i * P::BM;
    float4 *to = (float4 *)w.dq + row * (P::D / 4) + group * (R / 4 * WARPGROUP) + thread;
    bool is_first = turn_of<P>(z, i, job.j) == 0;
    named_barrier_sync(BARRIER_TURN + group, WARPGROUP + WARP);
#pragma unroll
    for (int j = 0; j < R / 4; j++) {
        float4 x = {dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]};
        if (is_first)
            __stcg(to + j * WARPGROUP, x);
        else
            add_float4(to + j * WARPGROUP, x);
    }
    named_barrier_arrive(BARRIER_ADDED + group, WARPGROUP + WARP);
}

/* P', dS' and dV += P' dO of 64 keys, whose tiles begin at k and v; key: the first of them.
 * `last`: key that the first query sees as its last. dV goes on. */
template <typename P, typename E>
static __device__ __forceinline__ void attend_block(
    float (&dv)[P::D / 2], unsigned (&ds)[P::BM / 16][4], hopper_smem<P, E> &x,
    const E *k, const E *v, ring<STAGES> at, int last, int key, float factor)
{
    const int BM = P::BM, BN = P::BN, D = P::D;
    int thread = threadIdx.x % WARPGROUP, stage = at.stage;
    float s[BM / 2], dp[BM / 2];
    unsigned p[BM / 16][4];
    wgmma_fence(s);
    start_abt<E, D, BN, BM>(s, k, x.q[stage]);
    mbarrier_wait(&x.full_dout[stage], at.parity);
    wgmma_fence(dp);
    start_abt<E, D, BN, BM>(dp, v, x.dout[stage]);
    wgmma_wait<1>(s);
    probabilities(s, x.lse[stage], factor);
    if (last < key + 63 || x.first[stage][BM - 1] > key)
        apply_key_mask(
            s, x.first[stage], last, key + thread / WARP * 16 + thread % WARP / 4);
    pack_operand<E>(p, s);
    wgmma_fence(dv);
    start_ab<E, BM>(dv, p, x.dout[stage]);
    wgmma_wait<1>(dp);
    score_gradients<E>(dp, p, x.delta[stage]);
    pack_operand<E>(ds, dp);
    if (P::BLOCKS > 1) wgmma_wait<0>(dv);  // the registers of p are needed
}

/* The sums of this warpgroup's keys over all steps of a piece of work. dQ of a tile of
 * queries follows one step later: the other warpgroup's dS is there by then, and the two
 * need not keep in step. So one multiplies while the other computes exponentials. */
template <typename P, typename E>
static __device__ __forceinline__ void attend_narrow(
    float (&dk)[P::BLOCKS][P::D / 2], float (&dv)[P::BLOCKS][P::D / 2], ring<STAGES> &at,
    hopper_smem<P, E> &x, int kv, const backward_call<E> &c, const hopper_workspace &w,
    const hopper_job &job)
{
    const sizes &z = c.z;
    const int BM = P::BM, BN = P::BN, FAR = 128;  // keys from a block to the next
    int group = same_in_warp(threadIdx.x / WARPGROUP);
    int row = group * 64, i = job.from, head = job.head;
    const E *k = x.k[kv] + row * PART, *v = x.v[kv] + row * PART;
    int column = BM > 64 ? 0 : group * P::DQ_COLUMNS;  // of K and dQ
    const E *k_dq = x.k[kv] + column / PART * BN * PART + column % PART;
    int ds_row = BM > 64 ? group * BN * PART : 0;
    if (job.steps == 0) return;
    ring<STAGES> before = at;
    int i_before = i, head_before = head;
#pragma unroll 1
    for (int n = 0; n < job.steps; n++) {
        int stage = at.stage, last = z.S - z.T + i * BM, key = job.j * BN + row;
        float dq[P::DQ_COLUMNS / 2];
        unsigned ds[P::BLOCKS][BM / 16][4];
        mbarrier_wait(&x.full_q[stage], at.parity);
        mbarrier_wait(&x.empty_ds[stage], at.parity ^ 1);
#pragma unroll
        for (int m = 0; m < P::BLOCKS; m++) {
            if (P::BLOCKS == 1 || same_in_warp(last + BM > key + m * FAR))
                attend_block<P>(
                    dv[m], ds[m], x, k + m * FAR * PART, v + m * FAR * PART, at, last,
                    key + m * FAR, z.scale * LOG2_E);
            else {  // no query sees these keys
                mbarrier_wait(&x.full_dout[stage], at.parity);
                for (int a = 0; a < BM / 16; a++)
                    for (int e = 0; e < 4; e++)
                        ds[m][a][e] = 0;
            }
            store_operand<BN>(x.ds[stage], ds[m], row + m * FAR);
        }
        fence_async();
        mbarrier_arrive(&x.full_ds[stage]);
        ring<STAGES> of_dq = n > 0 ? before : at;              // n = 0: not used
        mbarrier_wait(&x.full_ds[of_dq.stage], of_dq.parity);  // of both warpgroups
        wgmma_fence(dq);
        start_atb<E, BN>(dq, x.ds[of_dq.stage] + ds_row, k_dq);
#pragma unroll
        for (int m = 0; m < P::BLOCKS; m++) {
            wgmma_fence(dk[m]);
            start_ab<E, BM>(dk[m], ds[m], x.q[stage]);
        }
        wgmma_wait<P::BLOCKS>(dq, dv[P::BLOCKS - 1]);
        mbarrier_arrive(&x.empty_dout[stage]);
        if (n > 0) {
            mbarrier_arrive(&x.empty_ds[of_dq.stage]);
            put_dq<P>(c, w, job, i_before, head_before, dq);
        }
        wgmma_wait<0>(dk[0], dk[P::BLOCKS - 1]);
        mbarrier_arrive(&x.empty_q[stage]);
        before = at, i_before = i, head_before = head;
        advance(at);
        next_tile(job, i, head);
    }
    wgmma_wait<0>(dk[0]);
    float dq[P::DQ_COLUMNS / 2];
    mbarrier_wait(&x.full_ds[before.stage], before.parity);
    wgmma_fence(dq);
    start_atb<E, BN>(dq, x.ds[before.stage] + ds_row, k_dq);
    wgmma_wait<0>(dq);
    mbarrier_arrive(&x.empty_ds[before.stage]);
    put_dq<P>(c, w, job, i_before, head_before, dq);
}

/* Waits until all blocks have added to a tile of dQ, and rounds it. */
template <typename P, typename E>
static __device__ __forceinline__ void
finish_dq(const backward_call<E> &c, const hopper_workspace &w, int n)
{
    const sizes &z = c.z;
    int tiles = (z.T + P::BM - 1) / P::BM, i = n % tiles, head = n / tiles;
    size_t row = (size_t)head * w.Tp + i * P::BM;
    int first = w.first[(size_t)(head / z.H) * w.Tp + i * P::BM];
    int turns = turn_of<P>(z, i, first / P::BN) + 1;
    while (load_acquire(w.added + row / MIN_BM) < turns) {
    }
    store_dq_tile<P>(c, w, head, i);
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
        if (number == work.total) break;
        if (number >= work.count) {
            finish_dq<P>(c, w, number - work.count);
            mbarrier_arrive(&x.empty_kv[kv.stage]);
            continue;
        }
        hopper_job job = hopper_job_of<P>(number, work, c, w);
        job.steps = same_in_warp(job.steps);
        float dk[P::BLOCKS][P::D / 2], dv[P::BLOCKS][P::D / 2];
        clear(dv);
        clear(dk);
        attend_narrow<P>(dk, dv, at, x, kv.stage, c, w, job);
        mbarrier_arrive(&x.empty_kv[kv.stage]);
        int group = threadIdx.x / WARPGROUP, warp = threadIdx.x / WARP % 4;
#pragma unroll
        for (int m = 0; m < P::BLOCKS; m++) {
            int key = job.j * P::BN + (m * 2 + group) * 64 + warp * 16;
            size_t to = ((size_t)job.b * z.S + key) * z.ldkv + (size_t)job.g * z.D;
            store_sums<P::D>(c.dk + to, z.ldkv, z.S - key, dk[m], z.scale, z.D);
            store_sums<P::D>(c.dv + to, z.ldkv, z.S - key, dv[m], 1.0f, z.D);
        }
    }
}
#endif
// END SOLUTION
