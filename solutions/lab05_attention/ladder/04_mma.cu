/* 04_mma.cu - the same GEMMs by mma.sync: scores never leave their registers.
 *
 * The layout of mma.sync's fragments is documented (cuda/mma.cuh). A row of the scores is
 * in four neighbouring lanes, so two shuffles give its maximum and sum. And the scores of
 * 16 keys, rounded and packed, are already the fragment that P V needs. Only Q, K and V
 * go through shared memory. Rows have 16 bytes of padding, so that the eight rows of an
 * 8x8 matrix lie in different banks.
 *
 * What remains: while a tile is loaded nothing is computed; each fragment of K and V from
 * shared memory is used for 16 rows only; O is rescaled at every tile. See the solution,
 * attention_tensor.cu.
 */
// fails: tensor_heads
#include "contract.cuh"
#include "cuda/math.cuh"
#include "cuda/mma.cuh"

constexpr int WARP = 32;
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * WARP;
constexpr int BM = WARPS * 16;  // query rows of a block, 16 a warp
constexpr int BN = 64;          // keys of a tile
constexpr int PAD = 8;          // elements, 16 bytes

/* Copies rows [first, first + BN) of n into a tile; zeros outside and past `width`. */
template <int D, typename E>
static __device__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    static_assert(BM == BN, "one loop for Q, K and V");
    const int CHUNKS = D / 8;
#pragma unroll
    for (int i = threadIdx.x; i < BN * CHUNKS; i += THREADS) {
        int row = i / CHUNKS, d = i % CHUNKS * 8;
        const E *at = from + (size_t)(first + row) * ld + d;
        cp_async(tile + row * (D + PAD) + d, at, first + row < n && d < width);
    }
}

/* S (16,BN) = Q K^T. q, keys: the rows whose addresses this lane passes to ldmatrix */
template <int D, typename E>
static __device__ void compute_scores(float (&s)[BN / 8][4], const E *q, const E *keys)
{
    const int LD = D + PAD;
    int lane = threadIdx.x % WARP;
    q += lane % 16 * LD + lane / 16 * 8;
    keys += (lane % 8 + lane / 16 * 8) * LD + lane / 8 % 2 * 8;
#pragma unroll
    for (int n = 0; n < BN / 8; n++)
        for (int i = 0; i < 4; i++)
            s[n][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        unsigned a[4], b[4];
        ldmatrix(a, q + d);
#pragma unroll
        for (int n = 0; n < BN; n += 16) {
            ldmatrix(b, keys + n * LD + d);
            mma<E>(s[n / 8], a, b[0], b[1]);
            mma<E>(s[n / 8 + 1], a, b[2], b[3]);
        }
    }
}

/* A lane has elements of two rows of the warp: lane/4, and that plus 8. */
struct row_info {
    int first, last;  // keys that it sees
    float max, sum;   // of scale log2(e) s; of 2^(that - max), this lane's keys only
};

/* Scores of a row become p. Returns the factor by which older sums shrink. */
static __device__ float
online_softmax(float (&s)[BN / 8][4], int half, row_info &row, int key, float c)
{
    float max = row.max;
    key += threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < BN / 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int j = key + n * 8 + i;
            float *x = &s[n][2 * half + i];
            *x = j < row.first || j > row.last ? -INFINITY : *x * c;
            max = fmaxf(max, *x);
        }
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 1));  // four lanes share the row
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
    float shrink = fast_exp2(row.max - max), sum = 0.0f;
#pragma unroll
    for (int n = 0; n < BN / 8; n++)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; i++)
            sum += s[n][i] = fast_exp2(s[n][i] - max);
    row.max = max, row.sum = row.sum * shrink + sum;
    return shrink;
}

/* O (16,D) += P V */
template <int D, typename E>
static __device__ void
add_pv(float (&o)[D / 8][4], const float (&p)[BN / 8][4], const E *values)
{
    const int LD = D + PAD;
    int lane = threadIdx.x % WARP;
    values += lane % 16 * LD + lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < BN; n += 16) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *two = &p[n / 8 + i / 2][i % 2 * 2];
            a[i] = pack2<E>(two[0], two[1]);
        }
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            ldmatrix_trans(b, values + n * LD + d);
            mma<E>(o[d / 8], a, b[0], b[1]);
            mma<E>(o[d / 8 + 1], a, b[2], b[3]);
        }
    }
}

