/* 04_mma.cu - the same products by mma.sync: scores never leave their registers.
 *
 * The layout of mma.sync's fragments is known (tensor_cores.cuh). A row of the scores lies
 * in four neighbouring lanes, so its maximum and sum are two shuffles away; and the scores
 * of 16 keys, rounded and packed, are already the fragment that P V needs. Nothing goes
 * through shared memory any more but Q, K and V themselves. Rows have 16 bytes of padding,
 * so that the eight rows of an 8x8 matrix lie in different banks.
 *
 * What is left: while a tile is loaded nobody computes; each part of K and V that comes
 * from shared memory is used for 16 rows only; O is rescaled at every tile. See the
 * solution, attention_tensor.cu.
 */
#include "contract.cuh"
#include "tensor_cores.cuh"

enum {
    WARP = 32,
    WARPS = 4,
    THREADS = WARPS * WARP,
    ROWS = WARPS * 16, /* query rows of a block, 16 a warp */
    KEYS = 64,         /* of a tile */
    PAD = 8,           /* elements, 16 bytes */
};

/* Rows [first, first + ROWS) of n into a tile; zeros outside, also right of `width`. */
template <int D, typename E>
static __device__ void
load_tile(E *tile, const E *from, int ld, int first, int n, int width)
{
    static_assert(ROWS == KEYS, "one loop for Q, K and V");
    const int CHUNKS = D / 8;
#pragma unroll
    for (int i = threadIdx.x; i < KEYS * CHUNKS; i += THREADS) {
        int row = i / CHUNKS, d = i % CHUNKS * 8;
        const E *at = from + (size_t)(first + row) * ld + d;
        copy_async(tile + row * (D + PAD) + d, at, first + row < n && d < width);
    }
}

/* S (16,KEYS) = Q K^T. own: what this lane names to load_matrices. */
template <int D, typename E>
static __device__ void scores(float (&s)[KEYS / 8][4], const E *q, const E *keys)
{
    const int LD = D + PAD;
    int lane = threadIdx.x % WARP;
    q += lane % 16 * LD + lane / 16 * 8;
    keys += (lane % 8 + lane / 16 * 8) * LD + lane / 8 % 2 * 8;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
        for (int i = 0; i < 4; i++)
            s[n][i] = 0.0f;
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        unsigned a[4], b[4];
        load_matrices(a, q + d);
#pragma unroll
        for (int n = 0; n < KEYS; n += 16) {
            load_matrices(b, keys + n * LD + d);
            multiply_add<E>(s[n / 8], a, b[0], b[1]);
            multiply_add<E>(s[n / 8 + 1], a, b[2], b[3]);
        }
    }
}

/* A lane has elements of two rows of the warp: lane/4, and that plus 8. */
struct row_info {
    int first, last;  // keys that it sees
    float max, sum;   // of scale log2(e) s; of 2^(that - max), this lane's keys only
};

/* Scores of a row become p. Returns by what older sums shrink. */
static __device__ float
soften(float (&s)[KEYS / 8][4], int half, row_info &row, int key, float c)
{
    float max = row.max;
    key += threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int j = key + n * 8 + i;
            float *x = &s[n][2 * half + i];
            *x = j < row.first || j > row.last ? -INFINITY : *x * c;
            max = fmaxf(max, *x);
        }
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 1));  // four lanes share the row
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
    float shrink = exp2_approximate(row.max - max), sum = 0.0f;
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; i++)
            sum += s[n][i] = exp2_approximate(s[n][i] - max);
    row.max = max, row.sum = row.sum * shrink + sum;
    return shrink;
}

/* O (16,D) += P V */
template <int D, typename E>
static __device__ void
weigh(float (&o)[D / 8][4], const float (&p)[KEYS / 8][4], const E *values)
{
    const int LD = D + PAD;
    int lane = threadIdx.x % WARP;
    values += lane % 16 * LD + lane / 16 * 8;
#pragma unroll
    for (int n = 0; n < KEYS; n += 16) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *two = &p[n / 8 + i / 2][i % 2 * 2];
            a[i] = pack<E>(two[0], two[1]);
        }
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            load_matrices_transposed(b, values + n * LD + d);
            multiply_add<E>(o[d / 8], a, b[0], b[1]);
            multiply_add<E>(o[d / 8 + 1], a, b[2], b[3]);
        }
    }
}

