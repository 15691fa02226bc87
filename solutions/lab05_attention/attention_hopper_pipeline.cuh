// BEGIN SOLUTION 05.7 (about 240 lines)
/* attention_hopper_pipeline.cuh - lab 05, part 05.7: what narrow and wide heads share: the
 * shared memory, the work of a block, and the warps that load tiles and keep order.
 */
#ifndef ATTENTION_HOPPER_PIPELINE_CUH
#define ATTENTION_HOPPER_PIPELINE_CUH
#include "attention_hopper_backward_tiles.cuh"

/* Named barriers, two per warpgroup: at TURN the order warp lets it add to dQ, at ADDED
 * it reports that it has added. */
enum { BARRIER_TURN = 1, BARRIER_ADDED = BARRIER_TURN + 2 };

/* BM queries, BN keys. Heads wider than 128: see attention_hopper_wide.cuh. KV_STAGES 2:
 * a block takes its next number, and loads those keys, while it computes. Where blocks
 * wait for their turn that would be too early: others would wait for this block. */
template <int D_, int BM_, int BN_, int KV_STAGES_ = 1> struct backward_plan {
    static const int D = D_, BM = BM_, BN = BN_, KV_STAGES = KV_STAGES_;
    static const bool IS_WIDE = D > 128;
    static const int BLOCKS = IS_WIDE ? 1 : BN / 128;  // of 64 keys, per warpgroup
    static const int DQ_ROWS = 64, DQ_COLUMNS = BM * D / 2 / DQ_ROWS;  // per warpgroup
};

template <typename P, typename E> struct hopper_smem {
    E k[P::KV_STAGES][P::BN * P::D], v[P::KV_STAGES][P::BN * P::D];
    E q[STAGES][P::BM * P::D], dout[STAGES][P::BM * P::D];
    E ds[STAGES][P::IS_WIDE ? 8 : P::BN * P::BM];         // (key, query)
    uint4 p[STAGES][P::IS_WIDE ? P::BN * P::BM / 8 : 1];  // P' of each thread
    float lse[STAGES][P::BM], delta[STAGES][P::BM];
    int first[STAGES][P::BM];
    int number[P::KV_STAGES];  // of the work
    uint64_t full_kv[P::KV_STAGES], empty_kv[P::KV_STAGES];
    uint64_t full_q[STAGES], empty_q[STAGES], full_dout[STAGES], empty_dout[STAGES];
    uint64_t full_ds[STAGES], empty_ds[STAGES];  // wide: for p
};

/* --- work --------------------------------------------------------------------------- */

/* All of it: keys in tiles of BN, for each sequence and key head. `wave` of these
 * sequences are in work together: enough to fill the GPU, and few enough for the L2
 * cache. */
struct hopper_work {
    int tiles, wave, count;
    int total;  // and the tiles of dQ whose sums remain to be rounded
};

/* Key tile j of sequence b and key head g, and the tiles [from, to) of queries of each
 * head of the group */
struct hopper_job {
    int b, g, j, from, to, steps, head;
};

/* The first token after t0 that sees no key up to `key`. first: of each token, or NULL if
 * the window alone decides. It never falls, so a binary search finds it. */
static __device__ __forceinline__ int
end_of_queries(const sizes &z, const int *first, int t0, int key)
{
    long long reach = (long long)key - (z.S - z.T) + z.window + 1;
    int from = t0, to = (int)min(reach, (long long)z.T);
    while (first && from < to) {
        int t = from + (to - from) / 2;
        if (first[t] <= key)
            from = t + 1;
        else
            to = t;
    }
    return to;
}

/* The last keys of a sequence come first: see hopper_order. */
template <typename P, typename E>
static __device__ __forceinline__ hopper_job hopper_job_of(
    int n, const hopper_work &work, const backward_call<E> &c, const hopper_workspace &w)
{
    const sizes &z = c.z;
    int start = n / (work.wave * work.tiles) * work.wave;
    int together = min(work.wave, z.B * z.K - start);
    n %= work.wave * work.tiles;
    int sequence = start + n % together, j = work.tiles - 1 - n / together;
    int b = sequence / z.K, g = sequence % z.K, group = z.H / z.K;
    int key = j * P::BN, t = max(key - (z.S - z.T), 0);
    const int *first = c.pos ? w.first + (size_t)b * w.Tp : NULL;
    int end = end_of_queries(z, first, t, min(key + P::BN, z.S) - 1);
    int from = t / P::BM, to = max((end + P::BM - 1) / P::BM, from);
    return {b, g, j, from, to, (to - from) * group, g * group};
}

/* From a tile of queries to the next. The first head goes up, the others down: so blocks
 * of neighbouring keys stay close to each other, and find the tiles in the L2 cache. */
static __device__ __forceinline__ void next_tile(const hopper_job &job, int &i, int &head)
{
    if (head == job.head) {
        if (++i == job.to) i = job.to - 1, head++;
    } else if (--i < job.from)
        i = job.to - 1, head++;
}

/* --- warps of the third warpgroup --------------------------------------------------- */

