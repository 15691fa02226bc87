/* block_linear_wgmma.cuh - part 06.7: the matrices of both gates on a Hopper GPU, which
 * block_linear_tensor.cu calls for blocks of 64, 128 or 256. You can pass without it.
 */
#ifndef BLOCK_LINEAR_WGMMA_CUH
#define BLOCK_LINEAR_WGMMA_CUH

// BEGIN SOLUTION 06.7 (nothing in a first version)
//> /* TODO(06.7): nothing, if the kernels of 06.1 as templates serve f16 and bf16. */

/* With M = 256 a result takes 2 M = 512 operations and the block moves 2 bytes for each
 * of c, px and pa, so the kernel is limited by memory as much as by tensor cores. A
 * thread block keeps the columns of both gates that it computes, up to 128 KB of weights,
 * in shared memory, and c streams past them, 64 rows at a time:
 *
 *     producer warp   TMA: c rows u, u + step, ... into a ring of STAGES tiles
 *     warpgroup 0     tiles 0, 2, 4, ...: wgmma, bias, rounding, TMA store
 *     warpgroup 1     tiles 1, 3, 5, ...: so one stores while the other multiplies
 *
 * Blocks with the same rows and other columns run side by side: the second one to read a
 * row of c finds it in the L2 cache. */
#include "cuda/hopper.cuh"
#include "rglru_contract.cuh"

constexpr int WG_ROWS = 64, WG_COLS = 64;  // of a tile: rows of 128 bytes
constexpr int WG_TILE = WG_ROWS * WG_COLS;
constexpr int WARPGROUP = 128, WARPGROUPS = 2;
constexpr int WG_THREADS = WARPGROUPS * WARPGROUP + WARP;

/* HALF: columns of one gate that a block computes. K_TILES: tiles of a row of c */
template <int M> struct wg_shape {
    static constexpr int HALF = M < 128 ? M : 128, PARTS = M / HALF;
    static constexpr int N_TILES = 2 * HALF / WG_COLS, K_TILES = M / WG_COLS;
    static constexpr int STAGES = M == 256 ? 2 : 4, BLOCKS_PER_SM = M == 64 ? 2 : 1;
};

template <typename E, int M> struct wg_smem {
    typedef wg_shape<M> shape;
    E w[shape::N_TILES][M * WG_COLS];  // (inputs, 64 outputs); first wx, then wa
    E c[shape::STAGES][shape::K_TILES][WG_TILE];
    E out[WARPGROUPS][2][WG_TILE];
    float bias[WARPGROUPS][shape::N_TILES * WG_COLS];
    uint64_t weights, full[shape::STAGES], empty[shape::STAGES];
};

/* What a block works on: rows 64 u to 64 u + 63 for u = first, first + step, ... */
struct wg_place {
    int column, first, step, units;  // column of px: [0, C)
};

struct wg_maps {
    tensor_map c, wx, wa, px, pa;
};

/* One thread fills the ring. */
template <typename E, int M>
static __device__ void load_units(wg_smem<E, M> &s, const wg_maps &maps, wg_place own)
{
    typedef wg_shape<M> shape;
    int row = own.column / M * M;  // of the weights; and the first column of c
    mbarrier_expect(&s.weights, sizeof s.w);
    for (int t = 0; t < shape::N_TILES; t++) {
        const tensor_map *w = t < shape::N_TILES / 2 ? &maps.wx : &maps.wa;
        int column = own.column % M + t % (shape::N_TILES / 2) * WG_COLS;
        tma_load(s.w[t], w, &s.weights, column, row);
    }
    int i = 0;
    for (int u = own.first; u < own.units; u += own.step, i++) {
        int stage = i % shape::STAGES, parity = i / shape::STAGES & 1;
        mbarrier_wait(&s.empty[stage], parity ^ 1);
        mbarrier_expect(&s.full[stage], sizeof s.c[0]);
        for (int k = 0; k < shape::K_TILES; k++)
            tma_load(
                s.c[stage][k], &maps.c, &s.full[stage], row + k * WG_COLS, u * WG_ROWS);
    }
}

/* Rounds a tile of results with its bias into `to`, swizzled. d: of this tile */
template <typename E>
static __device__ __forceinline__ void
round_tile(E *to, const float *d, const float *bias)
{
    int lane = threadIdx.x % WARP, row = threadIdx.x % WARPGROUP / WARP * 16 + lane / 4;
    int pair = lane % 4 * 2;  // columns pair and pair + 1 of each 8
#pragma unroll
    for (int j = 0; j < WG_COLS / 8; j++) {
        E *at = to + swizzle<WG_COLS>(row, j) + pair;
        float2 b = *(const float2 *)(bias + j * 8 + pair);
        *(unsigned *)at = pack2<E>(d[4 * j] + b.x, d[4 * j + 1] + b.y);
        *(unsigned *)(at + 8 * WG_COLS) =
            pack2<E>(d[4 * j + 2] + b.x, d[4 * j + 3] + b.y);
    }
}

