/* block_linear_tensor.cu - lab 06, part 06.7: the matrices of both gates in f16 and bf16, on
 * tensor cores. The contract is rglru.h.
 *
 * The three products of block_linear.cu once more, with larger tiles: 8 warps make 128 x 128
 * results, 64 x 32 a warp, from steps of 32 terms. Sums are float throughout. While the
 * tensor cores work on one step, the next one is on its way to registers; then it goes to
 * the other of two buffers in shared memory, so that a step costs one barrier.
 */
#include <mma.h>

#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

using namespace nvcuda;

// BEGIN SOLUTION 06.7 (nothing but the kernels of 06.1, as templates, in a first version)
//> // TODO(06.7): the kernels of block_linear.cu, as templates, pass here too: copy them. On
//> // tensor cores (nvcuda::wmma, 16 x 16 x 16, float sums) they are ten times as fast.
constexpr int TILE = 128;       // rows and columns of a block's results
constexpr int HALF = TILE / 2;  // columns of one gate
constexpr int STEP = 32;        // terms of the sums that are in shared memory at once
constexpr int WARPS = 8;        // two rows of four: 64 x 32 results each
constexpr int BLOCK = WARPS * WARP;
constexpr int DOWN = 4, ACROSS = 2;  // fragments of a warp's results
constexpr int FRAG = 16;             // rows and columns of a fragment
constexpr int SHORT = STEP + 8;      // distance of rows of 32 and 128 numbers in shared
constexpr int LONG = TILE + 8;       // memory: no two of 8 neighbours in the same banks
constexpr int PART = TILE * SHORT > STEP *LONG ? TILE *SHORT : STEP *LONG;
constexpr int EDGE = 2 * FRAG + 4;  // the same for float results on their way out

/* Two steps of both factors; when all is summed, 16 x 32 results of each warp. */
template <typename E> union buffers {
    E factor[2][2][PART];
    float result[WARPS][FRAG * EDGE];
    __device__ buffers() {}
};

/* A factor of a product as it lies in memory: `rows` rows, `ld` apart, of `columns` numbers.
 * `second`, if any, is a matrix of the same kind for the second half of a tile's columns. */
template <typename E> struct factor {
    const E *x, *second;
    size_t ld, rows;
    int columns;
    bool vectors;  // rows start at 16 bytes and have whole vectors
};

template <typename E> struct load {  // a thread's share of a tile: 2 vectors
    vec<E> v[2];
};

/* Vector i of a tile of `wide` columns: its row, its column, and what is there, or 0. */
template <typename E>
static __device__ vec<E>
fetch_vector(factor<E> f, size_t row, int column, int at, int wide)
{
    constexpr int N = vec<E>::N;
    vec<E> v = {};
    int n = column + (f.second && at >= wide / 2 ? at - wide / 2 : at);
    const E *from = f.second && at >= wide / 2 ? f.second : f.x;
    if (row >= f.rows) return v;
    from += row * f.ld + n;
    if (f.vectors && n < f.columns) return *(const vec<E> *)from;
    for (int j = 0; j < N; j++)
        if (n + j < f.columns) v.at[j] = from[j];
    return v;
}

/* Tile of 4096 numbers, `wide` columns, from (row, column) on. */
template <int WIDE, typename E>
static __device__ load<E> fetch(factor<E> f, size_t row, int column)
{
    constexpr int N = vec<E>::N, LINE = WIDE / N;  // vectors of a row
    load<E> l;
    for (int k = 0; k < 2; k++) {
        int i = threadIdx.x + k * BLOCK;
        l.v[k] = fetch_vector(f, row + i / LINE, column, i % LINE * N, WIDE);
    }
    return l;
}

template <int WIDE, typename E> static __device__ void store(E *to, const load<E> &l)
{
    constexpr int N = vec<E>::N, LINE = WIDE / N, LD = WIDE == STEP ? SHORT : LONG;
    for (int k = 0; k < 2; k++) {
        int i = threadIdx.x + k * BLOCK;
        *(vec<E> *)(to + i / LINE * LD + i % LINE * N) = l.v[k];
    }
}

