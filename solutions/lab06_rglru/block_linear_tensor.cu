/* block_linear_tensor.cu - lab 06, part 06.7: the matrices of both gates in f16 and bf16, on
 * tensor cores. The contract is rglru.h. */
#include "rglru_contract.cuh"
#include "rglru_shared.cuh"

// BEGIN SOLUTION 06.7 (nothing but the kernels of 06.1, as templates, in a first version)
//> // TODO(06.7): the kernels of block_linear.cu, as templates, pass here too: copy them. On
//> // tensor cores (nvcuda::wmma, or tensor_cores.cuh of lab 05) they are ten times as fast.
/* The three products of block_linear.cu once more, with larger tiles: 8 warps make 128 x 128
 * results, 64 x 32 a warp, from steps of 64 terms. Sums are float throughout. The tensor
 * cores are fed by the instructions of lab 05's tensor_cores.cuh. Copies into shared memory
 * run a step ahead of them, into the other of two buffers, so that a step costs one barrier.
 * Addresses, copies and loads of fragments stand in line with the products, so what can be
 * known when the kernel is compiled, or before the sum begins, is. */
#include "tensor_cores.cuh"  // of lab 05

constexpr int ROWS = 128, COLUMNS = 128;  // of a block's results
constexpr int HALF = COLUMNS / 2;         // columns of one gate
constexpr int STEP = 64;                  // terms of the sums that a buffer has
constexpr int STAGES = 2;                 // buffers
constexpr int WARPS = 8;                  // two rows of four
constexpr int BLOCK = WARPS * WARP;
constexpr int RESIDENT = 2;                         // blocks on a multiprocessor
constexpr int HIGH = ROWS / 2, WIDE = COLUMNS / 4;  // a warp's results
constexpr int DOWN = HIGH / 16, ACROSS = WIDE / 8;  // in pieces of 16 x 8: an instruction

/* Distance of rows in shared memory, of terms and of results of either factor, and of floats
 * on their way out: with 16 bytes more, eight accesses of 16 bytes lie in different banks. */
constexpr int SHORT = STEP + 8, LONG_A = ROWS + 8, LONG_B = COLUMNS + 8, EDGE = WIDE + 4;

/* Both factors of two steps, each with room for either way to lie; when all is summed, 16
 * rows of results of each warp. */
template <typename E> union buffers {
    struct {
        E a[ROWS * SHORT], b[COLUMNS * SHORT];
    } step[STAGES];
    float result[WARPS][16 * EDGE];
};
static_assert(STEP * LONG_A <= ROWS * SHORT && STEP * LONG_B <= COLUMNS * SHORT, "room");

/* A factor of a product as it lies in memory: `rows` rows, `ld` apart, of `columns` numbers.
 * `second`, if any, is a matrix of the same kind for the second half of a tile's columns. */
template <typename E> struct factor {
    const E *x, *second;
    size_t ld;
    int rows, columns;
    bool vectors;  // rows start at 16 bytes and have whole vectors; known when compiled
};

/* A thread's part in copying tiles of LINES rows of LINE numbers, one after another along
 * the terms: one vector in every APART rows. What can be is computed once: a step has few
 * instructions to spare for addresses. */
template <int LINES, int LINE, typename E> struct copier {
    static constexpr int N = vec<E>::N, APART = BLOCK * N / LINE;
    const E *from;           // the first one of the next tile
    int row, column, place;  // of it in the matrix; where it goes in the tile
};

template <int LINES, int LINE, typename E>
static __device__ void
start(copier<LINES, LINE, E> &c, const factor<E> &f, int row, int column)
{
    int y = threadIdx.x / (LINE / c.N), x = threadIdx.x % (LINE / c.N) * c.N;
    bool second = f.second && x >= LINE / 2;
    c.row = row + y;
    c.column = column + (second ? x - LINE / 2 : x);
    c.from = (second ? f.second : f.x) + c.row * f.ld + c.column;
    c.place = y * (LINE + 8) + x;
}

/* Begins to copy the next tile; 0 beyond the matrix. What is not in vectors is copied at
 * once, which is slow and rare. */
template <int LINES, int LINE, typename E>
static __device__ void fetch(E *to, copier<LINES, LINE, E> &c, const factor<E> &f)
{
#pragma unroll
    for (int y = 0; y < LINES; y += c.APART) {
        bool in = c.row + y < f.rows && c.column < f.columns;
        const E *from = c.from + y * f.ld;
        E *at = to + c.place + y * (LINE + 8);
        if (f.vectors)
            copy_async(at, in ? from : f.x, in);
        else
            for (int j = 0; j < c.N; j++)
                at[j] = in && c.column + j < f.columns ? from[j] : (E)0.0f;
    }
    if (LINE == STEP)  // terms lie side by side
        c.column += STEP, c.from += STEP;
    else
        c.row += STEP, c.from += STEP * f.ld;
}