/* The tiles of queries of a piece of work, as stages become empty */
template <typename P, typename E>
static __device__ __forceinline__ void hopper_load_queries(
    ring<STAGES> &at, hopper_smem<P, E> &x, const hopper_maps &maps,
    const hopper_workspace &w, const sizes &z, hopper_job job)
{
    const int TILE = P::BM * P::D * sizeof(E), ROWS = P::BM * sizeof(float);
    int i = job.from, head = job.head;
    for (int n = 0; n < job.steps; n++) {
        int s = at.stage, t = i * P::BM;
        size_t row = ((size_t)job.b * z.H + head) * w.Tp + t;
        mbarrier_wait(&x.empty_q[s], at.parity ^ 1);
        mbarrier_expect(&x.full_q[s], TILE + 2 * ROWS);
        load_parts<P::D>(x.q[s], P::BM, &maps.q, &x.full_q[s], head, t, job.b);
        tma_load_bytes(x.lse[s], w.lse + row, ROWS, &x.full_q[s]);
        tma_load_bytes(
            x.first[s], w.first + (size_t)job.b * w.Tp + t, ROWS, &x.full_q[s]);
        mbarrier_wait(&x.empty_dout[s], at.parity ^ 1);
        mbarrier_expect(&x.full_dout[s], TILE + ROWS);
        load_parts<P::D>(x.dout[s], P::BM, &maps.dout, &x.full_dout[s], head, t, job.b);
        tma_load_bytes(x.delta[s], w.delta + row, ROWS, &x.full_dout[s]);
        advance(at);
        next_tile(job, i, head);
    }
}

/* One thread of a block takes numbers, and loads what the work needs. Numbers after
 * the last keys are tiles of dQ (finish_dq); one past those ends the block. */
template <typename P, typename E>
static __device__ __forceinline__ void hopper_load(
    hopper_smem<P, E> &x, const hopper_maps &maps, const hopper_work &work,
    const backward_call<E> &c, const hopper_workspace &w)
{
    const int TILE = P::BN * P::D * sizeof(E);
    ring<P::KV_STAGES> kv = {};
    ring<STAGES> at = {};
    for (int n = 0; n < work.total; advance(kv)) {
        int s = kv.stage;
        mbarrier_wait(&x.empty_kv[s], kv.parity ^ 1);
        x.number[s] = n = min((int)atomicAdd(w.started, 1u), work.total);
        if (n >= work.count) {
            mbarrier_arrive(&x.full_kv[s]);
            continue;
        }
        hopper_job job = hopper_job_of<P>(n, work, c, w);
        mbarrier_expect(&x.full_kv[s], 2 * TILE);
        load_parts<P::D>(
            x.k[s], P::BN, &maps.k, &x.full_kv[s], job.g, job.j * P::BN, job.b);
        load_parts<P::D>(
            x.v[s], P::BN, &maps.v, &x.full_kv[s], job.g, job.j * P::BN, job.b);
        hopper_load_queries(at, x, maps, w, c.z, job);
    }
}

/* How many blocks add to a tile of dQ before this one: those whose keys come later, up to
 * the last key that the tile sees */
template <typename P>
static __device__ __forceinline__ int turn_of(const sizes &z, int i, int j)
{
    return (z.S - z.T + min((i + 1) * P::BM, z.T) - 1) / P::BN - j;
}

/* One warp waits for this block's turn at each tile of dQ, and passes it on when the
 * consumers have added their sums. */
template <typename P>
static __device__ __forceinline__ void
hopper_order_job(const hopper_workspace &w, const sizes &z, hopper_job job)
{
    int i = job.from, head = job.head;
    for (int n = 0; n < job.steps; n++) {
        size_t row = ((size_t)job.b * z.H + head) * w.Tp + i * P::BM;
        int *added = w.added + row / MIN_BM, turn = turn_of<P>(z, i, job.j);
        while (load_acquire(added) < turn) {
        }
        for (int group = 0; group < 2; group++)
            named_barrier_arrive(BARRIER_TURN + group, WARPGROUP + WARP);
        for (int group = 0; group < 2; group++)
            named_barrier_sync(BARRIER_ADDED + group, WARPGROUP + WARP);
        if (threadIdx.x % WARP == 0) store_release(added, turn + 1);
        next_tile(job, i, head);
    }
}

template <typename P, typename E>
static __device__ __forceinline__ void hopper_order(
    hopper_smem<P, E> &x, const hopper_work &work, const backward_call<E> &c,
    const hopper_workspace &w)
{
    for (ring<P::KV_STAGES> kv = {};; advance(kv)) {
        mbarrier_wait(&x.full_kv[kv.stage], kv.parity);
        int n = x.number[kv.stage];
        if (n == work.total) break;
        if (!w.is_direct && n < work.count)
            hopper_order_job<P>(w, c.z, hopper_job_of<P>(n, work, c, w));
        mbarrier_arrive(&x.empty_kv[kv.stage]);
    }
}
#endif
// END SOLUTION
