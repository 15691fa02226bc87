/* block_linear_mma.cuh - part 06.7: the tensor-core matrix multiply of the solution, from
 * which the kernels of block_linear_tensor.cu are made. You can pass without it.
 */
#ifndef BLOCK_LINEAR_MMA_CUH
#define BLOCK_LINEAR_MMA_CUH

// BEGIN SOLUTION 06.7 (nothing in a first version)
//> /* TODO(06.7): nothing, if the kernels of 06.1 as templates serve f16 and bf16. */

/* 8 warps compute 128 x 128 results, 64 x 32 per warp, BK terms of the sums at a time;
 * the sums are float. cp_async fills one of two buffers while the tensor cores work on
 * the other, so a step takes one barrier. Addresses, copies and ldmatrix share the issue
 * slots with mma, so what can be computed at compile time or before the loop is. */
#include "cuda/mma.cuh"
#include "rglru_contract.cuh"

constexpr int BM = 128, BN = 128;   // results of a block
constexpr int HALF_BN = BN / 2;     // columns of one gate
constexpr int STAGES = 2;           // buffers
constexpr int WARPS_PER_BLOCK = 8;  // two rows of four
constexpr int THREADS = WARPS_PER_BLOCK * WARP;
constexpr int BLOCKS_PER_SM = 2;
constexpr int WM = BM / 2, WN = BN / 4;                   // results of a warp
constexpr int MMAS_DOWN = WM / 16, MMAS_ACROSS = WN / 8;  // of 16 x 8

/* Distances between rows in shared memory: 16 bytes more than the row has, so that eight
 * accesses of 16 bytes to neighbouring rows meet different banks. */
constexpr int PAD = 8, LD_RESULT = WN + 4;

/* Both operands of two steps, with room for either orientation; after the last step, 16
 * rows of results of each warp. 72 KB for BK = 64, 40 KB for 32. */
template <typename E, int BK> union gemm_smem {
    struct {
        E a[BM * (BK + PAD)], b[BN * (BK + PAD)];
    } stage[STAGES];
    float result[WARPS_PER_BLOCK][16 * LD_RESULT];
    static_assert(BK <= BM && BK <= BN, "a transposed tile needs more room");
};

/* An operand in device memory: `rows` rows, `ld` apart, of `columns` elements. `second`,
 * if any, is a matrix of the same shape for the second half of a tile's columns. */
template <typename E> struct operand {
    const E *x, *second;
    size_t ld;
    int rows, columns;
    bool vectors;  // rows start at 16 bytes and have whole vectors; known at compile time
};

/* A thread's part in copying tiles of ROWS x COLS, one after another along the terms: one
 * vector in each ROW_STEP rows. K_IN_ROW: terms are neighbours within a row. */
template <int ROWS, int COLS, bool K_IN_ROW, typename E> struct tile_loader {
    static constexpr int N = VEC16<E>, ROW_STEP = THREADS * N / COLS;
    const E *from;          // the first vector of the next tile
    int row, column, smem;  // where it is in the matrix, and where it goes in the tile
};

template <int ROWS, int COLS, bool K_IN_ROW, typename E>
static __device__ void start_at(
    tile_loader<ROWS, COLS, K_IN_ROW, E> &l, const operand<E> &x, int row, int column)
{
    int r = threadIdx.x / (COLS / l.N), c = threadIdx.x % (COLS / l.N) * l.N;
    bool second = x.second && c >= COLS / 2;
    l.row = row + r;
    l.column = column + (second ? c - COLS / 2 : c);
    l.from = (second ? x.second : x.x) + l.row * x.ld + l.column;
    l.smem = r * (COLS + PAD) + c;
}

/* Starts to copy the next tile; 0 outside the matrix. Without vectors the copy is
 * synchronous and slow, which is rare. */
