// BEGIN SOLUTION 05.7 (about 145 lines)
/* attention_hopper_backward.cuh - lab 05, part 05.7: attention backward with wgmma and
 * TMA. A block owns BN keys and loops over tiles of BM queries, those of all heads of its
 * group. Up to D = 128 (attention_hopper_narrow.cuh) five GEMMs give all three gradients:
 * a block adds its part of dQ to the workspace. For wider heads that is more than the L2
 * cache can add in time: attention_hopper_wide.cuh leaves dQ to a second kernel, in
 * attention_hopper_dq.cuh.
 *
 * Float sums depend on their order, so each tile of dQ is added to by one block after the
 * other: first the block whose keys come last. It also starts first and needs the tile
 * first, because a block begins with the queries at its own keys:
 *
 *     tile of queries  0  1  2  3        step of the block that owns
 *     keys 3                    0        keys 3: it adds to tile 3 in step 0,
 *     keys 2                 0  1        keys 2: in step 1,
 *     keys 1              0  1  2        keys 1: in step 2, so no block waits long
 *     keys 0           0  1  2  3
 *
 * One block per multiprocessor takes numbers until no work is left. The work of a number
 * waits only for that of smaller ones, which has begun. After the keys come the tiles of
 * dQ, which are complete by then or soon: they are rounded. Two warpgroups compute. The
 * third has two busy warps: one loads tiles, and one keeps the order of the sums.
 */
#ifndef ATTENTION_HOPPER_BACKWARD_CUH
#define ATTENTION_HOPPER_BACKWARD_CUH
#include "attention_hopper_dq.cuh"
#include "attention_hopper_narrow.cuh"
#include "attention_hopper_wide.cuh"

/* Every thread arrives after its reads or writes. One arrival per warp, after __syncwarp,
 * is correct too and as fast, but compute-sanitizer's racecheck then reports races. */
template <typename P, typename E>
static __device__ __forceinline__ void init_barriers(hopper_smem<P, E> &x)
{
    const int DS_THREADS = P::IS_WIDE ? WARPGROUP : CONSUMERS;
    for (int s = 0; s < P::KV_STAGES; s++) {
        mbarrier_init(&x.full_kv[s], 1);
        // each thread that reads x.number; a warp of them in hopper_order
        mbarrier_init(&x.empty_kv[s], CONSUMERS + (P::IS_WIDE ? 0 : WARP));
    }
    for (int s = 0; s < STAGES; s++) {
        mbarrier_init(&x.full_q[s], 1), mbarrier_init(&x.full_dout[s], 1);
        mbarrier_init(&x.empty_q[s], CONSUMERS);
        mbarrier_init(&x.empty_dout[s], CONSUMERS);
        mbarrier_init(&x.full_ds[s], DS_THREADS);
        mbarrier_init(&x.empty_ds[s], DS_THREADS);
    }
    mbarrier_fence_init();
}

template <typename P, typename E>
static __global__ void __launch_bounds__(HOPPER_THREADS, 1) hopper_backward_kernel(
    const __grid_constant__ hopper_maps maps, backward_call<E> c, hopper_workspace w,
    hopper_work work)
{
    extern __shared__ uint4 smem[];
    hopper_smem<P, E> &x = *(hopper_smem<P, E> *)align_tile(smem);
    if (threadIdx.x == 0) init_barriers(x);
    __syncthreads();  // the barriers are visible
    int warp = threadIdx.x / WARP;
    if (threadIdx.x >= CONSUMERS) {
        setmaxnreg_dec<24>();
        if (warp == CONSUMERS / WARP && elect_one()) hopper_load(x, maps, work, c, w);
        if (!P::IS_WIDE && warp == CONSUMERS / WARP + 1) hopper_order(x, work, c, w);
    } else {
        setmaxnreg_inc<240>();
        if constexpr (P::IS_WIDE)
            consume_wide(x, work, c, w);
        else
            consume_narrow(x, work, c, w);
    }
}

