// BEGIN SOLUTION 05.6 (about 175 lines)
/* attention_hopper.cuh - lab 05, part 05.6: attention forward for Hopper.
 *
 * A warp of the block, the producer, only starts copies (TMA); one or two warpgroups,
 * the consumers, multiply (wgmma). Barriers in shared memory connect them:
 *
 *     producer     Q  K0 V0  K1 V1  K2 V2 ...      waits until a stage is empty, fills it
 *     consumer     S0 = Q K0 | S1, O += P0 V0 | S2, O += P1 V1 | ...
 *                  softmax     0                1                2
 *
 * The softmax of a tile runs at the same time as the P V of the tile before, and as the
 * GEMMs of other consumers: the second one of the block, or those of other blocks. Taking
 * turns by named barriers, as in rung 06, gained nothing on top of that.
 */
#ifndef ATTENTION_HOPPER_CUH
#define ATTENTION_HOPPER_CUH
#include "attention_hopper_tiles.cuh"

/* A block's tiles of rows: one, or all of a sequence. With one, this loop is faster code
 * than none (446 and 412 TFLOP/s at D = 64). */
template <typename P> static __device__ __forceinline__ int first_tile(int tiles)
{
    return P::ALL_TILES ? (int)blockIdx.y : tiles - 1 - (int)blockIdx.y;
}
template <typename P> static __device__ __forceinline__ bool is_tile(int tile, int tiles)
{
    return P::ALL_TILES ? tile < tiles : tile >= 0;
}
template <typename P> static __device__ __forceinline__ void next_tile(int &tile)
{
    if (P::ALL_TILES)
        tile += gridDim.y;
    else
        tile -= gridDim.y;
}

template <typename P, typename E>
static __device__ __forceinline__ void produce(
    shared_tiles<P, E> &smem, const tensor_map *q, const tensor_map *k,
    const tensor_map *v, const sizes &z, const int *pos, int tiles, int rows, int heads)
{
    const int KV_BYTES = P::BN * P::D * sizeof(E);
    ring<P::Q_STAGES> q_at = {};
    ring<STAGES> at = {};
    for (int tile = first_tile<P>(tiles); is_tile<P>(tile, tiles); next_tile<P>(tile)) {
        hopper_work work = hopper_work_of<P>(z, rows, pos, tile);
        mbarrier_wait(&smem.q_empty[q_at.stage], q_at.parity ^ 1);
        uint64_t *q_full = &smem.q_full[q_at.stage];
        mbarrier_expect(q_full, rows * P::D * (int)sizeof(E));
        load_parts<P::D>(
            smem.q[q_at.stage], P::BM, q, q_full, work.g * heads, work.first_row / heads,
            work.b);
        advance(q_at);
        for (int i = 0; i < work.kv_tiles; i++) {
            int s = at.stage, key = work.last_key - i * P::BN;
            mbarrier_wait(&smem.k_empty[s], at.parity ^ 1);  // a new stage is empty
            mbarrier_expect(&smem.k_full[s], KV_BYTES);
            load_parts<P::D>(smem.k[s], P::BN, k, &smem.k_full[s], work.g, key, work.b);
            mbarrier_wait(&smem.v_empty[s], at.parity ^ 1);
            mbarrier_expect(&smem.v_full[s], KV_BYTES);
            load_parts<P::D>(smem.v[s], P::BN, v, &smem.v_full[s], work.g, key, work.b);
            advance(at);
        }
    }
}

/* One arrival per warp, after its wgmma has read the stage */
static __device__ __forceinline__ void release(uint64_t *empty)
{
    if (threadIdx.x % WARP == 0) mbarrier_arrive(empty);
}

/* A lane's two rows, and the keys that all rows of its warp see */
struct consumer_rows {
    row_info own[2];
    int all_from, all_to;
};

/* The scores of a tile become probabilities. O is not touched: the last GEMM may still be
 * adding to it. Returns whether it is to be multiplied by `shrink`. */
