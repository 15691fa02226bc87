/* 06_tma.cu - copies, GEMMs and exponentials at the same time.
 *
 * The warps of a block have different jobs (warp specialization). One thread of the first
 * warpgroup, the producer, starts all copies: a TMA instruction copies a whole tile, and
 * its bytes count on a barrier in shared memory (cuda/mbarrier.cuh). The producer needs
 * few registers, so setmaxnreg gives most of them to the others, the consumers.
 *
 *     producer            K0   K1 V0   K2 V1   ...     two stages of each, full or empty
 *     consumer 0     S0 = Q K0 | S1, O += P0 V0 | softmax 1 |  S2, O += P1 V1  | softmax 2
 *     consumer 1               S0 = Q K0        | S1, O += P0 V0 |  softmax 1  |  S2, ...
 *
 * Two things keep the tensor cores busy during a softmax. Within a consumer, O += P V of
 * the tile before runs while the exponentials of this one are computed. And the consumers
 * take turns (ping-pong): named barriers let one start its GEMMs while the other computes
 * exponentials.
 *
 * A phase of a barrier has a parity. Stage s is used again and again, so the parity that
 * both sides wait for flips each time around.
 *
 * The backward pass has the same warps: dP runs during the exponentials.
 * What remains: between two blocks a multiprocessor waits for the first copies; heads that
 * share K and V copy them again; O is rescaled at every tile. See attention_hopper.cuh.
 */
// fails: tensor_heads,back_tensor
#include "hopper_rows.cuh"

constexpr int CONSUMERS = 2;  // warpgroups with 64 query rows each
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int BM = CONSUMERS * 64;
constexpr int STAGES = 2;

/* Tiles have D / PART parts, each with rows of 128 bytes, swizzled. */
template <int D, typename E> struct alignas(1024) shared_tiles {
    static const int BN = D == 256 ? 64 : 128;  // keys of a tile
    E q[BM * D], k[STAGES][BN * D], v[STAGES][BN * D];
    uint64_t q_full;
    uint64_t k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
};

/* Number i of the tiles that go through the stages */
struct place {
    int stage, parity;
};
static __device__ place place_of(int i)
{
    return {i % STAGES, i / STAGES & 1};
}

/* What a block works on: 128 rows of a head, and the tiles of keys from `first` on */
struct block_work {
    int b, h, g, row, first, tiles;
};

/* --- the producer ------------------------------------------------------------------- */

template <int ROWS, int D, typename E>
static __device__ void
load_tile(E *tile, const tensor_map *map, uint64_t *full, int head, int row, int b)
{
    mbarrier_expect(full, ROWS * D * 2);
#pragma unroll
    for (int part = 0; part < D / PART; part++)
        tma_load(tile + part * ROWS * PART, map, full, part * PART, head, row, b);
}

template <int D, typename E>
static __device__ void produce(
    shared_tiles<D, E> &smem, const tensor_map *q, const tensor_map *k,
    const tensor_map *v, block_work work)
{
    const int BN = shared_tiles<D, E>::BN;
    load_tile<BM, D>(smem.q, q, &smem.q_full, work.h, work.row, work.b);
    for (int i = 0; i < work.tiles; i++) {
        place at = place_of(i);
        int s = at.stage, key = work.first + i * BN;
        mbarrier_wait(&smem.k_empty[s], at.parity ^ 1);  // a new stage is empty
        load_tile<BN, D>(smem.k[s], k, &smem.k_full[s], work.g, key, work.b);
        mbarrier_wait(&smem.v_empty[s], at.parity ^ 1);
        load_tile<BN, D>(smem.v[s], v, &smem.v_full[s], work.g, key, work.b);
    }
}

/* --- the consumers ------------------------------------------------------------------ */

/* Starts S (64,BN) = Q K^T, for the 64 rows of Q that begin at q */
template <int D, int BN, typename E>
static __device__ void start_qk(float (&s)[BN / 2], const E *q, const E *k)
{
    wgmma_fence(s);
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        uint64_t a = wgmma_tile<128>(q + d / PART * BM * PART);
        uint64_t b = wgmma_tile<128>(k + d / PART * BN * PART);
        int bytes = d % PART * 2;
        wgmma<E>(s, wgmma_step(a, bytes), wgmma_step(b, bytes), d > 0);
    }
    wgmma_commit();
}

/* Starts O (64,D) += P V. V is [key][channel]: k runs over its rows. */
template <int D, int BN, typename E>
static __device__ void
start_pv(float (&o)[D / 2], const unsigned (&p)[BN / 16][4], const E *v)
{
    wgmma_fence(o);
    uint64_t b = wgmma_tile<128>(v, BN * 128);
#pragma unroll
    for (int n = 0; n < BN / 16; n++)
        wgmma<E, MN_MAJOR>(o, p[n], wgmma_step(b, n * 16 * 128), true);
    wgmma_commit();
}