template <int D, typename E>
static __device__ void store_out(
    const forward_call<E> &call, float (&o)[D / 8][4], row_info row, int half, int b,
    int t, int h)
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
    for (int n = 0; n < D / 8; n++)
        if (n * 8 < z.D)
            *(unsigned *)(out + n * 8) =
                pack2<E>(o[n][2 * half] * share, o[n][2 * half + 1] * share);
}

/* Over the lanes of a warp. From sm_80 on that is one instruction. */
static __device__ int warp_min(int x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int o = WARP / 2; o > 0; o /= 2)
        x = min(x, __shfl_xor_sync(~0u, x, o));
    return x;
#else
    return __reduce_min_sync(~0u, x);
#endif
}

template <int D, typename E>
static __global__ void __launch_bounds__(THREADS) attention_kernel(forward_call<E> call)
{
    extern __shared__ uint4 smem[];
    const sizes &z = call.z;
    E *q = (E *)smem;           // (BM, D + PAD)
    E *k = q + BM * (D + PAD);  // (BN, D + PAD)
    E *v = k + BN * (D + PAD);  // (BN, D + PAD)

    // the last rows see the most keys: they run first
    int heads = z.B * z.H, tile = gridDim.x / heads - 1 - blockIdx.x / heads;
    int h = blockIdx.x % z.H, b = blockIdx.x % heads / z.H, g = h / (z.H / z.K);
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int block_row = tile * BM, first_row = block_row + warp * 16 + lane / 4;
    const E *from_q = call.q + (size_t)b * z.T * z.ldq + (size_t)h * z.D;
    const E *from_k = call.k + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    const E *from_v = call.v + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    row_info rows[2];
    for (int half = 0; half < 2; half++) {
        int t = min(first_row + 8 * half, z.T - 1), i = z.S - z.T + t;
        int reach = min(call.pos ? call.pos[(size_t)b * z.T + t] : i, z.window);
        rows[half] = {
            max(i - reach, 0), i, -1e30f, 0.0f};  // not -inf: (-inf) - (-inf) is NaN
    }
    __shared__ int lowest_of[WARPS];
    int lowest = warp_min(min(rows[0].first, rows[1].first));
    if (lane == 0) lowest_of[warp] = lowest;
    load_tile<D>(q, from_q, z.ldq, block_row, z.T, z.D);
    __syncthreads();  // the lowest keys of all warps are visible to the block
    for (int w = 0; w < WARPS; w++)
        lowest = min(lowest, lowest_of[w]);
    int last = z.S - z.T + min(block_row + BM, z.T) - 1;

    float o[D / 8][4] = {};
    const float c = z.scale * LOG2_E;
    for (int key = lowest / BN * BN; key <= last; key += BN) {
        __syncthreads();  // every warp has read the previous tile
        load_tile<D>(k, from_k, z.ldkv, key, z.S, z.D);
        load_tile<D>(v, from_v, z.ldkv, key, z.S, z.D);
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();  // Q, K and V are visible to the block
        float s[BN / 8][4];
        compute_scores<D>(s, q + warp * 16 * (D + PAD), k);
        for (int half = 0; half < 2; half++) {
            float shrink = online_softmax(s, half, rows[half], key, c);
            for (int n = 0; n < D / 8; n++)
                o[n][2 * half] *= shrink, o[n][2 * half + 1] *= shrink;
        }
        add_pv<D>(o, s, v);
    }
    for (int half = 0; half < 2; half++)
        store_out<D>(call, o, rows[half], half, b, first_row + 8 * half, h);
}

/* WB_UNSUPPORTED: bf16 before sm_80, or tiles that do not fit into shared memory */
template <int D, typename E>
static wb_status launch(forward_call<E> call, cudaStream_t stream)
{
    const int BYTES = (BM + 2 * BN) * (D + PAD) * (int)sizeof(E);
    if (!has_mma<E>() || BYTES > max_smem_per_block()) return WB_UNSUPPORTED;
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
    if (call.z.D <= 32) return launch<32>(call, stream);
    if (call.z.D <= 64) return launch<64>(call, stream);
    if (call.z.D <= 128) return launch<128>(call, stream);
    return launch<256>(call, stream);
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
