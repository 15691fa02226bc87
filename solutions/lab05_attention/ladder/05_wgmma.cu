/* 05_wgmma.cu - Hopper: four warps multiply together, straight from shared memory.
 *
 * wgmma (cuda/wgmma.cuh) reads K, V and Q through descriptors, so no warp loads fragments
 * any more, and it runs at the full rate of the tensor cores, which mma.sync does not
 * reach. A warpgroup has 64 rows of the scores. Its accumulators have the layout of rung
 * 04, so the softmax is the same, and so is P: the A of the second GEMM, in registers.
 *
 * New are the tiles: rows of 128 bytes (64 channels; wider heads have several parts) in
 * the swizzle that the descriptors name. And what cp_async wrote is visible to wgmma only
 * after fence_async; registers that wgmma reads and writes belong to it from wgmma_fence
 * to wgmma_wait.
 *
 * The backward pass needs no other instruction. A tile is read by rows as an operand of S,
 * and by columns, through another descriptor, in the sum that follows.
 *
 * What remains: copies, GEMMs and exponentials still wait for each other.
 */
// fails: tensor_heads,back_tensor
#include "hopper_rows.cuh"

constexpr int WARPGROUPS = 2;
constexpr int THREADS = WARPGROUPS * WARPGROUP;
constexpr int BM = WARPGROUPS * 64;  // rows of a block
constexpr int BN = 64;               // of a tile that it loops over

/* Copies rows [first, first + ROWS) of n into a tile; zeros outside and past `width`. */
template <int ROWS, int D, typename E>
static __device__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    const int CHUNKS = D / 8;
#pragma unroll
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
        int row = i / CHUNKS, d = i % CHUNKS * 8;
        E *to = tile + d / PART * ROWS * PART + swizzle<PART>(row, d % PART / 8);
        const E *at = from + (size_t)(first + row) * ld + d;
        cp_async(to, at, first + row < n && d < width);
    }
}

/* S (64,BN) = Q K^T, for the 64 rows of Q that begin at q */
template <int D, typename E>
static __device__ void compute_scores(float (&s)[BN / 2], const E *q, const E *k)
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
    wgmma_wait<0>(s);
}

/* O (64,D) += P V. V is [key][channel]: k runs over its rows. */
template <int D, typename E>
static __device__ void add_pv(float (&o)[D / 2], const float (&p)[BN / 2], const E *v)
{
    unsigned a[BN / 16][4];
    pack_a<E>(a, p);
    wgmma_fence(o);
    uint64_t b = wgmma_tile<128>(v, BN * 128);
#pragma unroll
    for (int n = 0; n < BN / 16; n++)
        wgmma<E, MN_MAJOR>(o, a[n], wgmma_step(b, n * 16 * 128), true);
    wgmma_commit();
    wgmma_wait<0>(o);
}

template <int D, typename E>
static __global__ void __launch_bounds__(THREADS) attention_kernel(forward_call<E> call)
{
    extern __shared__ __align__(1024) uint4 smem[];
    const sizes &z = call.z;
    E *q = (E *)smem;   // (BM, D)
    E *k = q + BM * D;  // (BN, D)
    E *v = k + BN * D;  // (BN, D)

    // the last rows see the most keys: they run first
    int heads = z.B * z.H, tile = gridDim.x / heads - 1 - blockIdx.x / heads;
    int h = blockIdx.x % z.H, b = blockIdx.x % heads / z.H, g = h / (z.H / z.K);
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int block_row = tile * BM, first_row = block_row + warp * 16 + lane / 4;
    const E *from_q = call.q + (size_t)b * z.T * z.ldq + (size_t)h * z.D;
    const E *from_k = call.k + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    const E *from_v = call.v + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    row_info rows[2];
    for (int half = 0; half < 2; half++)
        rows[half] = row_info_of(call, b, first_row + 8 * half);
    int first = row_info_of(call, b, block_row).first;  // never falls from row to row
    int last = row_info_of(call, b, block_row + BM - 1).last;

    load_tile<BM, D>(q, from_q, z.ldq, block_row, z.T, z.D);
    const E *own_q = q + threadIdx.x / 128 * 64 * PART;
    float o[D / 2] = {};
    const float c = z.scale * LOG2_E;
    for (int key = first / BN * BN; key <= last; key += BN) {
        __syncthreads();  // every warp has read the previous tile
        load_tile<BN, D>(k, from_k, z.ldkv, key, z.S, z.D);
        load_tile<BN, D>(v, from_v, z.ldkv, key, z.S, z.D);
        cp_async_commit();
        cp_async_wait<0>();
        fence_async();
        __syncthreads();  // Q, K and V are visible to wgmma
        float s[BN / 2];
        compute_scores<D>(s, own_q, k);
        for (int half = 0; half < 2; half++) {
            float shrink = online_softmax(s, half, rows[half], key, c);
            for (int n = 0; n < D / 8; n++)
                o[4 * n + 2 * half] *= shrink, o[4 * n + 2 * half + 1] *= shrink;
        }
        add_pv<D>(o, s, v);
    }
    for (int half = 0; half < 2; half++)
        store_out<D>(call, o, rows[half], half, b, first_row + 8 * half, h);
}