/* Both rows; `shrink`: for O, which the GEMM of the tile before may still be adding to */
template <int BN>
static __device__ void softmax_tile(
    float (&shrink)[2], float (&s)[BN / 2], row_info (&rows)[2], int key, float c)
{
    for (int half = 0; half < 2; half++)
        shrink[half] = online_softmax(s, half, rows[half], key, c);
}

/* Consumers start their GEMMs in turn: barrier 1 + i is consumer i's, and the other one
 * arrives there. */
static __device__ void wait_for_turn(int consumer)
{
    named_barrier_sync(1 + consumer, CONSUMERS * WARPGROUP);
}
static __device__ void pass_turn(int consumer)
{
    named_barrier_arrive(2 - consumer, CONSUMERS * WARPGROUP);
}

/* One arrival per warp, after its wgmma has read the stage */
static __device__ void release(uint64_t *empty)
{
    if (threadIdx.x % WARP == 0) mbarrier_arrive(empty);
}

template <int D, typename E>
static __device__ void attend(
    float (&o)[D / 2], row_info (&rows)[2], shared_tiles<D, E> &smem, block_work work,
    int consumer, float c)
{
    const int BN = shared_tiles<D, E>::BN;
    const E *q = smem.q + consumer * 64 * PART;
    float s[BN / 2], shrink[2];
    unsigned p[BN / 16][4];
    if (consumer == 1) pass_turn(consumer);  // consumer 0 begins
    mbarrier_wait(&smem.q_full, 0);
    mbarrier_wait(&smem.k_full[0], 0);
    start_qk<D, BN>(s, q, smem.k[0]);
    wgmma_wait<0>(s);
    release(&smem.k_empty[0]);
    softmax_tile<BN>(shrink, s, rows, work.first, c);  // O is still 0
    pack_a<E>(p, s);
    place before = {0, 0};
    for (int i = 1; i < work.tiles; i++) {
        place at = place_of(i);
        mbarrier_wait(&smem.k_full[at.stage], at.parity);
        wait_for_turn(consumer);
        start_qk<D, BN>(s, q, smem.k[at.stage]);
        mbarrier_wait(&smem.v_full[before.stage], before.parity);
        start_pv<D, BN>(o, p, smem.v[before.stage]);
        pass_turn(consumer);
        wgmma_wait<1>(s);  // O += P V goes on
        release(&smem.k_empty[at.stage]);
        softmax_tile<BN>(shrink, s, rows, work.first + i * BN, c);
        compute_now(rows[0].sum + rows[1].sum);  // not after the wait
        wgmma_wait<0>(o);
        release(&smem.v_empty[before.stage]);
        pack_a<E>(p, s);
        for (int i = 0; i < D / 2; i++)
            o[i] *= shrink[i / 2 % 2];
        before = at;
    }
    mbarrier_wait(&smem.v_full[before.stage], before.parity);
    start_pv<D, BN>(o, p, smem.v[before.stage]);
    wgmma_wait<0>(o);
    if (consumer == 0) wait_for_turn(consumer);  // the turn that is left
}

/* --- kernel and launcher ------------------------------------------------------------ */

template <int D, typename E>
static __device__ void init_barriers(shared_tiles<D, E> &smem)
{
    const int WARPS = CONSUMERS * 4;
    mbarrier_init(&smem.q_full, 1);
    for (int i = 0; i < STAGES; i++) {
        mbarrier_init(&smem.k_full[i], 1), mbarrier_init(&smem.k_empty[i], WARPS);
        mbarrier_init(&smem.v_full[i], 1), mbarrier_init(&smem.v_empty[i], WARPS);
    }
    mbarrier_fence_init();
}

template <int D, typename E>
static __device__ block_work block_work_of(const forward_call<E> &call)
{
    const int BN = shared_tiles<D, E>::BN;
    const sizes &z = call.z;
    // the last rows see the most keys: they run first
    int heads = z.B * z.H, tile = gridDim.x / heads - 1 - blockIdx.x / heads;
    int h = blockIdx.x % z.H, b = blockIdx.x % heads / z.H, row = tile * BM;
    int first = row_info_of(call, b, row).first;  // never falls from row to row
    int last = row_info_of(call, b, row + BM - 1).last;
    return {b, h, h / (z.H / z.K), row, first / BN * BN, last / BN + 1 - first / BN};
}

