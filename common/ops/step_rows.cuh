/* step_rows.cuh - up to 64 rows of x: tensor cores, so that every weight is read once.
 *
 *     OUTS outputs x 64 columns of w, and the same columns of x, are a stage; STAGES of
 *     them are in shared memory, all but one on their way. A stage has 8 pieces of 16
 *     bytes a row, piece c of row r at place c ^ r % 8: no two rows of a load share banks.
 *
 * A block goes through the columns of its outputs, or, where there are too few outputs for
 * all multiprocessors, through a part of them: `parts` blocks then leave their sums in
 * scratch, and the last of them adds them up, always in the same order.
 *
 * The norm needs no pass of its own (see step_calls.cuh): u = x (offset + norm) is made when a
 * fragment of x is in registers, as two 16-bit numbers, high + low, or its rounding would
 * show. Sums of x^2 come along.
 */
#ifndef STEP_ROWS_CUH
#define STEP_ROWS_CUH
#include "early.cuh"
#include "step.cuh"

constexpr int OUTS = 128, COLUMNS = 64, PIECES = COLUMNS / 8;  // of a stage
constexpr int MOST_ROWS = 64;
constexpr int SUM_PITCH = OUTS + 4;  // floats: neighbouring rows begin in other banks

/* NT: tiles of 8 rows of x */
template <int NT> struct rows_shape {
    static constexpr int ROWS = NT * 8;
    static constexpr int MT = NT == 8 ? 2 : 4;        // 16-output tiles of a warp
    static constexpr int OUT_WARPS = OUTS / 16 / MT;  // warps beside each other,
    static constexpr int DEEP = WARPS / OUT_WARPS;    // and those that share columns
    static constexpr int STAGE = (OUTS + ROWS + 1) * PIECES;  // of 16 bytes; 1: the norm
    static constexpr int STAGES = NT == 8 ? 3 : NT == 4 ? 4 : 5;
    static constexpr int BYTES = STAGES * STAGE * 16 + ROWS * SUM_PITCH * 4;
};

/* Which part of the product a block has */
struct share {
    int tiles, parts;   // of the outputs, of the columns
    int stages;         // of a part, at most
    float *scratch;     // (tiles,parts,ROWS,OUTS + 1): sums, and those of squares
    unsigned *arrived;  // (tiles), 0 between calls
};

/* u is made in this unit so that x (offset + norm) stays in the range of f16 */
template <typename E> __device__ constexpr float scale_of(void)
{
    return 1.0f;
}
template <> __device__ constexpr float scale_of<wb_f16>(void)
{
    return 0x1p-6f;
}

static __device__ __forceinline__ float2 unpack(unsigned two, wb_bf16)
{
    return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
}
static __device__ __forceinline__ float2 unpack(unsigned two, wb_f16)
{
    return __half22float2(*(const __half2 *)&two);
}

/* Two neighbours of x to those of u: high and low part; their squares are added. */
template <typename E>
static __device__ __forceinline__ void
normed(unsigned &high, unsigned &low, unsigned norm, float offset, float &squares)
{
    float2 x = unpack(high, E()), f = unpack(norm, E());
    squares += x.x * x.x + x.y * x.y;
    x.x *= (offset + f.x) * scale_of<E>(), x.y *= (offset + f.y) * scale_of<E>();
    high = pack_two<E>(x.x, x.y);
    float2 rounded = unpack(high, E());
    low = pack_two<E>(x.x - rounded.x, x.y - rounded.y);
}

/* Piece c of row r of a stage's matrix */
static __device__ __forceinline__ uint4 *piece(uint4 *matrix, int r, int c)
{
    return matrix + r * PIECES + (c ^ r % 8);
}

/* The copies of a block, one stage at a time */
template <typename E, int GATES, int NT> struct copier {
    const E *x, *w, *norm;
    step z;
    int tile, tile_stride, tiles, column, first_column, end_column;

    __device__ bool more(void) const
    {
        return tile < tiles;
    }
    __device__ void copy_weights(uint4 *stage) const
    {
        int c = threadIdx.x % PIECES, k = column + c * 8, OUT = OUTS / GATES;
#pragma unroll
        for (int i = 0; i < OUTS; i += BLOCK / PIECES) {
            int r = threadIdx.x / PIECES + i, o = tile * OUT + r % OUT;
            bool there = o < z.O && k < z.I;
            size_t at = ((size_t)(r / OUT) * z.O + o) * z.I + k;
            copy_async(piece(stage, r, c), w + (there ? at : 0), there);
        }
        if (norm && threadIdx.x < PIECES)
            copy_async(
                stage + (OUTS + NT * 8) * PIECES + c, norm + (k < z.I ? k : 0), k < z.I);
    }
    __device__ void copy_x(uint4 *stage) const
    {
        int c = threadIdx.x % PIECES, k = column + c * 8;
        for (int r = threadIdx.x / PIECES; r < NT * 8; r += BLOCK / PIECES) {
            bool there = r < z.R && k < z.I;
            copy_async(
                piece(stage + OUTS * PIECES, r, c), x + (there ? (size_t)r * z.I + k : 0),
                there);
        }
    }
    __device__ void next(void)
    {
        column += COLUMNS;
        if (column >= end_column) column = first_column, tile += tile_stride;
    }
};

