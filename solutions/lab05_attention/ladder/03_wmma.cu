/* 03_wmma.cu - both GEMMs on tensor cores, through nvcuda::wmma: f16 and bf16.
 *
 * One instruction of a warp multiplies 16x16 by 16x16, an order of magnitude faster than
 * 32 lanes with FMAs. wmma does not say which lane holds which element of a fragment. So
 * the scores of a warp's 16 M rows go through shared memory, as floats. Two lanes share a
 * row there, and P, rounded to E, replaces the scores:
 *
 *     Q K^T -> fragments -> shared, float -> softmax -> shared, E -> fragments -> P V
 *
 * O stays in fragments and must be rescaled by rows. To learn which rows it holds, a lane
 * loads a matrix whose elements are their own row numbers.
 *
 * nvcc 13 compiles the load of an f16 fragment to one ldmatrix, but that of a bf16
 * fragment to single loads of 4 bytes: only here is bf16 slower than f16.
 *
 * What remains: scores are written to and read from shared memory, which also delivers
 * the operands of the GEMMs, and while a tile is loaded nothing is computed. See the
 * solution.
 */
// fails: tensor_heads
#include <mma.h>
#include <type_traits>

#include "contract.cuh"
#include "cuda/math.cuh"
#include "cuda/mma.cuh"

using namespace nvcuda;

constexpr int WARP = 32;
constexpr int N = 16;         // rows and columns of a fragment
constexpr int BN = 64;        // keys of a tile
constexpr int PAD = 8;        // elements, 16 bytes: neighbouring rows lie in other banks
constexpr int LD_S = BN + 4;  // floats of a row of scores

template <typename E>
using factor_a = wmma::fragment<wmma::matrix_a, N, N, N, E, wmma::row_major>;
template <typename E>
using factor_b = wmma::fragment<wmma::matrix_b, N, N, N, E, wmma::row_major>;
template <typename E>
using transposed_b = wmma::fragment<wmma::matrix_b, N, N, N, E, wmma::col_major>;
using sum = wmma::fragment<wmma::accumulator, N, N, N, float>;

template <int D_, int WARPS_, int M_> struct plan {
    static const int D = D_, LD = D + PAD, WARPS = WARPS_, THREADS = WARPS * WARP;
    static const int M = M_, BM = WARPS * M * N;  // a warp has 16 M query rows
    static const int BYTES = (BM + 2 * BN) * LD * 2 + BM * LD_S * 4 + BM * 4 + N * N * 4;
};

/* Copies rows [first, first + ROWS) of n into a tile; zeros outside and past column
 * `width`. */
template <int ROWS, typename P, typename E>
static __device__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    const int CHUNKS = P::D / 8;
    for (int i = threadIdx.x; i < ROWS * CHUNKS; i += P::THREADS) {
        int row = i / CHUNKS, d = i % CHUNKS * 8;
        uint4 eight = {0, 0, 0, 0};
        if (first + row < n && d < width)
            eight = *(const uint4 *)(from + (size_t)(first + row) * ld + d);
        *(uint4 *)(tile + row * P::LD + d) = eight;
    }
}

/* scores (16 M, BN) = Q K^T */
template <typename P, typename E>
static __device__ void compute_scores(float *s, const E *q, const E *keys)
{
    sum c[P::M][BN / N];
    for (int m = 0; m < P::M; m++)
        for (int n = 0; n < BN / N; n++)
            wmma::fill_fragment(c[m][n], 0.0f);
#pragma unroll
    for (int d = 0; d < P::D; d += N) {
        factor_a<E> a[P::M];
#pragma unroll
        for (int m = 0; m < P::M; m++)
            wmma::load_matrix_sync(a[m], q + m * N * P::LD + d, P::LD);
#pragma unroll
        for (int n = 0; n < BN / N; n++) {
            transposed_b<E> b;
            wmma::load_matrix_sync(b, keys + n * N * P::LD + d, P::LD);
#pragma unroll
            for (int m = 0; m < P::M; m++)
                wmma::mma_sync(c[m][n], a[m], b, c[m][n]);
        }
    }
#pragma unroll
    for (int m = 0; m < P::M; m++)
        for (int n = 0; n < BN / N; n++)
            wmma::store_matrix_sync(
                s + m * N * LD_S + n * N, c[m][n], LD_S, wmma::mem_row_major);
    __syncwarp();  // the scores are visible to the warp
}

template <typename E> static __device__ uint4 round8(const float *x)
{
    return {
        pack2<E>(x[0], x[1]), pack2<E>(x[2], x[3]), pack2<E>(x[4], x[5]),
        pack2<E>(x[6], x[7])};
}

/* Of a row that a lane shares with lane + 16 */
struct row_info {
    int first, last;  // keys that it sees
    float max, sum;   // of scale log2(e) s; of 2^(that - max), this lane's keys only
};

/* 32 scores of the row become p, rounded to E, in the same place. Returns the factor by
 * which older sums shrink. */