template <typename P>
static __device__ __forceinline__ bool softmax_tile(
    accumulator<P> &acc, float (&shrink)[1][2], float (&s)[1][P::BN / 8][4],
    const consumer_rows &rows, int key, float scale)
{
    if (scale <= 0.0f) {
        // the largest s gives the largest scale * s only if scale > 0
        float sign = scale < 0.0f ? -1.0f : 0.0f;
        for (float &x : flat(s))
            x *= sign;
    }
    if (key < rows.all_from || key + P::BN - 1 > rows.all_to)
        for (int half = 0; half < 2; half++)
            mask_row(
                s[0], half, rows.own[half].first, rows.own[half].last,
                key + threadIdx.x % 4 * 2);
    float c = scale == 0.0f ? 1.0f : fabsf(scale) * LOG2_E;
    bool grows = raise_max(acc, shrink, s, c);
    probabilities(acc, s, c);
    return grows;
}

/* All tiles of keys, for one warpgroup's 64 rows */
template <typename P, typename E>
static __device__ __forceinline__ void attend(
    accumulator<P> &acc, shared_tiles<P, E> &smem, ring<P::Q_STAGES> &q_at,
    ring<STAGES> &at, const hopper_work &work, const consumer_rows &rows, int consumer,
    float scale)
{
    const E *q = smem.q[q_at.stage] + consumer * 64 * PART;
    float s[1][P::BN / 8][4], shrink[1][2];
    unsigned p[P::BN / MMA_K][4];
    int key = work.last_key;
    mbarrier_wait(&smem.q_full[q_at.stage], q_at.parity);
    mbarrier_wait(&smem.k_full[at.stage], at.parity);
    start_qk<P>(s, q, smem.k[at.stage]);
    wgmma_wait<0>(flat(s));
    release(&smem.k_empty[at.stage]);
    softmax_tile(acc, shrink, s, rows, key, scale);  // O is still 0
    pack_operand<E>(p, flat(s));
    for (int i = 1; i < work.kv_tiles; i++) {
        ring<STAGES> before = at;  // of the tile whose P is in p
        advance(at);
        key -= P::BN;
        mbarrier_wait(&smem.k_full[at.stage], at.parity);
        start_qk<P>(s, q, smem.k[at.stage]);
        mbarrier_wait(&smem.v_full[before.stage], before.parity);
        start_pv<P>(acc.o, p, smem.v[before.stage]);
        wgmma_wait<1>(flat(s));
        release(&smem.k_empty[at.stage]);
        bool grows = softmax_tile(acc, shrink, s, rows, key, scale);
        compute_now(acc.sum[0][0] + acc.sum[0][1]);  // not after the wait
        wgmma_wait<0>(flat(acc.o));
        release(&smem.v_empty[before.stage]);
        pack_operand<E>(p, flat(s));
        if (grows) shrink_o(acc, shrink);
    }
    release(&smem.q_empty[q_at.stage]);
    advance(q_at);
    mbarrier_wait(&smem.v_full[at.stage], at.parity);
    start_pv<P>(acc.o, p, smem.v[at.stage]);
    wgmma_wait<0>(flat(acc.o));
    release(&smem.v_empty[at.stage]);
    advance(at);
}

/* 64 rows of a tile */
template <typename P, typename E>
static __device__ __forceinline__ void consume_tile(
    E *out, float *lse, shared_tiles<P, E> &smem, ring<P::Q_STAGES> &q_at,
    ring<STAGES> &at, const int *pos, const sizes &z, const hopper_work &work,
    int consumer, int rows_of_tile)
{
    int warp_row = threadIdx.x / WARP * 16, lane = threadIdx.x % WARP;
    int row = work.first_row + warp_row;
    consumer_rows rows;
    for (int half = 0; half < 2; half++)
        rows.own[half] = row_info_of(pos, z, work.b, work.g, row + half * 8 + lane / 4);
    rows.all_from = row_info_of(pos, z, work.b, work.g, row + 15).first;
    rows.all_to = row_info_of(pos, z, work.b, work.g, row).last;

    accumulator<P> acc;
    clear(acc);
    attend(acc, smem, q_at, at, work, rows, consumer, z.scale);
    for (int half = 0; half < 2; half++) {
        int r = warp_row + half * 8 + lane / 4, head = rows.own[half].head;
        int t = rows.own[half].t;
        bool valid = r < rows_of_tile && work.first_row + r < z.T * (z.H / z.K);
        float log_sum = normalize(acc, 0, half);
        if (lse && valid && lane % 4 == 0)
            lse[((size_t)work.b * z.H + head) * z.T + t] = log_sum * LN_2;
        E *to = out + (((size_t)work.b * z.T + t) * z.H + head) * z.D;
        store_row<P>(to, acc.o[0], half, valid, z.D);
    }
}