/* What a warp has summed: its results, and the column sums for the biases. */
struct sums {
    float at[DOWN][ACROSS][4], bias[ACROSS][4];
};

/* One step. a lies as rows of results, or, AT, as rows of terms; b as rows of terms, or, BT,
 * as rows of results. The column sums of b are a product too: with a matrix of ones. */
template <bool AT, bool BT, typename E>
static __device__ void multiply(sums &s, const E *a, const E *b, bool biases)
{
    int warp = threadIdx.x / WARP, row = warp / 4 * HIGH, column = warp % 4 * WIDE;
    int lane = threadIdx.x % WARP, low = lane % 16, high = lane / 16 * 8;
    int eighth = lane % 8 + high, side = lane / 8 % 2 * 8;  // the other order of 8 x 8
#pragma unroll
    for (int k = 0; k < STEP; k += 16) {
        unsigned fa[DOWN][4], fb[ACROSS / 2][4];  // fb: two pieces of 8 columns each
#pragma unroll
        for (int i = 0; i < DOWN; i++) {
            int m = row + i * 16;
            if (AT)
                load_matrices_transposed(fa[i], a + (k + eighth) * LONG_A + m + side);
            else
                load_matrices(fa[i], a + (m + low) * SHORT + k + high);
        }
#pragma unroll
        for (int j = 0; j < ACROSS / 2; j++) {
            int n = column + j * 16;
            if (BT)
                load_matrices(fb[j], b + (n + eighth) * SHORT + k + side);
            else
                load_matrices_transposed(fb[j], b + (k + low) * LONG_B + n + high);
        }
#pragma unroll
        for (int i = 0; i < DOWN; i++)
#pragma unroll
            for (int j = 0; j < ACROSS; j++)
                multiply_add<E>(
                    s.at[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        if (!biases || row > 0) continue;
        unsigned one = pack<E>(1.0f, 1.0f), ones[4] = {one, one, one, one};
#pragma unroll
        for (int j = 0; j < ACROSS; j++)
            multiply_add<E>(
                s.bias[j], ones, fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
}

/* Whether this warp has results within the matrix: `rows` rows are left from the tile's first
 * on, and `columns` of each `part` columns. */
static __device__ bool is_busy(size_t rows, int columns, int part)
{
    int warp = threadIdx.x / WARP;
    return (size_t)(warp / 4 * HIGH) < rows && warp % 4 * WIDE % part < columns;
}

/* The whole sum over the terms begin to end-1, and, where there is an a2, over as many of
 * a second pair of factors, which differs from the first in its place only. Warps that are
 * not `busy`, all of whose results lie beyond the matrix, only help to copy. */
template <bool AT, bool BT, typename E>
static __device__ void sum_up(
    sums &s, buffers<E> &buffer, factor<E> a, factor<E> b, const E *a2, const E *b2,
    int row, int column, int begin, int end, bool busy, bool biases)
{
    copier<AT ? STEP : ROWS, AT ? ROWS : STEP, E> ca;
    copier<BT ? COLUMNS : STEP, BT ? STEP : COLUMNS, E> cb;
    int each = (end - begin + STEP - 1) / STEP, steps = a2 ? 2 * each : each;
    start(ca, a, AT ? begin : row, AT ? row : begin);
    start(cb, b, BT ? column : begin, BT ? begin : column);
    for (int n = 1 - STAGES; n < steps; n++) {
        if (n >= 0) {
            copy_wait<STAGES - 2>();
            __syncthreads();  // step n is there, and step n - 1 no longer needed
        }
        int next = n + STAGES - 1;
        if (a2 && next == each) {
            a.x = a2, b.x = b2;
            start(ca, a, AT ? begin : row, AT ? row : begin);
            start(cb, b, BT ? column : begin, BT ? begin : column);
        }
        if (next < steps) {
            fetch(buffer.step[next % STAGES].a, ca, a);
            fetch(buffer.step[next % STAGES].b, cb, b);
        }
        copy_commit();
        auto &now = buffer.step[(n + STAGES) % STAGES];
        if (n >= 0 && busy) multiply<AT, BT>(s, now.a, now.b, biases);
    }
    __syncthreads();  // the buffers are free for the results
}

/* Hands out 16 rows of a warp's results, piece i of them: each lane gets some stretches of 8
 * neighbours in turn, as use(row, column, float[8]), both counted within the tile. */
template <typename Use>
static __device__ __forceinline__ void
hand_out(const float (&at)[ACROSS][4], float *result, int i, Use use)
{
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int j = 0; j < ACROSS; j++)
        for (int e = 0; e < 4; e += 2)
            *(vec<float, 2>
                  *)(result + (lane / 4 + e * 4) * EDGE + j * 8 + lane % 4 * 2) = {
                {at[j][e], at[j][e + 1]}};
    __syncwarp();  // the results are there
    for (int k = 0; k < WIDE / 16; k++) {
        int r = lane / 4 + k % 2 * 8, c = lane % 4 * 8 + k / 2 * 32;
        float v[8];
        for (int half = 0; half < 8; half += 4) {
            vec<float> four = *(const vec<float> *)(result + r * EDGE + c + half);
            for (int j = 0; j < 4; j++)
                v[half + j] = four.at[j];
        }
        use(warp / 4 * HIGH + i * 16 + r, warp % 4 * WIDE + c, v);
    }
    __syncwarp();  // and taken
}

/* v += n of 8 numbers at p, which `vector` says can be read 16 bytes at a time */
template <typename E>
static __device__ __forceinline__ void add(float *v, const E *p, int n, bool vector)
{
    vec<E> y = {};
    if (vector)
        y = *(const vec<E> *)p;
    else
        for (int j = 0; j < vec<E>::N; j++)
            if (j < n) y.at[j] = p[j];
    for (int j = 0; j < vec<E>::N; j++)
        v[j] += (float)y.at[j];
}

/* n of 8 numbers to p, rounded to T, the same way */
template <typename T>
static __device__ __forceinline__ void put(T *p, const float *v, int n, bool vector)
{
    constexpr int N = vec<T>::N;
    for (int i = 0; i < 8; i += N) {
        vec<T> y;
        for (int j = 0; j < N; j++)
            y.at[j] = (T)v[i + j];
        if (vector)
            *(vec<T> *)(p + i) = y;
        else
            for (int j = 0; j < N; j++)
                if (i + j < n) p[i + j] = y.at[j];
    }
}

template <typename E, bool VECTORS>
static __global__ void __launch_bounds__(BLOCK, RESIDENT) both_gates(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    extern __shared__ __align__(16) unsigned char memory[];
    buffers<E> &buffer = *(buffers<E> *)memory;
    int across = (M + HALF - 1) / HALF, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * ROWS, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * HALF;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    factor<E> a = {c + first, NULL, C, R, M, VECTORS};
    factor<E> b = {wx + matrix, wa + matrix, (size_t)M, M, M, VECTORS};
    sums s = {};
    bool busy = is_busy(R - row, M - column, HALF);
    sum_up<false, false, E>(
        s, buffer, a, b, NULL, NULL, (int)row, column, 0, M, busy, false);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(
            s.at[i], buffer.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                const E *bias = n < HALF ? bx : ba;
                E *out = n < HALF ? px : pa;
                int j = column + n % HALF;
                if (row + r >= (size_t)R || j >= M) return;
                add(v, bias + first + j, M - j, VECTORS);
                put(out + (row + r) * C + first + j, v, M - j, VECTORS);
            });
}

/* dc may be dc_in: a lane reads what it replaces. */
template <typename E, bool VECTORS>
static __global__ void __launch_bounds__(BLOCK, RESIDENT) dc_tile(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M)
{
    extern __shared__ __align__(16) unsigned char memory[];
    buffers<E> &buffer = *(buffers<E> *)memory;
    int across = (M + COLUMNS - 1) / COLUMNS, g = blockIdx.x / across % G;
    size_t row = (size_t)(blockIdx.x / across / G) * ROWS, C = (size_t)G * M;
    int column = (int)(blockIdx.x % across) * COLUMNS;
    size_t matrix = (size_t)g * M * M, first = (size_t)g * M;
    factor<E> a = {dpx + first, NULL, C, R, M, VECTORS};
    factor<E> b = {wx + matrix, NULL, (size_t)M, M, M, VECTORS};
    sums s = {};
    bool busy = is_busy(R - row, M - column, COLUMNS);
    sum_up<false, true>(
        s, buffer, a, b, dpa + first, wa + matrix, (int)row, column, 0, M, busy, false);
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(
            s.at[i], buffer.result[threadIdx.x / WARP], i, [&](int r, int n, float *v) {
                int j = column + n;
                size_t at = (row + r) * C + first + j;
                if (row + r >= (size_t)R || j >= M) return;
                if (dc_in) add(v, dc_in + at, M - j, VECTORS);
                put(dc + at, v, M - j, VECTORS);
            });
}

/* Rows of part blockIdx.y. A part of `partial` is laid out as in block_linear.cu: (2,G,M,M)
 * for dwx and dwa, (2,G,M) for dbx and dba. */
template <typename E, bool VECTORS>
static __global__ void __launch_bounds__(BLOCK, RESIDENT) dw_tile(
    float *partial, const E *c, const E *dpx, const E *dpa, int R, int G, int M, int rows)
{
    extern __shared__ __align__(16) unsigned char memory[];
    buffers<E> &buffer = *(buffers<E> *)memory;
    int across = (M + HALF - 1) / HALF, down = (M + ROWS - 1) / ROWS;
    int column = blockIdx.x % across * HALF, row = blockIdx.x / across % down * ROWS;
    size_t g = blockIdx.x / across / down, C = (size_t)G * M, first = g * M;
    size_t begin = (size_t)blockIdx.y * rows, end = begin + rows;
    if (end > (size_t)R) end = R;
    factor<E> a = {c + first, NULL, C, (int)end, M, VECTORS};
    factor<E> b = {dpx + first, dpa + first, C, (int)end, M, VECTORS};
    sums s = {};
    bool busy = is_busy(M - row, M - column, HALF);
    sum_up<true, false, E>(
        s, buffer, a, b, NULL, NULL, row, column, (int)begin, (int)end, busy, row == 0);
    partial += blockIdx.y * (2 * C * M + 2 * C);
    float *result = buffer.result[threadIdx.x / WARP];
#pragma unroll
    for (int i = 0; i < DOWN; i++)
        hand_out(s.at[i], result, i, [&](int r, int n, float *v) {
            int m = row + r, j = column + n % HALF;
            float *to = partial + ((n / HALF * G + g) * M + m) * M + j;
            if (m < M && j < M) put(to, v, M - j, VECTORS);
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
    size_t down = ((size_t)R + ROWS - 1) / ROWS, across = (M + columns - 1) / columns;
    return (unsigned)(down * G * across);
}

/* Lets a kernel have the buffers, which are more than the 48 KB that need no word. */
template <typename E, typename Kernel> static size_t room_for(Kernel *kernel)
{
    cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(buffers<E>));
    return sizeof(buffers<E>);
}

constexpr size_t LEAST = 256;     // rows of a part of the sums for dw
constexpr size_t MOST = 4 << 20;  // partial sums in all
constexpr size_t FEW = 2;         // parts, also of large matrices
// END SOLUTION

template <typename E>
static wb_status block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    // BEGIN SOLUTION 06.7 (as in 06.1)
    //> // TODO(06.7): launch both_gates, then return wb_launched().
    //> return WB_TODO;
    bool vectors = M % vec<E>::N == 0 && aligned(16, px, pa, c, wx, wa, bx, ba);
    auto kernel = vectors ? both_gates<E, true> : both_gates<E, false>;
    size_t space = room_for<E>(kernel);
    kernel<<<blocks_for(R, G, M, HALF), BLOCK, space, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
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
    auto products = vectors ? dc_tile<E, true> : dc_tile<E, false>;
    size_t space = room_for<E>(products);
    products<<<blocks_for(R, G, M, COLUMNS), BLOCK, space, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M);
    size_t C = (size_t)G * M, sums = 2 * C * (M + 1);
    int P = parts_for(R, sums, LEAST, MOST, FEW), rows = (R + P - 1) / P;
    P = (R + rows - 1) / rows;
    dim3 grid((M + HALF - 1) / HALF * ((M + ROWS - 1) / ROWS) * G, P);
    auto outer = vectors ? dw_tile<E, true> : dw_tile<E, false>;
    room_for<E>(outer);
    outer<<<grid, BLOCK, space, stream>>>(partial, c, dpx, dpa, R, G, M, rows);
    launch_add({{dwx, dwa, dbx, dba}, {C * M, C * M, C, C}}, partial, P, stream);
    return wb_launched();
    // END SOLUTION
}

DEFINE_BLOCK_LINEAR(wb_f16, f16)
DEFINE_BLOCK_LINEAR(wb_bf16, bf16)