template <typename E>
static __device__ float online_softmax(float *s, row_info &row, int key, float c)
{
    const int OWN = BN / 2;  // keys of this lane
    float x[OWN], top = -INFINITY;
    int half = threadIdx.x % WARP / 16;
    key += half * OWN;
#pragma unroll
    for (int i = 0; i < OWN; i += 4)
        *(float4 *)(x + i) = *(const float4 *)(s + half * OWN + i);
    __syncwarp();  // both lanes have read the row: p may replace it
#pragma unroll
    for (int i = 0; i < OWN; i++)
        x[i] *= c;
    if (key < row.first || key + OWN - 1 > row.last)
#pragma unroll
        for (int i = 0; i < OWN; i++)
            x[i] = key + i < row.first || key + i > row.last ? -INFINITY : x[i];
#pragma unroll
    for (int i = 0; i < OWN; i++)
        top = fmaxf(top, x[i]);
    float max = fmaxf(row.max, fmaxf(top, __shfl_xor_sync(~0u, top, 16)));
    float shrink = fast_exp2(row.max - max), sum = 0.0f;
    E *p = (E *)s + half * OWN;
#pragma unroll
    for (int i = 0; i < OWN; i += 8) {
        for (int j = i; j < i + 8; j++)
            sum += x[j] = fast_exp2(x[j] - max);
        *(uint4 *)(p + i) = round8<E>(x + i);
    }
    row.max = max, row.sum = row.sum * shrink + sum;
    return shrink;
}

/* O (16 M, D) = O, rescaled by rows, + P V. row_of[i]: row of element i of a fragment */
template <typename P, typename E>
static __device__ void add_pv(
    sum (&o)[P::M][P::D / N], const float *s, const float *shrink, const E *values,
    const int *row_of)
{
    const int LD_P = LD_S * 4 / (int)sizeof(E);  // p lies in the rows of s
#pragma unroll
    for (int m = 0; m < P::M; m++) {
        if (!__any_sync(~0u, shrink[m * N + threadIdx.x % N] < 1.0f)) continue;
#pragma unroll
        for (int i = 0; i < sum::num_elements; i++) {
            float by = shrink[m * N + row_of[i]];
#pragma unroll
            for (int d = 0; d < P::D / N; d++)
                o[m][d].x[i] *= by;
        }
    }
#pragma unroll
    for (int n = 0; n < BN; n += N) {
        factor_a<E> a[P::M];
#pragma unroll
        for (int m = 0; m < P::M; m++)
            wmma::load_matrix_sync(a[m], (const E *)s + m * N * LD_P + n, LD_P);
#pragma unroll
        for (int d = 0; d < P::D / N; d++) {
            factor_b<E> b;
            wmma::load_matrix_sync(b, values + n * P::LD + d * N, P::LD);
#pragma unroll
            for (int m = 0; m < P::M; m++)
                wmma::mma_sync(o[m][d], a[m], b, o[m][d]);
        }
    }
}

/* row_of[i]: the row of element i of a fragment, found by loading a matrix of row
 * numbers */
static __device__ void find_rows(int *row_of, float *numbers)
{
    for (int i = threadIdx.x; i < N * N; i += blockDim.x)
        numbers[i] = (float)(i / N);
    __syncthreads();  // the numbers are visible to the block
    sum f;
    wmma::load_matrix_sync(f, numbers, N, wmma::mem_row_major);
    for (int i = 0; i < f.num_elements; i++)
        row_of[i] = (int)f.x[i];
}