/* The 16 columns from piece 2k on: sum += w u^T for this warp's outputs and all rows */
template <typename E, int NT, bool NORM>
static __device__ __forceinline__ void multiply_columns(
    float (&sum)[rows_shape<NT>::MT][NT][4], float (&squares)[NT], uint4 *stage, int k,
    int out0, float offset)
{
    constexpr int MT = rows_shape<NT>::MT, ROWS = NT * 8;
    int lane = threadIdx.x % 32;
    unsigned a[MT][4];
#pragma unroll
    for (int m = 0; m < MT; m++)
        load_matrices(a[m], piece(stage, out0 + m * 16 + lane % 16, 2 * k + lane / 16));
    const unsigned *f = (const unsigned *)(stage + (OUTS + ROWS) * PIECES) + k * 8;
    unsigned f0 = NORM ? f[lane % 4] : 0, f1 = NORM ? f[lane % 4 + 4] : 0;
#pragma unroll
    for (int n = 0; n < NT; n += 2) {
        unsigned b[4], low[4];
        int row = (n * 8 + lane / 16 * 8) % ROWS + lane % 8;
        load_matrices(b, piece(stage + OUTS * PIECES, row, 2 * k + lane / 8 % 2));
#pragma unroll
        for (int j = 0; j < 2 && n + j < NT; j++) {
            if (NORM) {
                normed<E>(b[2 * j], low[2 * j], f0, offset, squares[n + j]);
                normed<E>(b[2 * j + 1], low[2 * j + 1], f1, offset, squares[n + j]);
            }
#pragma unroll
            for (int m = 0; m < MT; m++) {
                multiply_add<E>(sum[m][n + j], a[m], b[2 * j], b[2 * j + 1]);
                if (NORM)
                    multiply_add<E>(sum[m][n + j], a[m], low[2 * j], low[2 * j + 1]);
            }
        }
    }
}

/* The warps' sums of a tile into total[row][output], one depth after the other; row r's
 * sum of squares lies behind its outputs. */
template <int NT>
static __device__ void gather_sums(
    float *total, float (&sum)[rows_shape<NT>::MT][NT][4], float (&squares)[NT], int out0,
    int depth)
{
    constexpr int MT = rows_shape<NT>::MT;
    int lane = threadIdx.x % 32, row = lane % 4 * 2, out = out0 + lane / 4;
    for (int d = 0; d < rows_shape<NT>::DEEP; d++) {
        if (d == depth) {
#pragma unroll
            for (int n = 0; n < NT; n++) {
#pragma unroll
                for (int m = 0; m < MT; m++)
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        float *to = total + (n * 8 + row + i % 2) * SUM_PITCH + out +
                                    m * 16 + i / 2 * 8;
                        *to = d ? *to + sum[m][n][i] : sum[m][n][i];
                    }
                float s = squares[n];
                s += __shfl_xor_sync(~0u, s, 1);
                s += __shfl_xor_sync(~0u, s, 2);
                float *to = total + (n * 8 + lane / 4) * SUM_PITCH + OUTS;
                if (out0 == 0 && lane % 4 == 0) *to = d ? *to + s : s;
            }
        }
        __syncthreads();  // the sums of depths up to d are in total
    }
}

/* Leaves this part's sums in scratch. In the last block of the tile: all parts' sums come
 * back in total, and the answer is true. */