typedef wmma::fragment<wmma::accumulator, FRAG, FRAG, FRAG, float> total;

/* What a warp has summed: its results, and the column sums for the biases. */
struct sums {
    total at[DOWN][ACROSS], bias[ACROSS];
};

/* One step. A: a tile of 128 rows of 32 terms (SHORT rows), or, AT, 32 rows of terms of 128
 * results. B: 32 rows of terms, or, BT, 128 rows. The column sums of B are a product too:
 * with a matrix of ones. */
template <bool AT, bool BT, typename E>
static __device__ void multiply(sums &s, const E *a, const E *b, bool biases)
{
    typedef typename std::conditional<AT, wmma::col_major, wmma::row_major>::type order_a;
    typedef typename std::conditional<BT, wmma::col_major, wmma::row_major>::type order_b;
    int warp = threadIdx.x / WARP, row = warp / 4 * 64, column = warp % 4 * 32;
#pragma unroll
    for (int k = 0; k < STEP; k += FRAG) {
        wmma::fragment<wmma::matrix_a, FRAG, FRAG, FRAG, E, order_a> fa;
        wmma::fragment<wmma::matrix_b, FRAG, FRAG, FRAG, E, order_b> fb[ACROSS];
#pragma unroll
        for (int j = 0; j < ACROSS; j++) {
            int n = column + j * FRAG;
            wmma::load_matrix_sync(
                fb[j], BT ? b + n * SHORT + k : b + k * LONG + n, BT ? SHORT : LONG);
        }
#pragma unroll
        for (int i = 0; i < DOWN; i++) {
            int m = row + i * FRAG;
            wmma::load_matrix_sync(
                fa, AT ? a + k * LONG + m : a + m * SHORT + k, AT ? LONG : SHORT);
#pragma unroll
            for (int j = 0; j < ACROSS; j++)
                wmma::mma_sync(s.at[i][j], fa, fb[j], s.at[i][j]);
        }
        if (!biases || row > 0) continue;
        wmma::fill_fragment(fa, (E)1.0f);
#pragma unroll
        for (int j = 0; j < ACROSS; j++)
            wmma::mma_sync(s.bias[j], fa, fb[j], s.bias[j]);
    }
}

/* The whole sum over the terms begin to end-1, and, where there is an a2, over as many of
 * a second pair of factors, which differs from the first in its place only. */
template <bool AT, bool BT, typename E>
static __device__ void sum_up(
    sums &s, buffers<E> &buffer, factor<E> a, factor<E> b, const E *a2, const E *b2,
    size_t row, int column, size_t begin, size_t end, bool biases)
{
    constexpr int A = AT ? TILE : STEP, B = BT ? STEP : TILE;
    int each = (int)((end - begin + STEP - 1) / STEP), steps = a2 ? 2 * each : each;
    size_t k = begin;
    load<E> la, lb;
#pragma unroll
    for (int i = 0; i < DOWN * ACROSS; i++)
        wmma::fill_fragment(s.at[i / ACROSS][i % ACROSS], 0.0f);
#pragma unroll
    for (int j = 0; j < ACROSS; j++)
        wmma::fill_fragment(s.bias[j], 0.0f);
    for (int n = 0; n <= steps; n++) {
        if (n == each) a.x = a2, b.x = b2, k = begin;
        if (n < steps) {
            la = AT ? fetch<A>(a, k, (int)row) : fetch<A>(a, row, (int)k);
            lb = BT ? fetch<B>(b, column, (int)k) : fetch<B>(b, k, column);
            k += STEP;
        }
        if (n > 0) {
            E(*now)[PART] = buffer.factor[(n - 1) % 2];
            multiply<AT, BT>(s, now[0], now[1], biases);
        }
        if (n < steps) {
            store<A>(buffer.factor[n % 2][0], la);
            store<B>(buffer.factor[n % 2][1], lb);
        }
        __syncthreads();  // this step is there, and the last one no longer needed
    }
}