/* Fragments of O, 16 columns at a time, through the warp's scores to out, and lse */
template <typename P, typename E>
static __device__ void store_out(
    const forward_call<E> &call, sum (&o)[P::M][P::D / N], float *s,
    const row_info (&rows)[P::M], int b, int h, int first_row)
{
    const sizes &z = call.z;
    int lane = threadIdx.x % WARP, half = lane / 16;
#pragma unroll
    for (int m = 0; m < P::M; m++) {
        int t = first_row + m * N + lane % 16;
        float sum = rows[m].sum + __shfl_xor_sync(~0u, rows[m].sum, 16);
        float share = 1.0f / sum;
        E *out = call.out + (((size_t)b * z.T + t) * z.H + h) * z.D;
        if (call.lse && half == 0 && t < z.T)
            call.lse[((size_t)b * z.H + h) * z.T + t] = (rows[m].max + log2f(sum)) * LN_2;
#pragma unroll
        for (int d = 0; d < P::D / N; d++) {
            __syncwarp();  // every lane has read the previous columns
            wmma::store_matrix_sync(s, o[m][d], LD_S, wmma::mem_row_major);
            __syncwarp();  // these columns are visible to the warp
            float eight[8];
            for (int j = 0; j < 8; j++)
                eight[j] = s[lane % 16 * LD_S + half * 8 + j] * share;
            int column = d * N + half * 8;
            if (t < z.T && column < z.D) *(uint4 *)(out + column) = round8<E>(eight);
        }
    }
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

template <typename P, typename E>
static __device__ __forceinline__ void attend(const forward_call<E> &call)
{
    extern __shared__ uint4 smem[];
    const sizes &z = call.z;
    E *q = (E *)smem;                      // (BM, LD)
    E *k = q + P::BM * P::LD;              // (BN, LD)
    E *v = k + BN * P::LD;                 // (BN, LD)
    float *s = (float *)(v + BN * P::LD);  // (BM, LD_S)
    float *numbers = s + P::BM * LD_S;     // (16, 16)
    float *shrink = numbers + N * N;       // (BM)

    int heads = z.B * z.H, tile = gridDim.x / heads - 1 - blockIdx.x / heads;
    int h = blockIdx.x % z.H, b = blockIdx.x % heads / z.H, g = h / (z.H / z.K);
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int block_row = tile * P::BM, first_row = block_row + warp * P::M * N;
    const E *from_q = call.q + (size_t)b * z.T * z.ldq + (size_t)h * z.D;
    const E *from_k = call.k + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    const E *from_v = call.v + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    int row_of[sum::num_elements];
    find_rows(row_of, numbers);
    row_info rows[P::M];
    int lowest = INT_MAX;
#pragma unroll
    for (int m = 0; m < P::M; m++) {
        int t = min(first_row + m * N + lane % 16, z.T - 1), i = z.S - z.T + t;
        int reach = min(call.pos ? call.pos[(size_t)b * z.T + t] : i, z.window);
        rows[m] = {
            max(i - reach, 0), i, -1e30f, 0.0f};  // not -inf: (-inf) - (-inf) is NaN
        lowest = min(lowest, rows[m].first);
    }
    lowest = warp_min(lowest);
    if (lane == 0) ((int *)shrink)[warp] = lowest;
    load_tile<P::BM, P>(q, from_q, z.ldq, block_row, z.T, z.D);
    __syncthreads();  // Q and the lowest keys are visible to the block
    for (int w = 0; w < P::WARPS; w++)
        lowest = min(lowest, ((const int *)shrink)[w]);
    int last = z.S - z.T + min(block_row + P::BM, z.T) - 1;
    s += warp * P::M * N * LD_S, shrink += warp * P::M * N, q += warp * P::M * N * P::LD;

    sum o[P::M][P::D / N];
    for (int m = 0; m < P::M; m++)
        for (int d = 0; d < P::D / N; d++)
            wmma::fill_fragment(o[m][d], 0.0f);
    const float c = z.scale * LOG2_E;
    for (int key = lowest / BN * BN; key <= last; key += BN) {
        __syncthreads();  // every warp has read the previous tile
        load_tile<BN, P>(k, from_k, z.ldkv, key, z.S, z.D);
        load_tile<BN, P>(v, from_v, z.ldkv, key, z.S, z.D);
        __syncthreads();  // K and V are visible to the block
        compute_scores<P>(s, q, k);
#pragma unroll
        for (int m = 0; m < P::M; m++) {
            float by = online_softmax<E>(s + (m * N + lane % 16) * LD_S, rows[m], key, c);
            if (lane < 16) shrink[m * N + lane] = by;
        }
        __syncwarp();  // P and the factors of O are visible to the warp
        add_pv<P>(o, s, shrink, v, row_of);
    }
    store_out<P>(call, o, s, rows, b, h, first_row);
}

/* wmma has no bf16 fragments before sm_80: code for Turing must not name one. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <typename E> constexpr bool HAS_FRAGMENTS = !std::is_same_v<E, wb_bf16>;
#else
template <typename E> constexpr bool HAS_FRAGMENTS = true;
#endif

template <typename P, typename E>
static __global__ void __launch_bounds__(P::THREADS)
    attention_kernel(forward_call<E> call)
{
    if constexpr (HAS_FRAGMENTS<E>) attend<P>(call);
}

/* WB_UNSUPPORTED: bf16 before sm_80, or tiles that do not fit into shared memory */
template <typename P, typename E>
static wb_status launch(forward_call<E> call, cudaStream_t stream)
{
    if (!has_mma<E>() || P::BYTES > max_smem_per_block()) return WB_UNSUPPORTED;
    size_t tiles = ((size_t)call.z.T + P::BM - 1) / P::BM;
    if (tiles * call.z.B * call.z.H > INT_MAX) return WB_BAD_SHAPE;
    unsigned blocks = (unsigned)(tiles * call.z.B * call.z.H);
    auto kernel = attention_kernel<P, E>;
    allow_smem(kernel, P::BYTES);
    kernel<<<blocks, P::THREADS, P::BYTES, stream>>>(call);
    return wb_launched();
}

template <typename E> static size_t forward_workspace(sizes)
{
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> call, cudaStream_t stream)
{
    if (call.z.D <= 32) return launch<plan<32, 4, 2>>(call, stream);
    if (call.z.D <= 64) return launch<plan<64, 4, 2>>(call, stream);
    if (call.z.D <= 128) return launch<plan<128, 4, 2>>(call, stream);
    return launch<plan<256, 4, 1>>(call, stream);
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