template <int D, typename E>
static __device__ void finish(
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
        call.lse[((size_t)b * z.H + h) * z.T + t] = (row.max + log2f(sum)) * 0.693147181f;
    E *out = call.out + (((size_t)b * z.T + t) * z.H + h) * z.D + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < D / 8; n++)
        if (n * 8 < z.D)
            *(unsigned *)(out + n * 8) =
                pack<E>(o[n][2 * half] * share, o[n][2 * half + 1] * share);
}

template <int D, typename E>
static __global__ void __launch_bounds__(THREADS) attention_kernel(forward_call<E> call)
{
    extern __shared__ uint4 shared_bytes[];
    const sizes &z = call.z;
    E *q = (E *)shared_bytes;     // (ROWS, D + PAD)
    E *k = q + ROWS * (D + PAD);  // (KEYS, D + PAD)
    E *v = k + KEYS * (D + PAD);  // (KEYS, D + PAD)

    // the last rows see most keys: they begin first
    int heads = z.B * z.H, tile = gridDim.x / heads - 1 - blockIdx.x / heads;
    int h = blockIdx.x % z.H, b = blockIdx.x % heads / z.H, g = h / (z.H / z.K);
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int block_row = tile * ROWS, first_row = block_row + warp * 16 + lane / 4;
    const E *from_q = call.q + (size_t)b * z.T * z.ldq + (size_t)h * z.D;
    const E *from_k = call.k + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;
    const E *from_v = call.v + (size_t)b * z.S * z.ldkv + (size_t)g * z.D;

    row_info rows[2];
    for (int half = 0; half < 2; half++) {
        int t = min(first_row + 8 * half, z.T - 1), i = z.S - z.T + t;
        int reach = min(call.pos ? call.pos[(size_t)b * z.T + t] : i, z.window);
        rows[half] = {i - reach, i, -1e30f, 0.0f};  // not -inf: (-inf) - (-inf) is NaN
    }
    __shared__ int lowest_of[WARPS];
    int lowest = __reduce_min_sync(~0u, min(rows[0].first, rows[1].first));
    if (lane == 0) lowest_of[warp] = lowest;
    load_tile<D>(q, from_q, z.ldq, block_row, z.T, z.D);
    __syncthreads();  // every warp's lowest key is there
    for (int w = 0; w < WARPS; w++)
        lowest = min(lowest, lowest_of[w]);
    int last = z.S - z.T + min(block_row + ROWS, z.T) - 1;

    float o[D / 8][4] = {};
    const float c = z.scale * 1.442695041f;  // scale log2(e)
    for (int key = lowest / KEYS * KEYS; key <= last; key += KEYS) {
        __syncthreads();  // nobody reads the tile before any more
        load_tile<D>(k, from_k, z.ldkv, key, z.S, z.D);
        load_tile<D>(v, from_v, z.ldkv, key, z.S, z.D);
        copy_commit();
        copy_wait<0>();
        __syncthreads();  // Q, K and V are there
        float s[KEYS / 8][4];
        scores<D>(s, q + warp * 16 * (D + PAD), k);
        for (int half = 0; half < 2; half++) {
            float shrink = soften(s, half, rows[half], key, c);
            for (int n = 0; n < D / 8; n++)
                o[n][2 * half] *= shrink, o[n][2 * half + 1] *= shrink;
        }
        weigh<D>(o, s, v);
    }
    for (int half = 0; half < 2; half++)
        finish<D>(call, o, rows[half], half, b, first_row + 8 * half, h);
}

template <int D, typename E>
static wb_status launch(forward_call<E> call, cudaStream_t stream)
{
    const int BYTES = (ROWS + 2 * KEYS) * (D + PAD) * (int)sizeof(E);
    size_t blocks = ((size_t)call.z.T + ROWS - 1) / ROWS * call.z.B * call.z.H;
    if (blocks > INT_MAX) return WB_BAD_SHAPE;
    auto kernel = attention_kernel<D, E>;
    cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
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
