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
 * What remains: copies, GEMMs and exponentials still wait for each other.
 */
// fails: tensor_heads
#include "contract.cuh"
#include "cuda/hopper.cuh"
#include "cuda/math.cuh"

constexpr int WARP = 32;
constexpr int WARPGROUPS = 2;
constexpr int THREADS = WARPGROUPS * 128;
constexpr int BM = WARPGROUPS * 64;  // query rows of a block
constexpr int BN = 64;               // keys of a tile
constexpr int PART = 64;             // channels of a row of 128 bytes

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
#pragma unroll
    for (int i = 0; i < BN / 4; i++)
        a[i / 4][i % 4] = pack2<E>(p[2 * i], p[2 * i + 1]);
    wgmma_fence(o);
    uint64_t b = wgmma_tile<128>(v, BN * 128);
#pragma unroll
    for (int n = 0; n < BN / 16; n++)
        wgmma<E, MN_MAJOR>(o, a[n], wgmma_step(b, n * 16 * 128), true);
    wgmma_commit();
    wgmma_wait<0>(o);
}

/* A lane has elements of two rows of the warp: lane/4, and that plus 8. */
struct row_info {
    int first, last;  // keys that it sees
    float max, sum;   // of scale log2(e) s; of 2^(that - max), this lane's keys only
};

/* Scores of a row become p. Returns the factor by which older sums shrink. */
static __device__ float
online_softmax(float (&s)[BN / 2], int half, row_info &row, int key, float c)
{
    float max = row.max;
    key += threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < BN / 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int j = key + n * 8 + i;
            float *x = &s[4 * n + 2 * half + i];
            *x = j < row.first || j > row.last ? -INFINITY : *x * c;
            max = fmaxf(max, *x);
        }
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 1));  // four lanes share the row
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
    float shrink = fast_exp2(row.max - max), sum = 0.0f;
#pragma unroll
    for (int n = 0; n < BN / 8; n++)
#pragma unroll
        for (int i = 4 * n + 2 * half; i < 4 * n + 2 * half + 2; i++)
            sum += s[i] = fast_exp2(s[i] - max);
    row.max = max, row.sum = row.sum * shrink + sum;
    return shrink;
}

template <int D, typename E>
static __device__ void store_out(
    const forward_call<E> &call, float (&o)[D / 2], row_info row, int half, int b, int t,
    int h)
{
    const sizes &z = call.z;
    int lane = threadIdx.x % WARP;
    float sum = row.sum + __shfl_xor_sync(~0u, row.sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    float share = 1.0f / sum;
    if (t >= z.T) return;
    if (call.lse && lane % 4 == 0)
        call.lse[((size_t)b * z.H + h) * z.T + t] = (row.max + log2f(sum)) * LN_2;
    E *out = call.out + (((size_t)b * z.T + t) * z.H + h) * z.D + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < D / 8; n++) {
        const float *two = &o[4 * n + 2 * half];
        if (n * 8 < z.D)
            *(unsigned *)(out + n * 8) = pack2<E>(two[0] * share, two[1] * share);
    }
}

template <typename E>
static __device__ row_info row_info_of(const forward_call<E> &call, int b, int t)
{
    const sizes &z = call.z;
    t = min(t, z.T - 1);
    int i = z.S - z.T + t;
    int reach = min(call.pos ? call.pos[(size_t)b * z.T + t] : i, z.window);
    return {max(i - reach, 0), i, -1e30f, 0.0f};  // not -inf: (-inf) - (-inf) is NaN
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

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> call, cudaStream_t stream)
{
    if (call.z.D <= 64) return launch<64>(call, stream);
    if (call.z.D <= 128) return launch<128>(call, stream);
    return launch<256>(call, stream);
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