static __device__ bool
join_parts(float *total, int rows, int tile, int part, const share &s)
{
    constexpr int WIDTH = OUTS + 1;
    __shared__ bool last;
    size_t each = (size_t)rows * WIDTH;
    float *of_tile = s.scratch + (size_t)tile * s.parts * each;
    for (int i = threadIdx.x; i < (int)each; i += BLOCK)
        of_tile[part * each + i] = total[i / WIDTH * SUM_PITCH + i % WIDTH];
    __threadfence();
    __syncthreads();  // the whole part is in scratch
    if (threadIdx.x == 0) last = atomicAdd(&s.arrived[tile], 1u) == (unsigned)s.parts - 1;
    __syncthreads();  // last is known
    if (!last) return false;
    __threadfence();
    for (int i = threadIdx.x; i < (int)each; i += BLOCK) {
        float sum = 0.0f;
        for (int p = 0; p < s.parts; p++)
            sum += __ldcg(of_tile + p * each + i);
        total[i / WIDTH * SUM_PITCH + i % WIDTH] = sum;
    }
    if (threadIdx.x == 0) s.arrived[tile] = 0;  // for the next call
    __syncthreads();                            // all sums are in total
    return true;
}

/* total to out: rstd, bias, activation, residual */
template <typename E, typename Out, int GATES, bool NORM>
static __device__ void finish_tile(
    Out *out, const float *total, const E *bias, const E *res, const step &z, int act,
    int tile)
{
    constexpr int OUT = OUTS / GATES;
    int j = threadIdx.x % OUT, o = tile * OUT + j;
    if (o >= z.O) return;
    float addend[GATES] = {};
    for (int g = 0; bias && g < GATES; g++)
        addend[g] = (float)bias[(size_t)g * z.O + o];
    for (int r = threadIdx.x / OUT; r < z.R; r += BLOCK / OUT) {
        const float *row = total + r * SUM_PITCH;
        float rstd = NORM ? rsqrtf(row[OUTS] / (float)z.I + z.eps) / scale_of<E>() : 1.0f;
        size_t at = (size_t)r * z.O + o;
        float y = row[j] * rstd + addend[0];
        if (GATES == 2) y = activated(act, y) * (row[j + OUT] * rstd + addend[GATES - 1]);
        if (res) y += (float)res[at];
        out[at] = Out(y);
    }
}

template <typename E, typename Out, int GATES, int NT, bool NORM>
static __global__ void __launch_bounds__(BLOCK, 2) rows_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act, share s)
{
    using shape = rows_shape<NT>;
    constexpr int STAGES = shape::STAGES, MT = shape::MT;
    extern __shared__ uint4 shared[];
    float *total = (float *)(shared + STAGES * shape::STAGE);
    int warp = threadIdx.x / 32, out0 = warp % shape::OUT_WARPS * MT * 16;
    int depth = warp / shape::OUT_WARPS, part = blockIdx.x % s.parts;
    int first = part * s.stages * COLUMNS, end = min(z.I, first + s.stages * COLUMNS);
    copier<E, GATES, NT> from = {
        x,       w,     norm,  z,  (int)blockIdx.x / s.parts, (int)gridDim.x / s.parts,
        s.tiles, first, first, end};
    let_next_kernel_start();
    copier<E, GATES, NT> ahead = from;
    for (int k = 0; k < STAGES - 1; k++, ahead.next())
        if (ahead.more()) ahead.copy_weights(shared + k * shape::STAGE);
    wait_for_kernel_before();
    ahead = from;
    for (int k = 0; k < STAGES - 1; k++, ahead.next()) {
        if (ahead.more()) ahead.copy_x(shared + k * shape::STAGE);
        copy_commit();
    }

    float sum[MT][NT][4] = {}, squares[NT] = {};
    for (int slot = 0; from.more(); from.next()) {
        copy_wait<STAGES - 2>();
        __syncthreads();  // this stage is there, and nobody reads the one before it
        int free = (slot + STAGES - 1) % STAGES;
        if (ahead.more()) {
            ahead.copy_weights(shared + free * shape::STAGE);
            ahead.copy_x(shared + free * shape::STAGE);
            ahead.next();
        }
        copy_commit();
        uint4 *stage = shared + slot * shape::STAGE;
#pragma unroll
        for (int k = 0; k < COLUMNS / 16 / shape::DEEP; k++)
            multiply_columns<E, NT, NORM>(
                sum, squares, stage, depth + k * shape::DEEP, out0, z.offset);
        slot = slot + 1 == STAGES ? 0 : slot + 1;
        if (from.column + COLUMNS < from.end_column) continue;

        gather_sums<NT>(total, sum, squares, out0, depth);
        if (s.parts == 1 || join_parts(total, shape::ROWS, from.tile, part, s))
            finish_tile<E, Out, GATES, NORM>(out, total, bias, res, z, act, from.tile);
#pragma unroll
        for (int n = 0; n < NT; n++) {
            squares[n] = 0.0f;
#pragma unroll
            for (int m = 0; m < MT; m++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sum[m][n][i] = 0.0f;
        }
    }
}

#endif
