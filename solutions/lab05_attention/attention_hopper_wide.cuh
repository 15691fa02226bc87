// BEGIN SOLUTION 05.7 (about 130 lines)
/* attention_hopper_wide.cuh - lab 05, part 05.7: dk and dv of heads wider than 128. The
 * sums of 64 keys and 256 columns take 128 registers per thread, so a warpgroup has room
 * for one of them:
 *
 *     warpgroup 0    S' = K Q^T     P' = exp(S' - lse)       dV += P' dO
 *     warpgroup 1    dP' = V dO^T   dS' = P' (dP' - delta)   dK += dS' Q
 *
 * P' passes from each thread of one to the same thread of the other.
 */
#ifndef ATTENTION_HOPPER_WIDE_CUH
#define ATTENTION_HOPPER_WIDE_CUH
#include "attention_hopper_pipeline.cuh"

/* dv of the 64 keys, by warpgroup 0 */
template <typename P, typename E>
static __device__ __forceinline__ void attend_dv(
    float (&dv)[P::D / 2], ring<STAGES> &at, hopper_smem<P, E> &x, const sizes &z,
    const hopper_job &job)
{
    const int BM = P::BM, BN = P::BN, D = P::D;
    int lane = threadIdx.x % WARP, thread = threadIdx.x, key = job.j * BN, i = job.from,
        head = job.head;
    float factor = z.scale * LOG2_E;
#pragma unroll 1
    for (int n = 0; n < job.steps; n++) {
        int stage = at.stage;
        float s[BM / 2];
        unsigned p[BM / 16][4];
        mbarrier_wait(&x.full_q[stage], at.parity);
        wgmma_fence(s);
        start_abt<E, D, BN, BM>(s, x.k[0], x.q[stage]);
        wgmma_wait<0>(s, dv);
        if (n > 0) mbarrier_arrive(&x.empty_dout[stage ^ 1]);
        probabilities(s, x.lse[stage], factor);
        int last = z.S - z.T + i * BM;
        if (last < key + 63 || x.first[stage][BM - 1] > key)
            apply_key_mask(s, x.first[stage], last, key + thread / WARP * 16 + lane / 4);
        mbarrier_arrive(&x.empty_q[stage]);
        pack_operand<E>(p, s);
        mbarrier_wait(&x.empty_ds[stage], at.parity ^ 1);
        uint4 *to = x.p[stage] + thread;
#pragma unroll
        for (int k = 0; k < BM / 16; k++)
            to[k * WARPGROUP] = make_uint4(p[k][0], p[k][1], p[k][2], p[k][3]);
        mbarrier_arrive(&x.full_ds[stage]);
        mbarrier_wait(&x.full_dout[stage], at.parity);
        wgmma_fence(dv);
        start_ab<E, BM>(dv, p, x.dout[stage], n > 0);
        advance(at);
        next_tile(job, i, head);
    }
    wgmma_wait<0>(dv);
    if (job.steps > 0) mbarrier_arrive(&x.empty_dout[at.stage ^ 1]);
}

/* dk of the 64 keys, by warpgroup 1 */
template <typename P, typename E>
static __device__ __forceinline__ void attend_dk(
    float (&dk)[P::D / 2], ring<STAGES> &at, hopper_smem<P, E> &x, const hopper_job &job)
{
    const int BM = P::BM, BN = P::BN, D = P::D;
#pragma unroll 1
    for (int n = 0; n < job.steps; n++) {
        int stage = at.stage;
        float dp[BM / 2];
        unsigned p[BM / 16][4], ds[BM / 16][4];
        mbarrier_wait(&x.full_dout[stage], at.parity);
        wgmma_fence(dp);
        start_abt<E, D, BN, BM>(dp, x.v[0], x.dout[stage]);
        wgmma_wait<0>(dp, dk);
        if (n > 0) mbarrier_arrive(&x.empty_q[stage ^ 1]);
        mbarrier_wait(&x.full_ds[stage], at.parity);  // P is in x.p
        const uint4 *from = x.p[stage] + threadIdx.x % WARPGROUP;
#pragma unroll
        for (int k = 0; k < BM / 16; k++) {
            uint4 four = from[k * WARPGROUP];
            p[k][0] = four.x, p[k][1] = four.y, p[k][2] = four.z, p[k][3] = four.w;
        }
        mbarrier_arrive(&x.empty_ds[stage]);
        score_gradients<E>(dp, p, x.delta[stage]);
        mbarrier_arrive(&x.empty_dout[stage]);
        pack_operand<E>(ds, dp);
        mbarrier_wait(&x.full_q[stage], at.parity);
        wgmma_fence(dk);
        start_ab<E, BM>(dk, ds, x.q[stage], n > 0);
        advance(at);
    }
    wgmma_wait<0>(dk);
    if (job.steps > 0) mbarrier_arrive(&x.empty_q[at.stage ^ 1]);
}

template <typename P, typename E>
static __device__ __forceinline__ void consume_wide(
    hopper_smem<P, E> &x, const hopper_work &work, const backward_call<E> &c,
    const hopper_workspace &w)
{
    const sizes &z = c.z;
    bool is_dv = threadIdx.x < WARPGROUP;
    ring<STAGES> at = {};
    for (ring<P::KV_STAGES> kv = {};; advance(kv)) {
        mbarrier_wait(&x.full_kv[0], kv.parity);
        int number = same_in_warp(x.number[0]);
        if (number == work.total) break;
        hopper_job job = hopper_job_of<P>(number, work, c, w);
        job.steps = same_in_warp(job.steps);
        float sums[P::D / 2];
        if (job.steps == 0)  // no query sees these keys
            for (int d = 0; d < P::D / 2; d++)
                sums[d] = 0.0f;
        if (is_dv)
            attend_dv<P>(sums, at, x, z, job);
        else
            attend_dk<P>(sums, at, x, job);
        mbarrier_arrive(&x.empty_kv[0]);
        int key = job.j * P::BN + threadIdx.x % WARPGROUP / WARP * 16;
        size_t to = ((size_t)job.b * z.S + key) * z.ldkv + (size_t)job.g * z.D;
        store_sums<P::D>(
            (is_dv ? c.dv : c.dk) + to, z.ldkv, z.S - key, sums, is_dv ? 1.0f : z.scale,
            z.D);
    }
}
#endif
// END SOLUTION