template <int D, typename E>
static __global__ void __launch_bounds__(THREADS, 1) attention_kernel(
    forward_call<E> call, const __grid_constant__ tensor_map q,
    const __grid_constant__ tensor_map k, const __grid_constant__ tensor_map v)
{
    extern __shared__ __align__(1024) uint4 memory[];
    shared_tiles<D, E> &smem = *(shared_tiles<D, E> *)memory;
    block_work work = block_work_of<D>(call);
    if (threadIdx.x == 0) init_barriers(smem);
    __syncthreads();  // the barriers are visible to the block
    if (threadIdx.x < WARPGROUP) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0) produce<D>(smem, &q, &k, &v, work);
    } else {
        setmaxnreg_inc<240>();
        int thread = threadIdx.x - WARPGROUP;
        int first_row = work.row + thread / WARP * 16 + thread % WARP / 4;
        row_info rows[2];
        for (int half = 0; half < 2; half++)
            rows[half] = row_info_of(call, work.b, first_row + 8 * half);
        float o[D / 2] = {};
        attend(o, rows, smem, work, thread / WARPGROUP, call.z.scale * LOG2_E);
        for (int half = 0; half < 2; half++)
            store_out<D>(call, o, rows[half], half, work.b, first_row + 8 * half, work.h);
    }
}

/* Tiles of `rows` tokens of one head of x (B,T,heads,D), tokens ld apart */
template <typename E>
static bool
map_of(tensor_map *map, const E *x, int B, int T, int heads, int D, int ld, int rows)
{
    size_t d = D, h = heads, t = T, b = B, stride = ld;
    return make_tensor_map(
        map, x,
        {4, {d, h, t, b}, {1, d, stride, t * stride}, {PART, 1, (unsigned)rows, 1}, 128});
}

/* WB_UNSUPPORTED: not on Hopper */
template <int D, typename E>
static wb_status launch(forward_call<E> call, cudaStream_t stream)
{
    const int BYTES = sizeof(shared_tiles<D, E>), BN = shared_tiles<D, E>::BN;
    const sizes &z = call.z;
    if (!runs_wgmma<E>()) return WB_UNSUPPORTED;
    size_t blocks = ((size_t)z.T + BM - 1) / BM * z.B * z.H;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    tensor_map q, k, v;
    if (!map_of(&q, call.q, z.B, z.T, z.H, z.D, z.ldq, BM) ||
        !map_of(&k, call.k, z.B, z.S, z.K, z.D, z.ldkv, BN) ||
        !map_of(&v, call.v, z.B, z.S, z.K, z.D, z.ldkv, BN))
        return WB_UNSUPPORTED;
    auto kernel = attention_kernel<D, E>;
    allow_smem(kernel, BYTES);
    kernel<<<(unsigned)blocks, THREADS, BYTES, stream>>>(call, q, k, v);
    return wb_launched();
}

/* --- backward ----------------------------------------------------------------------- */

/* As in rung 05 a block owns rows, keys (KEYS) or queries, and loops over tiles of the
 * others. Q and dO are pair a and b of the queries, K and V of the keys. */
template <int D, typename E> struct alignas(1024) gradient_tiles {
    static const int BN = D == 256 ? 32 : 64;  // rows of a tile
    E own_a[BM * D], own_b[BM * D], a[STAGES][BN * D], b[STAGES][BN * D];
    uint64_t own_full, full[STAGES], empty[STAGES];
};
struct gradient_maps {
    tensor_map own_a, own_b, a, b;
};

template <bool KEYS, int D, typename E>
static __device__ void
produce_pairs(gradient_tiles<D, E> &smem, const gradient_maps &maps, gradient_work work)
{
    const int BN = gradient_tiles<D, E>::BN;
    int own_head = KEYS ? work.g : work.h;
    load_tile<BM, D>(smem.own_a, &maps.own_a, &smem.own_full, own_head, work.row, work.b);
    load_tile<BM, D>(smem.own_b, &maps.own_b, &smem.own_full, own_head, work.row, work.b);
    for (int n = 0; n < work.tiles * work.heads; n++) {
        place at = place_of(n);
        uint64_t *full = &smem.full[at.stage];
        int head = KEYS ? work.h + n / work.tiles : work.g;
        int row = work.from + n % work.tiles * BN;
        mbarrier_wait(&smem.empty[at.stage], at.parity ^ 1);
        load_tile<BN, D>(smem.a[at.stage], &maps.a, full, head, row, work.b);
        load_tile<BN, D>(smem.b[at.stage], &maps.b, full, head, row, work.b);
    }
}

/* All tiles, for one warpgroup's 64 rows: dP runs during the exponentials, P dO while dS
 * is computed. */