/* Hands out a warp's 16 x 32 results of fragments row i: each lane gets two stretches of 8
 * neighbours in turn, as use(row, column, float[8]), both counted within the tile. */
template <typename Use>
static __device__ void hand_out(const total (&at)[ACROSS], float *result, int i, Use use)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < ACROSS; j++)
        wmma::store_matrix_sync(result + j * FRAG, at[j], EDGE, wmma::mem_row_major);
    __syncwarp();  // the results are there
    for (int k = 0; k < 2; k++) {
        int r = lane / 4 + k * 8, c = lane % 4 * 8;
        use(warp / 4 * 64 + i * FRAG + r, warp % 4 * 32 + c, result + r * EDGE + c);
    }
    __syncwarp();  // and taken
}

/* Rounds n of 8 results to E, at once where `vector` says that it can be. */
template <typename E>
static __device__ void put(E *to, const float *v, int n, bool vector)
{
    vec<E> y;
    for (int j = 0; j < vec<E>::N; j++)
        y.at[j] = (E)v[j];
    if (vector)
        *(vec<E> *)to = y;
    else
        for (int j = 0; j < vec<E>::N; j++)
            if (j < n) to[j] = y.at[j];
}

template <typename E>
static __global__ void __launch_bounds__(BLOCK, 2) both_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, bool vectors)
{
    __shared__ __align__(32) buffers<E> buffer;
    int across = (M + HALF - 1) / HALF, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * TILE, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * HALF;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    factor<E> a = {c + first, NULL, C, (size_t)R, M, vectors};
    factor<E> b = {wx + matrix, wa + matrix, (size_t)M, (size_t)M, M, vectors};
    sums s;
    sum_up<false, false, E>(s, buffer, a, b, NULL, NULL, row, column, 0, M, false);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(
            s.at[i], buffer.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                const E *bias = n < HALF ? bx : ba;
                E *out = n < HALF ? px : pa;
                int j = column + n % HALF;
                if (row + r >= (size_t)R || j >= M) return;
                for (int k = 0; k < 8; k++)
                    if (j + k < M) v[k] += (float)bias[first + j + k];
                put(out + (row + r) * C + first + j, v, M - j, vectors);
            });
}

/* dc may be dc_in: a lane reads what it replaces. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK, 2) dc_tile(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M, bool vectors)
{
    __shared__ __align__(32) buffers<E> buffer;
    int across = (M + TILE - 1) / TILE, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * TILE, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * TILE;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    factor<E> a = {dpx + first, NULL, C, (size_t)R, M, vectors};
    factor<E> b = {wx + matrix, NULL, (size_t)M, (size_t)M, M, vectors};
    sums s;
    sum_up<false, true>(
        s, buffer, a, b, dpa + first, wa + matrix, row, column, 0, M, false);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(
            s.at[i], buffer.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                int j = column + n;
                size_t at = (row + r) * C + first + j;
                if (row + r >= (size_t)R || j >= M) return;
                if (dc_in)
                    for (int k = 0; k < 8; k++)
                        if (j + k < M) v[k] += (float)dc_in[at + k];
                put(dc + at, v, M - j, vectors);
            });
}

/* Rows of part blockIdx.y. A part of `partial` is laid out as in block_linear.cu: (2,G,M,M)
 * for dwx and dwa, (2,G,M) for dbx and dba. */
