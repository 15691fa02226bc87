/* attention_tensor.cu - lab 05, parts 05.6 and 05.8: attention forward, f16 and bf16.
 * attention.h is the specification; contract.cuh has the launchers that call `forward`.
 */
#include "contract.cuh"
#include "tiles.cuh"

// BEGIN SOLUTION 05.6 (about 180 lines)
//> #include "cuda/device.cuh"
//>
//> #include <float.h>
//> #include <mma.h>
//>
//> using namespace nvcuda;
//>
//> /* 05.6 in five steps: the kernel of part 05.2, whose two GEMMs move to tensor cores, one
//>  * in step 3 and one in step 5. The guide, "On tensor cores", shows the calls. All values
//>  * must be right after each step: grade it with `-k f16`, then with `-k 05.6`. The cases
//>  * `tensor_scores` and `tensor_values` tell whether steps 3 and 5 use tensor cores. */
//> constexpr int BM = 64;  // queries of a block, a thread each; a warp has 32
//> constexpr int BN = 16;  // keys of a tile
//> constexpr int MAX_D = 256;
//> constexpr int PAD = 8;  // after each row, 16 bytes: the next row starts in other banks
//>
//> /* From step 2 on, in dynamic shared memory */
//> template <typename E> struct block_tiles {
//>     E q[BM][MAX_D + PAD], k[BN][MAX_D + PAD], v[BN][MAX_D + PAD];
//>     E p[BM][BN + PAD];
//>     float s[BM][BN + PAD / 2];
//> };
//>
//> template <typename E> static __global__ void online_kernel(forward_call<E> c)
//> {
//>     (void)c;
//>     // TODO(05.6, step 1): copy the body of online_kernel from attention.cu, with groups,
//>     // window and documents. Put (float) before each E that it reads, and E(...) around
//>     // each value that it writes to out. Delete the marked line in `forward`. No new
//>     // lines.
//>
//>     // TODO(05.6, step 2): tiles of E instead of floats. Declare before the loop
//>     //     extern __shared__ uint4 smem[];
//>     //     block_tiles<E> &tile = *(block_tiles<E> *)smem;
//>     // and copy the block's queries to tile.q. In the loop, copy keys and values to tile.k
//>     // and tile.v. Write zeros to the rows from T or S on, and to the channels from D to
//>     // the next multiple of 16. About 12 lines, and `smem_bytes` in `forward`.
//>
//>     // TODO(05.6, step 3): after the copy, each warp computes Q K^T of its 32 queries, 16 at
//>     // a time, and stores it to tile.s. The scores of a thread are now scale times row
//>     // threadIdx.x of tile.s. About 14 lines.
//>
//>     // TODO(05.6, step 4): each thread stores its row of p, as E, to tile.p, with zeros for
//>     // the keys that its query does not see. p V reads p there. About 4 lines.
//>
//>     // TODO(05.6, step 5): for 16 channels at a time, each warp computes P V of its 32
//>     // queries and stores it to tile.s; o[d] of each thread becomes r o[d] plus its element
//>     // of tile.s. About 13 lines.
//> }
//>
//> template <typename E> static size_t forward_workspace(sizes z)
//> {
//>     (void)z;
//>     return 0;
//> }
//>
//> template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
//> {
//>     sizes z = c.z;
//>     size_t smem_bytes = 0;  // TODO(05.6, step 2): sizeof(block_tiles<E>)
//>     unsigned blocks = (z.T + BM - 1) / BM * z.H * z.B;
//>     return WB_TODO;  // TODO(05.6, step 1): delete this line
//>     allow_smem(online_kernel<E>, smem_bytes);
//>     online_kernel<<<blocks, BM, smem_bytes, s>>>(c);
//>     return wb_launched();
//> }
/* On tensor cores; cuda/mma.cuh has the instructions and the layouts.
 *
 * A block has BM query rows of one sequence and one key head, and loops over their keys
 * in tiles of BN. Rows are (t, head of the group): heads that share a K and V share its
 * tiles too, and a few queries of ten heads still fill a block. A warp owns 16 or 32 of
 * the rows, so the softmax never leaves the warp:
 *
 *    shared memory        registers of a warp
 *    Q (BM,D) -------->  A \
 *    K (BN,D) -------->  B -- S (16,BN) float -- softmax -- P, rounded, packed: A \
 *    V (BN,D) ------------------------------------------------------------------> B -- O
 *
 * While one stage is in use, the next K and V are copied into the other.
 * On a Hopper GPU another kernel takes over (attention_hopper.cuh).
 * Where there are too few rows to fill a GPU, several blocks share the keys of the same
 * rows. Their outputs go to the workspace, and a second kernel adds them.
 */
#include "attention_hopper.cuh"
#include "attention_tensor_rows.cuh"
#include "attention_tensor_softmax.cuh"
#include "attention_tiled.cuh"

constexpr int FILL_BLOCKS = 128;    // enough to fill a GPU
constexpr int MIN_PART_KEYS = 256;  // fewer are not worth a block