template <int ROWS, int COLS, bool K_IN_ROW, typename E>
static __device__ void
load_tile(E *to, tile_loader<ROWS, COLS, K_IN_ROW, E> &l, const operand<E> &x)
{
#pragma unroll
    for (int r = 0; r < ROWS; r += l.ROW_STEP) {
        bool inside = l.row + r < x.rows && l.column < x.columns;
        const E *from = l.from + r * x.ld;
        E *at = to + l.smem + r * (COLS + PAD);
        if (x.vectors)
            cp_async(at, inside ? from : x.x, inside);
        else
            for (int j = 0; j < l.N; j++)
                at[j] = inside && l.column + j < x.columns ? from[j] : (E)0.0f;
    }
    if (K_IN_ROW)
        l.column += COLS, l.from += COLS;
    else
        l.row += ROWS, l.from += ROWS * x.ld;
}

/* The sums of a warp: its results, and the column sums of b for the biases */
struct warp_sums {
    float c[MMAS_DOWN][MMAS_ACROSS][4], bias[MMAS_ACROSS][4];
};

/* One step of BK terms. A tile a has rows of results or, A_TRANS, rows of terms; b has
 * rows of terms or, B_TRANS, rows of results. The column sums are a matrix multiply too:
 * ones times b. */
template <bool A_TRANS, bool B_TRANS, int BK, typename E>
static __device__ void
multiply_step(warp_sums &s, const E *a, const E *b, bool bias_sums)
{
    constexpr int LD_A = (A_TRANS ? BM : BK) + PAD, LD_B = (B_TRANS ? BK : BN) + PAD;
    int warp = threadIdx.x / WARP, row = warp / 4 * WM, column = warp % 4 * WN;
    int lane = threadIdx.x % WARP, low = lane % 16, high = lane / 16 * 8;
    int eighth = lane % 8 + high, side = lane / 8 % 2 * 8;  // the other order of 8 x 8
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
        unsigned fa[MMAS_DOWN][4], fb[MMAS_ACROSS / 2][4];  // fb: two mma of 8 columns
#pragma unroll
        for (int i = 0; i < MMAS_DOWN; i++) {
            int m = row + i * 16;
            if (A_TRANS)
                ldmatrix_trans(fa[i], a + (k + eighth) * LD_A + m + side);
            else
                ldmatrix(fa[i], a + (m + low) * LD_A + k + high);
        }
#pragma unroll
        for (int j = 0; j < MMAS_ACROSS / 2; j++) {
            int n = column + j * 16;
            if (B_TRANS)
                ldmatrix(fb[j], b + (n + eighth) * LD_B + k + side);
            else
                ldmatrix_trans(fb[j], b + (k + low) * LD_B + n + high);
        }
#pragma unroll
        for (int i = 0; i < MMAS_DOWN; i++)
#pragma unroll
            for (int j = 0; j < MMAS_ACROSS; j++)
                mma<E>(s.c[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        if (!bias_sums || row > 0) continue;
        unsigned one = pack2<E>(1.0f, 1.0f), ones[4] = {one, one, one, one};
#pragma unroll
        for (int j = 0; j < MMAS_ACROSS; j++)
            mma<E>(s.bias[j], ones, fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
}

/* Whether this warp has results inside the matrix. From the tile's first element on, the
 * matrix has `rows` more rows, and `columns` of each `part` columns. */
static __device__ bool has_results(size_t rows, int columns, int part)
{
    int warp = threadIdx.x / WARP;
    return (size_t)(warp / 4 * WM) < rows && warp % 4 * WN % part < columns;
}

/* The whole sum over the terms begin to end-1; with a2 and b2 also over as many terms of
 * a second pair of operands, of the same shape. Warps that are not `active`, whose
 * results all lie outside the matrix, only help to copy. */
template <bool A_TRANS, bool B_TRANS, typename E, int BK>
static __device__ void gemm(
    warp_sums &s, gemm_smem<E, BK> &smem, operand<E> a, operand<E> b, const E *a2,
    const E *b2, int row, int column, int begin, int end, bool active, bool bias_sums)
{
    tile_loader<A_TRANS ? BK : BM, A_TRANS ? BM : BK, !A_TRANS, E> la;
    tile_loader<B_TRANS ? BN : BK, B_TRANS ? BK : BN, B_TRANS, E> lb;
    int each = (end - begin + BK - 1) / BK, steps = a2 ? 2 * each : each;
    start_at(la, a, A_TRANS ? begin : row, A_TRANS ? row : begin);
    start_at(lb, b, B_TRANS ? column : begin, B_TRANS ? begin : column);
    for (int n = 1 - STAGES; n < steps; n++) {
        if (n >= 0) {
            cp_async_wait<STAGES - 2>();
            __syncthreads();  // step n is loaded; the buffer of step n - 1 is free
        }
        int next = n + STAGES - 1;
        if (a2 && next == each) {
            a.x = a2, b.x = b2;
            start_at(la, a, A_TRANS ? begin : row, A_TRANS ? row : begin);
            start_at(lb, b, B_TRANS ? column : begin, B_TRANS ? begin : column);
        }
        if (next < steps) {
            load_tile(smem.stage[next % STAGES].a, la, a);
            load_tile(smem.stage[next % STAGES].b, lb, b);
        }
        cp_async_commit();
        auto &now = smem.stage[(n + STAGES) % STAGES];
        if (n >= 0 && active)
            multiply_step<A_TRANS, B_TRANS, BK>(s, now.a, now.b, bias_sums);
    }
    __syncthreads();  // the buffers are free for the results
}

/* Passes 16 rows of a warp's results, row i of its mma, through shared memory: each lane
 * calls use(row, column, float[8]) for some runs of 8 neighbours; row and column count
 * within the tile of the block. */
template <typename Use>
static __device__ __forceinline__ void
for_each_run(const float (&c)[MMAS_ACROSS][4], float *result, int i, Use use)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int j = 0; j < MMAS_ACROSS; j++)
        for (int e = 0; e < 4; e += 2)
            store_vec(
                result + (lane / 4 + e * 4) * LD_RESULT + j * 8 + lane % 4 * 2,
                vec<float, 2>{{c[j][e], c[j][e + 1]}});
    __syncwarp();  // the results are in shared memory
    for (int k = 0; k < WN / 16; k++) {
        int r = lane / 4 + k % 2 * 8, n = lane % 4 * 8 + k / 2 * 32;
        float v[8];
        for (int half = 0; half < 8; half += 4) {
            vec<float, 4> four = load_vec<4>(result + r * LD_RESULT + n + half);
            for (int j = 0; j < 4; j++)
                v[half + j] = four[j];
        }
        use(warp / 4 * WM + i * 16 + r, warp % 4 * WN + n, v);
    }
    __syncwarp();  // and read
}

/* v[j] += p[j], j < n <= 8. vector: 16 bytes at p may be read at a time. */
template <typename E>
static __device__ __forceinline__ void add_run(float *v, const E *p, int n, bool vector)
{
    vec<E, VEC16<E>> y = {};
    if (vector)
        y = load_vec<VEC16<E>>(p);
    else
        for (int j = 0; j < VEC16<E>; j++)
            if (j < n) y[j] = p[j];
    for (int j = 0; j < VEC16<E>; j++)
        v[j] += (float)y[j];
}

/* p[j] = v[j], j < n <= 8, rounded to T */
template <typename T>
static __device__ __forceinline__ void
store_run(T *p, const float *v, int n, bool vector)
{
    constexpr int N = VEC16<T>;
    for (int i = 0; i < 8; i += N) {
        if (vector)
            store_float<N>(p + i, v + i);
        else
            for (int j = 0; j < N; j++)
                if (i + j < n) p[i + j] = (T)v[i + j];
    }
}
// END SOLUTION
#endif