/* --- host --------------------------------------------------------------------------- */

template <typename E>
static bool make_maps(hopper_maps *maps, const backward_call<E> &c, int BM, int BN)
{
    const sizes &z = c.z;
    return parts_map(&maps->q, c.q, z.B, z.T, z.H, z.D, z.ldq, BM) &&
           parts_map(&maps->dout, c.dout, z.B, z.T, z.H, z.D, z.H * z.D, BM) &&
           parts_map(&maps->k, c.k, z.B, z.S, z.K, z.D, z.ldkv, BN) &&
           parts_map(&maps->v, c.v, z.B, z.S, z.K, z.D, z.ldkv, BN);
}

/* Sequences in work together: enough of them to fill the GPU. Work on several heads of a
 * group takes so long that neighbouring keys should start right after each other, to find
 * the tiles of queries in the L2 cache. */
static inline int wave_of(size_t tiles, size_t sequences, int group)
{
    size_t wave = group > 1 ? 1 : (sm_count() + tiles - 1) / tiles;
    return (int)(wave < sequences ? wave : sequences);
}

/* dq where the workspace has no sums of it */
template <int D, typename E>
static wb_status
launch_dq(const backward_call<E> &c, const hopper_workspace &w, cudaStream_t s)
{
    const sizes &z = c.z;
    hopper_maps maps;
    if (!make_maps(&maps, c, DQ_BM, DQ_BN)) return WB_UNSUPPORTED;
    size_t tiles = ((size_t)z.T + DQ_BM - 1) / DQ_BM, heads = (size_t)z.B * z.H;
    if (tiles * heads > INT_MAX) return WB_BAD_SHAPE;
    auto kernel = hopper_dq_kernel<D, E>;
    const int BYTES = sizeof(dq_smem<D, E>) + TILE_ALIGN;
    allow_smem(kernel, BYTES);
    kernel<<<(unsigned)(tiles * heads), HOPPER_THREADS, BYTES, s>>>(
        maps, c, w, wave_of(tiles, heads, 1));
    return wb_launched();
}

template <typename P, typename E>
static wb_status launch_hopper(const backward_call<E> &c, cudaStream_t s)
{
    const sizes &z = c.z;
    hopper_workspace w = lay_out_workspace(c.workspace, z);
    w.is_direct = !P::IS_WIDE && z.S <= P::BN;
    hopper_maps maps;
    if (!make_maps(&maps, c, P::BM, P::BN)) return WB_UNSUPPORTED;
    size_t tiles = ((size_t)z.S + P::BN - 1) / P::BN, sequences = (size_t)z.B * z.K;
    size_t rows = (size_t)z.B * z.H * w.Tp, count = tiles * sequences;
    if (count > INT_MAX / 2 || rows / ROWS_PER_BLOCK > INT_MAX) return WB_BAD_SHAPE;
    size_t dq_tiles = ((size_t)z.T + P::BM - 1) / P::BM * z.B * z.H;
    if (P::IS_WIDE || w.is_direct) dq_tiles = 0;
    hopper_work work = {
        (int)tiles, wave_of(tiles, sequences, z.H / z.K), (int)count,
        (int)(count + dq_tiles)};
    prepare_rows_kernel<<<(unsigned)(rows / ROWS_PER_BLOCK), ROWS_PER_BLOCK * 8, 0, s>>>(
        c, w);
    auto kernel = hopper_backward_kernel<P, E>;
    const int BYTES = sizeof(hopper_smem<P, E>) + TILE_ALIGN;
    allow_smem(kernel, BYTES);
    int blocks = sm_count() < work.count ? sm_count() : work.count;
    kernel<<<blocks, HOPPER_THREADS, BYTES, s>>>(maps, c, w, work);
    if constexpr (P::IS_WIDE) return launch_dq<P::D>(c, w, s);
    return wb_launched();
}
#endif
// END SOLUTION