/* Head dims up to D are padded to D, with zeros in shared memory. */
template <int D_, int WARPS_, int M_, int BN_> struct plan {
    static const int D = D_, WARPS = WARPS_, BN = BN_;
    static const int M = M_;  // 16 M rows a warp: each load of K and V is used M times
    static const int BM = WARPS * M * 16, THREADS = WARPS * WARP;
    static const int STAGE = 2 * BN * D;  // elements: K and V
    static const int BYTES = (BM * D + STAGES * STAGE) * 2 + BM * (int)sizeof(row_info);
};

/* What a block works on: BM rows of sequence b and key head g, one part of their keys. */
struct block_work {
    int b, g, part, first_row, valid_rows;
};

template <typename P>
static __device__ __forceinline__ block_work block_work_of(const sizes &z, int parts)
{
    // the last rows see the most keys: they run first, so that no long block runs alone
    int part = blockIdx.x % parts, n = blockIdx.x / parts;
    int sequences = z.B * z.K, tiles = gridDim.x / parts / sequences;
    int b = n % sequences / z.K, g = n % z.K;
    int first_row = (tiles - 1 - n / sequences) * P::BM;
    return {b, g, part, first_row, z.T * (z.H / z.K) - first_row};
}

/* One stage for one warp, whose rows see `own`. */
template <typename P, typename E>
static __device__ __forceinline__ void attend_stage(
    accumulator<P> &acc, const E *q, const E *stage, lane_offset at, const row_info *rows,
    const row_range &own, int key, float c)
{
    float s[P::M][P::BN / 8][4];
    gemm_abt<P::M, P::BN, P::D>(s, q, stage, at);
    if (key < own.all_from || key + P::BN - 1 > own.all_to)
        apply_mask<P>(s, rows, key, threadIdx.x % WARP);
    online_softmax(acc, s, c);
    gemm_rs<P::M, P::BN, P::D>(acc.o, s, stage + P::BN * P::D, at);
}

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS, 1) attention_kernel(
    E *out, float *lse, const E *q, const E *k, const E *v, const int *pos, sizes z,
    kv_parts to)
{
    extern __shared__ uint4 smem[];
    row_info *rows = (row_info *)smem;  // (BM)
    E *q_tile = (E *)(rows + P::BM);    // (BM, D)
    E *stages = q_tile + P::BM * P::D;  // (STAGES): K (BN, D) and V (BN, D)

    block_work work = block_work_of<P>(z, to.number);
    int b = work.b, g = work.g;
    for (int r = threadIdx.x; r < P::BM; r += P::THREADS)
        rows[r] = row_info_of(pos, z, b, g, work.first_row + r);
    __syncthreads();  // rows are visible to the block
    q += (size_t)b * z.T * z.ldq;
    k += (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    v += (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    row_range block = row_range_of(rows, P::BM);
    const row_info *own_rows = rows + warp * P::M * 16;
    row_range own = row_range_of(own_rows, P::M * 16);
    int own_valid = work.valid_rows - warp * P::M * 16;
    int first = block.first / P::BN, tiles = block.last / P::BN + 1 - first;
    int part_tiles = (tiles + to.number - 1) / to.number;
    int key = (first + work.part * part_tiles) * P::BN;
    int last = min(block.last, key + part_tiles * P::BN - 1);  // may be < key: no tile

    load_queries<P>(q_tile, q, rows, work.valid_rows, z);
    load_kv<P>(stages, k, v, key, z);
    if (z.scale <= 0.0f) fold_sign<P>(q_tile, z.scale);
    float c = z.scale == 0.0f ? 1.0f : fabsf(z.scale) * LOG2_E;
    E *own_q = q_tile + warp * P::M * 16 * P::D;
    lane_offset at = lane_offset_of<P::D>(lane);

    accumulator<P> acc;
    clear(acc);
    for (int stage = 0; key <= last; key += P::BN, stage ^= 1) {
        cp_async_wait<0>();
        __syncthreads();  // this stage is visible to the block, the other has been read
        int next = key + P::BN;
        if (next <= last) load_kv<P>(stages + (stage ^ 1) * P::STAGE, k, v, next, z);
        if (next > own.first && key <= own.last && own_valid > 0) {
            const E *kv = stages + stage * P::STAGE;
            attend_stage<P>(acc, own_q, kv, at, own_rows, own, key, c);
        }
    }
    if (own_valid <= 0) return;
    if (to.number > 1)
        store_part<P>(to, work.part, acc, own_rows, own_valid, b, z);
    else
        store_out<P>(out, lse, own_q, acc, own_rows, own_valid, b, z);
}

/* Adds the parts, always in the same order. A block per (b,t,h), a thread per channel. */
template <typename E>
static __global__ void add_parts_kernel(E *out, float *lse, kv_parts from, sizes z)
{
    size_t row = blockIdx.x, rows = gridDim.x;
    float max = -INFINITY, sum = 0.0f, o = 0.0f;
    for (int i = 0; i < from.number; i++)
        max = fmaxf(max, from.log_sum[i * rows + row]);
    for (int i = 0; i < from.number; i++) {
        float weight = fast_exp2(from.log_sum[i * rows + row] - max);
        sum += weight, o += weight * from.o[(i * rows + row) * z.D + threadIdx.x];
    }
    out[row * z.D + threadIdx.x] = E(o / sum);
    size_t b = row / z.H / z.T, t = row / z.H % z.T, h = row % z.H;
    if (lse && threadIdx.x == 0) lse[(b * z.H + h) * z.T + t] = (max + log2f(sum)) * LN_2;
}

/* --- launchers ---------------------------------------------------------------------- */

/* Shared memory limits per block: 64 KB (sm_75), 99 KB (sm_86, 89, 120), 163 KB (sm_80),
 * 227 KB (sm_90, 100). */
typedef plan<32, 4, 2, 64> plan_32;          // 26 KB
typedef plan<64, 4, 2, 128> plan_64;         // 82 KB
typedef plan<64, 4, 2, 64> plan_64_small;    // 50 KB
typedef plan<128, 4, 2, 64> plan_128;        // 98 KB
typedef plan<128, 4, 1, 32> plan_128_small;  // 49 KB
typedef plan<256, 8, 1, 64> plan_256;        // 194 KB
typedef plan<256, 4, 1, 32> plan_256_small;  // 97 KB
typedef plan<256, 2, 1, 16> plan_256_tiny;   // 49 KB

/* Blocks without parts */
template <typename P> static size_t blocks_for(const sizes &z)
{
    size_t rows = (size_t)z.T * (z.H / z.K);
    return (rows + P::BM - 1) / P::BM * z.B * z.K;
}

/* The first plan whose tiles fit into the shared memory of a block; the last always
 * fits. */
template <typename P, typename... Smaller, typename E>
static wb_status launch(const forward_call<E> &c, kv_parts to, cudaStream_t stream)
{
    if constexpr (sizeof...(Smaller) > 0)
        if (P::BYTES > max_smem_per_block()) return launch<Smaller...>(c, to, stream);
    size_t blocks = blocks_for<P>(c.z) * to.number;
    size_t rows = (size_t)c.z.T * (c.z.H / c.z.K);  // an int in the kernel
    if (blocks > INT_MAX || rows > INT_MAX / 2) return WB_BAD_SHAPE;
    auto kernel = attention_kernel<P, E>;
    allow_smem(kernel, P::BYTES);
    kernel<<<(unsigned)blocks, P::THREADS, P::BYTES, stream>>>(
        c.out, c.lse, c.q, c.k, c.v, c.pos, c.z, to);
    return wb_launched();
}

static int parts_for(const sizes &z)
{
    if (is_nothing(z) || z.K < 1 || z.H % z.K != 0 || z.S < 2 * MIN_PART_KEYS) return 1;
    size_t wanted = FILL_BLOCKS / blocks_for<plan_64>(z), limit = z.S / MIN_PART_KEYS;
    return (int)(wanted < 1 ? 1 : wanted < limit ? wanted : limit);
}

/* At least parts_for(z) * B * T * H records of D + 1 floats, where there are parts. The
 * parts times the blocks are at most FILL_BLOCKS, and a block has BM rows. This upper bound
 * never falls; the product itself does, as rows grow and parts become fewer. */
template <typename E> static size_t forward_workspace(sizes z)
{
    if (is_nothing(z) || z.S < 2 * MIN_PART_KEYS) return 0;
    size_t most = (size_t)FILL_BLOCKS * plan_64::BM;
    size_t records = (size_t)z.B * z.T * z.H * (z.S / MIN_PART_KEYS);
    return (records < most ? records : most) * (z.D + 1) * sizeof(float);
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t stream)
{
    if (!has_mma<E>()) return tiled_forward(c, stream);
    const sizes &z = c.z;
    int number = parts_for(z);
    if (number == 1 && has_wgmma<E>()) {
        wb_status status = hopper_forward(c, stream);
        if (status != WB_UNSUPPORTED) return status;
    }
    size_t rows = (size_t)z.B * z.T * z.H;
    float *o = (float *)c.workspace;
    kv_parts to = {o, number > 1 ? o + number * rows * z.D : NULL, number};
    wb_status status =
        z.D <= 32    ? launch<plan_32>(c, to, stream)
        : z.D <= 64  ? launch<plan_64, plan_64_small>(c, to, stream)
        : z.D <= 128 ? launch<plan_128, plan_128_small>(c, to, stream)
                     : launch<plan_256, plan_256_small, plan_256_tiny>(c, to, stream);
    if (status != WB_OK || number == 1) return status;
    add_parts_kernel<<<(unsigned)rows, z.D, 0, stream>>>(c.out, c.lse, to, z);
    return wb_launched();
}
// END SOLUTION

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