template <typename P, typename E>
static __device__ __forceinline__ void consume(
    E *out, float *lse, shared_tiles<P, E> &smem, const int *pos, const sizes &z,
    int tiles, int rows)
{
    // the shuffle tells the compiler that a warp has only one consumer
    int consumer = __shfl_sync(~0u, threadIdx.x / WARPGROUP, 0);
    ring<P::Q_STAGES> q_at = {};
    ring<STAGES> at = {};
    for (int tile = first_tile<P>(tiles); is_tile<P>(tile, tiles); next_tile<P>(tile)) {
        hopper_work work = hopper_work_of<P>(z, rows, pos, tile);
        consume_tile(out, lse, smem, q_at, at, pos, z, work, consumer, rows);
    }
}

template <typename P, typename E>
static __device__ __forceinline__ void init_barriers(shared_tiles<P, E> &smem)
{
    const int WARPS = P::CONSUMERS * 4;
    for (int i = 0; i < P::Q_STAGES; i++)
        mbarrier_init(&smem.q_full[i], 1), mbarrier_init(&smem.q_empty[i], WARPS);
    for (int i = 0; i < STAGES; i++) {
        mbarrier_init(&smem.k_full[i], 1), mbarrier_init(&smem.k_empty[i], WARPS);
        mbarrier_init(&smem.v_full[i], 1), mbarrier_init(&smem.v_empty[i], WARPS);
    }
    mbarrier_fence_init();
}

/* `rows`, `heads`: see hopper_grid. The thread that initializes the barriers is the
 * producer, so its first copies need not wait for the others. */
template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS, P::BLOCKS) hopper_kernel(
    E *out, float *lse, const int *pos, sizes z, int tiles, int rows, int heads,
    const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
    const __grid_constant__ tensor_map v)
{
    extern __shared__ __align__(1024) uint4 memory[];
    const int READY = 1, READERS = P::CONSUMER_THREADS + WARP;
    shared_tiles<P, E> &smem = *(shared_tiles<P, E> *)memory;
    if (threadIdx.x == 0) tma_prefetch(&q), tma_prefetch(&k), tma_prefetch(&v);
    int sequence = blockIdx.z * gridDim.x + blockIdx.x;
    if (sequence >= z.B * z.K) return;  // the last z may have fewer
    if (threadIdx.x < P::CONSUMER_THREADS) {
        if (P::BLOCKS == 1) setmaxnreg_inc<240>();
        for (int i = 0; i < P::Q_STAGES; i++)
            clear_rows<P>(smem.q[i], rows);
        named_barrier_sync(READY, READERS);  // the barriers and these rows are visible
        consume(out, lse, smem, pos, z, tiles, rows);
    } else {
        if (P::BLOCKS == 1) setmaxnreg_dec<24>();
        if (threadIdx.x >= P::CONSUMER_THREADS + WARP) return;
        if (threadIdx.x == P::CONSUMER_THREADS) init_barriers(smem);
        __syncwarp();
        named_barrier_arrive(READY, READERS);
        if (threadIdx.x == P::CONSUMER_THREADS)
            produce(smem, &q, &k, &v, z, pos, tiles, rows, heads);
    }
}

/* --- launchers ---------------------------------------------------------------------- */

/* Q: tiles of all rows of a block, heads inside tokens. */
template <typename E>
static bool map_queries(tensor_map *map, const E *x, const sizes &z, const hopper_grid &g)
{
    size_t D = z.D, H = z.H, T = z.T, B = z.B, ld = z.ldq;
    if (g.heads == 1 && z.K != z.H) T *= H, H = 1, ld = D;  // one row per head
    unsigned heads = (unsigned)g.heads, tokens = (unsigned)(g.rows / g.heads);
    return make_tensor_map(
        map, x,
        {4,
         {D, H, T, B},
         {1, D, ld, (size_t)z.T * z.ldq},
         {PART, heads, tokens, 1},
         ROW_BYTES});
}