template <bool KEYS, bool PV, bool DS, int D, typename E>
static __device__ void add_gradients(
    float (&sum_p)[D / 2], float (&sum_ds)[D / 2], gradient_tiles<D, E> &smem,
    const gradient_work &work, const query_row *rows, int Tp, const sizes &z,
    int consumer)
{
    const int BN = gradient_tiles<D, E>::BN;
    int row = work.row + consumer * 64, at_row = consumer * 64 * PART;
    mbarrier_wait(&smem.own_full, 0);
    for (int n = 0; n < work.tiles * work.heads; n++) {
        place at = place_of(n);
        int h = work.h + n / work.tiles, first = work.from + n % work.tiles * BN;
        const query_row *queries = rows + ((size_t)work.b * z.H + h) * Tp;
        queries += KEYS ? first : row;
        float s[BN / 2], dp[BN / 2];
        unsigned p[BN / 16][4], ds[BN / 16][4];
        mbarrier_wait(&smem.full[at.stage], at.parity);
        start_qk<D, BN>(s, smem.own_a + at_row, smem.a[at.stage]);
        start_qk<D, BN>(dp, smem.own_b + at_row, smem.b[at.stage]);
        wgmma_wait<1>(s);
        probabilities<KEYS>(s, queries, KEYS ? row : first, z.scale * LOG2_E);
        if (PV) {
            pack_a<E>(p, s);
            start_pv<D, BN>(sum_p, p, smem.b[at.stage]);
        }
        wgmma_wait<PV>(dp);
        if (DS) {
            score_gradients<KEYS>(dp, s, queries);
            pack_a<E>(ds, dp);
            start_pv<D, BN>(sum_ds, ds, smem.a[at.stage]);
        }
        wgmma_wait<0>(sum_p, sum_ds);
        release(&smem.empty[at.stage]);
    }
}

template <int D, bool KEYS, bool PV, bool DS, typename E>
static __global__ void __launch_bounds__(THREADS, 1) gradient_kernel(
    backward_call<E> c, const query_row *rows, int Tp,
    const __grid_constant__ gradient_maps maps)
{
    extern __shared__ __align__(1024) uint4 memory[];
    gradient_tiles<D, E> &smem = *(gradient_tiles<D, E> *)memory;
    const sizes &z = c.z;
    gradient_work work =
        gradient_work_of<KEYS, BM, gradient_tiles<D, E>::BN>(c, rows, Tp);
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.own_full, 2);  // two tiles
        for (int i = 0; i < STAGES; i++)
            mbarrier_init(&smem.full[i], 2), mbarrier_init(&smem.empty[i], CONSUMERS * 4);
        mbarrier_fence_init();
    }
    __syncthreads();  // the barriers are visible to the block
    if (threadIdx.x < WARPGROUP) {
        setmaxnreg_dec<24>();
        if (threadIdx.x == 0) produce_pairs<KEYS>(smem, maps, work);
        return;
    }
    setmaxnreg_inc<240>();
    int consumer = __shfl_sync(~0u, threadIdx.x / WARPGROUP - 1, 0);
    int row = work.row + consumer * 64;
    float sum_p[D / 2] = {}, sum_ds[D / 2] = {};
    add_gradients<KEYS, PV, DS>(sum_p, sum_ds, smem, work, rows, Tp, z, consumer);
    store_gradients<D, KEYS, PV, DS>(c, work, row, sum_p, sum_ds);
}

template <int D, bool KEYS, bool PV, bool DS, typename E>
static wb_status launch_gradient(backward_call<E> c, cudaStream_t stream)
{
    const int BYTES = sizeof(gradient_tiles<D, E>), BN = gradient_tiles<D, E>::BN;
    const sizes &z = c.z;
    int n = KEYS ? BN : BM, m = KEYS ? BM : BN;  // rows of a tile of queries, of keys
    size_t blocks = ((size_t)(KEYS ? z.S : z.T) + BM - 1) / BM * z.B * (KEYS ? z.K : z.H);
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    tensor_map q, dout, k, v;
    if (!map_of(&q, c.q, z.B, z.T, z.H, z.D, z.ldq, n) ||
        !map_of(&dout, c.dout, z.B, z.T, z.H, z.D, z.H * z.D, n) ||
        !map_of(&k, c.k, z.B, z.S, z.K, z.D, z.ldkv, m) ||
        !map_of(&v, c.v, z.B, z.S, z.K, z.D, z.ldkv, m))
        return WB_UNSUPPORTED;
    gradient_maps maps = {q, dout, k, v};
    if (KEYS) maps = {k, v, q, dout};
    auto kernel = gradient_kernel<D, KEYS, PV, DS, E>;
    allow_smem(kernel, BYTES);
    kernel<<<(unsigned)blocks, THREADS, BYTES, stream>>>(
        c, (const query_row *)c.workspace, (int)padded_tokens(z), maps);
    return wb_launched();
}

template <typename E> static wb_status forward(forward_call<E> call, cudaStream_t stream)
{
    if (call.z.D <= 64) return launch<64>(call, stream);
    if (call.z.D <= 128) return launch<128>(call, stream);
    return launch<256>(call, stream);
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
DEFINE_BACKWARD(wb_f16, f16)
DEFINE_BACKWARD(wb_bf16, bf16)