template <typename E>
static __global__ void __launch_bounds__(BLOCK, 2) dw_tile(
    float *partial, const E *c, const E *dpx, const E *dpa, int R, int G, int M, int rows,
    bool vectors)
{
    __shared__ __align__(32) buffers<E> buffer;
    int across = (M + HALF - 1) / HALF, down = (M + TILE - 1) / TILE;
    int column = blockIdx.x % across * HALF, row = blockIdx.x / across % down * TILE;
    size_t g = blockIdx.x / across / down, C = (size_t)G * M, first = g * M;
    size_t begin = (size_t)blockIdx.y * rows, end = begin + rows;
    if (end > (size_t)R) end = R;
    factor<E> a = {c + first, NULL, C, end, M, vectors};
    factor<E> b = {dpx + first, dpa + first, C, end, M, vectors};
    sums s;
    sum_up<true, false, E>(
        s, buffer, a, b, NULL, NULL, row, column, begin, end, row == 0);
    partial += blockIdx.y * (2 * C * M + 2 * C);
    float *result = buffer.result[threadIdx.x / WARP];
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(s.at[i], result, i, [&](int r, int n, float *v) {
            int m = row + r, j = column + n % HALF;
            float *to = partial + ((n / HALF * G + g) * M + m) * M + j;
            for (int k = 0; k < 8; k++)
                if (m < M && j + k < M) to[k] = v[k];
        });
    if (row > 0) return;
    hand_out(s.bias, result, 0, [&](int r, int n, float *v) {  // all rows are the same
        int j = column + n % HALF;
        for (int k = 0; k < 8; k++)
            if (r == 0 && j + k < M)
                partial[2 * C * M + n / HALF * C + first + j + k] = v[k];
    });
}

static unsigned blocks_for(int R, int G, int M, int columns)
{
    size_t down = ((size_t)R + TILE - 1) / TILE, across = (M + columns - 1) / columns;
    return (unsigned)(down * G * across);
}

constexpr size_t LEAST = 256;     // rows of a part of the sums for dw
constexpr size_t MOST = 8 << 20;  // partial sums in all, about
constexpr size_t FEW = 4;         // parts, also of large matrices
// END SOLUTION

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): launch both_gates, then return wb_launched().
    //> return WB_TODO;
    bool vectors = M % vec<E>::N == 0 && aligned(16, px, pa, c, wx, wa);
    both_gates<<<blocks_for(R, G, M, HALF), BLOCK, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M, vectors);
    return wb_launched();
    // END SOLUTION
}

/* Bytes of scratch of the backward pass. */
template <typename E> static size_t block_linear_space(int R, int G, int M)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): as in block_linear.cu.
    //> return 0;
    if (R < 1 || G < 1 || M < 1) return 0;
    return parts_space(R, 2 * (size_t)G * M * (M + 1), LEAST, MOST, FEW);
    // END SOLUTION
}

template <typename E>
static wb_status block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M,
    float *partial, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): launch dc_each, and dw_each for either gate; return wb_launched().
    //> (void)partial;
    //> return WB_TODO;
    bool vectors = M % vec<E>::N == 0 && aligned(16, dc, dc_in, dpx, dpa, c, wx, wa);
    dc_tile<<<blocks_for(R, G, M, TILE), BLOCK, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M, vectors);
    size_t C = (size_t)G * M, sums = 2 * C * (M + 1);
    int P = parts_for(R, sums, LEAST, MOST, FEW), rows = (R + P - 1) / P;
    P = (R + rows - 1) / rows;
    dim3 grid((M + HALF - 1) / HALF * ((M + TILE - 1) / TILE) * G, P);
    dw_tile<<<grid, BLOCK, 0, stream>>>(partial, c, dpx, dpa, R, G, M, rows, vectors);
    launch_add(dwx, partial, P, sums, C * M, stream);
    launch_add(dwa, partial + C * M, P, sums, C * M, stream);
    launch_add(dbx, partial + 2 * C * M, P, sums, C, stream);
    launch_add(dba, partial + 2 * C * M + C, P, sums, C, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_BLOCK_LINEAR(wb_f16, f16)
DEFINE_BLOCK_LINEAR(wb_bf16, bf16)