/* WB_UNSUPPORTED: not on Hopper */
template <int D, typename E>
static wb_status launch(forward_call<E> call, cudaStream_t stream)
{
    const int BYTES = (BM + 2 * BN) * D * (int)sizeof(E);
    if (!runs_wgmma<E>()) return WB_UNSUPPORTED;
    size_t blocks = ((size_t)call.z.T + BM - 1) / BM * call.z.B * call.z.H;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    auto kernel = attention_kernel<D, E>;
    allow_smem(kernel, BYTES);
    kernel<<<(unsigned)blocks, THREADS, BYTES, stream>>>(call);
    return wb_launched();
}

/* --- backward ----------------------------------------------------------------------- */

/* KEYS, PV, DS: see launch_gradient in hopper_rows.cuh */
template <int D, bool KEYS, bool PV, bool DS, typename E>
static __global__ void __launch_bounds__(THREADS)
    gradient_kernel(backward_call<E> c, const query_row *rows, int Tp)
{
    extern __shared__ __align__(1024) uint4 smem[];
    const sizes &z = c.z;
    E *own_a = (E *)smem, *own_b = own_a + BM * D;          // Q and dO, or K and V
    E *tile_a = own_b + BM * D, *tile_b = tile_a + BN * D;  // K and V, or Q and dO
    gradient_work work = gradient_work_of<KEYS, BM, BN>(c, rows, Tp);
    tensor_pair<E> own =
        KEYS ? keys_of(c, work.b, work.g) : queries_of(c, work.b, work.h);
    if (work.tiles > 0) {  // the first one waits for these copies, too
        load_tile<BM, D>(own_a, own.a, own.lda, work.row, own.n, z.D);
        load_tile<BM, D>(own_b, own.b, own.ldb, work.row, own.n, z.D);
    }

    int first_row = threadIdx.x / WARPGROUP * 64, at = first_row * PART;
    float sum_p[D / 2] = {}, sum_ds[D / 2] = {};
    for (int n = 0; n < work.tiles * work.heads; n++) {
        int h = work.h + n / work.tiles, first = work.from + n % work.tiles * BN;
        tensor_pair<E> y = KEYS ? queries_of(c, work.b, h) : keys_of(c, work.b, work.g);
        const query_row *queries = rows + ((size_t)work.b * z.H + h) * Tp;
        queries += KEYS ? first : work.row + first_row;
        __syncthreads();  // every warp has read the previous tiles
        load_tile<BN, D>(tile_a, y.a, y.lda, first, y.n, z.D);
        load_tile<BN, D>(tile_b, y.b, y.ldb, first, y.n, z.D);
        cp_async_commit();
        cp_async_wait<0>();
        fence_async();
        __syncthreads();  // all tiles are visible to wgmma
        float s[BN / 2], dp[BN / 2];
        compute_scores<D>(s, own_a + at, tile_a);
        if (DS) compute_scores<D>(dp, own_b + at, tile_b);
        int key = KEYS ? work.row + first_row : first;
        probabilities<KEYS>(s, queries, key, z.scale * LOG2_E);
        if (PV) add_pv<D>(sum_p, s, tile_b);
        if (!DS) continue;
        score_gradients<KEYS>(dp, s, queries);
        add_pv<D>(sum_ds, dp, tile_a);
    }
    int row = work.row + first_row;
    store_gradients<D, KEYS, PV, DS>(c, work, row, sum_p, sum_ds);
}

template <int D, bool KEYS, bool PV, bool DS, typename E>
static wb_status launch_gradient(backward_call<E> c, cudaStream_t stream)
{
    const int BYTES = (2 * BM + 2 * BN) * D * (int)sizeof(E);
    size_t rows = KEYS ? c.z.S : c.z.T, heads = (size_t)c.z.B * (KEYS ? c.z.K : c.z.H);
    size_t blocks = (rows + BM - 1) / BM * heads;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    auto kernel = gradient_kernel<D, KEYS, PV, DS, E>;
    allow_smem(kernel, BYTES);
    kernel<<<(unsigned)blocks, THREADS, BYTES, stream>>>(
        c, (const query_row *)c.workspace, (int)padded_tokens(c.z));
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