/* false: the kernel with mma suits these sizes better */
template <typename P> static bool hopper_grid_of(hopper_grid *grid, const sizes &z)
{
    const size_t L2_BYTES = 16 << 20;  // leaves room for Q and out
    const size_t MAX_YZ = 65535;
    size_t group = z.H / z.K, rows = z.T * group, sequences = (size_t)z.B * z.K;
    if (rows > INT_MAX / 2 || sequences > INT_MAX / 2)
        return false;  // ints in the kernel
    // where the rows of all heads lie at equal distances, a block may begin within a token
    grid->heads = z.K == 1 && z.ldq == z.H * z.D ? 1 : (int)group;
    grid->rows = P::BM / grid->heads * grid->heads;
    if (grid->rows < P::BM * 3 / 4) return false;
    size_t tiles = (rows + grid->rows - 1) / grid->rows;
    size_t fit = L2_BYTES / ((size_t)z.S * z.D * 4);  // sequences
    size_t sets = sequences / (fit > 1 ? fit : 1) + 1;
    size_t near = (sequences + sets - 1) / sets;
    sets = (sequences + near - 1) / near;
    grid->tiles = (int)tiles;
    if (P::ALL_TILES) near = sequences, sets = 1, tiles = 1;
    grid->blocks = dim3((unsigned)near, (unsigned)tiles, (unsigned)sets);
    return tiles <= MAX_YZ && sets <= MAX_YZ;
}

template <typename P, typename E>
static wb_status launch_hopper(const forward_call<E> &c, cudaStream_t stream)
{
    const int BYTES = (int)sizeof(shared_tiles<P, E>);
    static_assert(BYTES * P::BLOCKS <= 227 << 10, "the tiles fit into shared memory");
    hopper_grid grid;
    if (!hopper_grid_of<P>(&grid, c.z)) return WB_UNSUPPORTED;
    tensor_map q, k, v;
    const sizes &z = c.z;
    if (!map_queries(&q, c.q, z, grid) ||
        !parts_map(&k, c.k, z.B, z.S, z.K, z.D, z.ldkv, P::BN) ||
        !parts_map(&v, c.v, z.B, z.S, z.K, z.D, z.ldkv, P::BN))
        return WB_UNSUPPORTED;
    auto kernel = hopper_kernel<P, E>;
    allow_smem(kernel, BYTES);
    kernel<<<grid.blocks, P::THREADS, BYTES, stream>>>(
        c.out, c.lse, c.pos, c.z, grid.tiles, grid.rows, grid.heads, q, k, v);
    return wb_launched();
}

/* Few tiles of rows each, and a block per sequence fills the GPU once */
template <typename P> static bool fills_once(const sizes &z)
{
    size_t blocks = (size_t)z.B * z.K, slots = (size_t)sm_count() * P::BLOCKS;
    return blocks <= slots && blocks * 10 > slots * 9 &&
           (size_t)z.T * (z.H / z.K) <= 8 * P::BM;
}

/* WB_UNSUPPORTED: take another kernel */
template <typename E>
static wb_status hopper_forward(const forward_call<E> &c, cudaStream_t stream)
{
    typedef hopper_plan<64, 1, 64, 3> hopper_64;              // 49 KB
    typedef hopper_plan<64, 1, 64, 3, true> hopper_64_short;  // 49 KB
    typedef hopper_plan<128, 2, 128, 1> hopper_128;           // 192 KB
    typedef hopper_plan<256, 2, 80, 1> hopper_256;            // 224 KB
    if (c.z.D > 128) return launch_hopper<hopper_256>(c, stream);
    if (c.z.D > 64) return launch_hopper<hopper_128>(c, stream);
    if (fills_once<hopper_64_short>(c.z))
        return launch_hopper<hopper_64_short>(c, stream);
    return launch_hopper<hopper_64>(c, stream);
}
#endif
// END SOLUTION