template <typename E, int M>
static __device__ void multiply_units(
    wg_smem<E, M> &s, const wg_maps &maps, const E *bx, const E *ba, wg_place own)
{
    typedef wg_shape<M> shape;
    constexpr int HALF = shape::HALF, N = 2 * HALF;
    int group = threadIdx.x / WARPGROUP;
    for (int j = threadIdx.x % WARPGROUP; j < N; j += WARPGROUP)
        s.bias[group][j] = (float)(j < HALF ? bx : ba)[own.column + j % HALF];
    bool leads = threadIdx.x % WARPGROUP == 0;
    mbarrier_wait(&s.weights, 0);
    uint64_t b = wgmma_tile<128>(s.w, sizeof s.w[0]);
    float d[N / 2];
    int i = group;
    for (int u = own.first + group * own.step; u < own.units;
         u += WARPGROUPS * own.step) {
        int stage = i % shape::STAGES, parity = i / shape::STAGES & 1;
        mbarrier_wait(&s.full[stage], parity);
        wgmma_fence(d);
#pragma unroll
        for (int k = 0; k < M; k += 16) {  // 16 terms: 32 bytes of c, 16 rows of w
            uint64_t a = wgmma_tile<128>(s.c[stage][k / WG_COLS]);
            wgmma<E, K_MAJOR, MN_MAJOR>(
                d, wgmma_step(a, k % WG_COLS * 2), wgmma_step(b, k * 128), k > 0);
        }
        wgmma_commit();
        wgmma_wait<0>(d);
        if (threadIdx.x % WARP == 0) mbarrier_arrive(&s.empty[stage]);
#pragma unroll
        for (int t = 0; t < shape::N_TILES; t++) {
            E *tile = s.out[group][t % 2];
            if (leads) tma_wait_read<1>();
            named_barrier_sync(1 + group, WARPGROUP);  // the tile before last is stored
            round_tile(tile, d + t * WG_COLS / 2, s.bias[group] + t * WG_COLS);
            fence_async();
            named_barrier_sync(1 + group, WARPGROUP);  // all of this tile is written
            if (!leads) continue;
            const tensor_map *p = t < shape::N_TILES / 2 ? &maps.px : &maps.pa;
            int column = own.column + t % (shape::N_TILES / 2) * WG_COLS;
            tma_store(p, tile, column, u * WG_ROWS);
            tma_commit();
        }
        i += WARPGROUPS;
    }
    if (leads) tma_wait<0>();
}

template <typename E, int M>
static __global__ void __launch_bounds__(WG_THREADS, wg_shape<M>::BLOCKS_PER_SM)
    gates_wgmma(
        const __grid_constant__ wg_maps maps, const E *bx, const E *ba, int R, int G)
{
    typedef wg_shape<M> shape;
    extern __shared__ __align__(1024) unsigned char wg_memory[];
    wg_smem<E, M> &s = *(wg_smem<E, M> *)wg_memory;
    int sets = G * shape::PARTS, set = blockIdx.x % sets;  // which columns
    wg_place own = {
        set * shape::HALF, (int)blockIdx.x / sets, (int)gridDim.x / sets,
        (R + WG_ROWS - 1) / WG_ROWS};
    if (threadIdx.x == 0) {
        mbarrier_init(&s.weights, 1);
        for (int i = 0; i < shape::STAGES; i++) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], WARPGROUP / WARP);
        }
        mbarrier_fence_init();
    }
    __syncthreads();  // the barriers are visible
    if (threadIdx.x / WARP < WG_THREADS / WARP - 1)
        multiply_units<E, M>(s, maps, bx, ba, own);
    else if (elect_one())
        load_units<E, M>(s, maps, own);
}

/* A (rows, columns) matrix in boxes of 64 columns */
template <typename E>
static bool map_matrix(tensor_map *map, const E *x, size_t rows, size_t columns, int box)
{
    tma_tensor t = {
        2, {columns, rows}, {1, columns}, {WG_COLS, (unsigned)box}, WG_COLS * sizeof(E)};
    return make_tensor_map(map, x, t);
}

/* false: not possible; nothing has been launched */
template <typename E, int M>
static bool launch_gates_wgmma(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, cudaStream_t stream)
{
    typedef wg_shape<M> shape;
    size_t C = (size_t)G * M;
    wg_maps maps;
    if (!is_aligned(16, px, pa, c, wx, wa) || !map_matrix(&maps.c, c, R, C, WG_ROWS) ||
        !map_matrix(&maps.wx, wx, C, M, M) || !map_matrix(&maps.wa, wa, C, M, M) ||
        !map_matrix(&maps.px, px, R, C, WG_ROWS) ||
        !map_matrix(&maps.pa, pa, R, C, WG_ROWS))
        return false;
    size_t sets = (size_t)G * shape::PARTS, units = ((size_t)R + WG_ROWS - 1) / WG_ROWS;
    size_t each = sm_count() * (size_t)shape::BLOCKS_PER_SM / sets;
    each = each < 1 ? 1 : each < units ? each : units;
    int smem = sizeof(wg_smem<E, M>);
    allow_smem(gates_wgmma<E, M>, smem);
    gates_wgmma<E, M>
        <<<(unsigned)(sets * each), WG_THREADS, smem, stream>>>(maps, bx, ba, R, G);
    return true;
}
// END SOLUTION
#endif
