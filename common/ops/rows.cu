/* rows.cu - rows of a table: embedding, its gradient, gather. */
#include "cuda/pdl.cuh"
#include "elements.cuh"
#include "ops.h"

/* A block copies a few rows: threadIdx.x runs along a row, threadIdx.y over rows. */
struct row_shape {
    dim3 block;
    unsigned blocks;
};
static row_shape shape_for(int R, int vecs)
{
    unsigned lanes = 8;
    while (lanes < (unsigned)vecs && lanes < BLOCK_SIZE)
        lanes *= 2;
    unsigned rows = BLOCK_SIZE / lanes;
    return {dim3(lanes, rows), ((unsigned)R + rows - 1) / rows};
}

/* --- forward ------------------------------------------------------------------------ */

template <typename E, int V>
static __global__ void
embedding_kernel(E *out, const E *table, const int *token, int R, int C, float scale)
{
    pdl_trigger();
    pdl_wait();
    int r = (int)(blockIdx.x * blockDim.y + threadIdx.y);  // [0, R)
    if (r >= R) return;
    const E *from = table + (size_t)token[r] * C;
    E *to = out + (size_t)r * C;
    scale_row<V>(to, from, C, scale);
}

template <typename E>
static wb_status embedding_forward(
    E *out, const E *table, const int *token, int R, int C, int V, float scale,
    cudaStream_t s)
{
    if (R < 0 || C < 0 || V < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    if (!out || !table || !token || V == 0) return WB_BAD_SHAPE;
    const int P = VEC16<E>;
    if (C % P == 0 && has_vecs<P>(out, table)) {
        row_shape shape = shape_for(R, C / P);
        launch_pdl(
            embedding_kernel<E, P>, shape.blocks, shape.block, 0, s, out, table, token, R,
            C, scale);
    } else {
        row_shape shape = shape_for(R, C);
        launch_pdl(
            embedding_kernel<E, 1>, shape.blocks, shape.block, 0, s, out, table, token, R,
            C, scale);
    }
    return wb_launched();
}

template <typename E, int V>
static __global__ void gather_kernel(E *out, const E *x, const int *index, int R, int C)
{
    int r = (int)(blockIdx.x * blockDim.y + threadIdx.y);  // [0, R)
    if (r >= R || index[r] < 0) return;
    const E *from = x + (size_t)index[r] * C;
    E *to = out + (size_t)r * C;
    for (int c = (int)threadIdx.x * V; c < C; c += (int)blockDim.x * V)
        store_vec(to + c, load_vec<V>(from + c));
}

template <typename E>
static wb_status
gather_rows(E *out, const E *x, const int *index, int R, int C, cudaStream_t s)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    if (!out || !x || !index) return WB_BAD_SHAPE;
    const int P = VEC16<E>;
    if (C % P == 0 && has_vecs<P>(out, x)) {
        row_shape shape = shape_for(R, C / P);
        gather_kernel<E, P><<<shape.blocks, shape.block, 0, s>>>(out, x, index, R, C);
    } else {
        row_shape shape = shape_for(R, C);
        gather_kernel<E, 1><<<shape.blocks, shape.block, 0, s>>>(out, x, index, R, C);
    }
    return wb_launched();
}

/* --- backward ----------------------------------------------------------------------- */

/* First the rows are sorted by token, equal tokens in the order of r: the new place of
 * row r is the number of rows before it. That takes R^2 comparisons, but of integers that
 * all threads read together. Each block compares BLOCK_SIZE rows with one tile of tokens
 * and adds its counts; integer sums do not depend on the order. */
enum { TILE = 1024 };
static __global__ void __launch_bounds__(BLOCK_SIZE)
    count_kernel(int *place, const int *token, int R)
{
    __shared__ int tile[TILE];
    int start = (int)blockIdx.y * TILE, n = R - start < TILE ? R - start : TILE;
    for (int i = (int)threadIdx.x; i < n; i += BLOCK_SIZE)
        tile[i] = token[start + i];
    __syncthreads();  // the tile is loaded
    int r = (int)(blockIdx.x * BLOCK_SIZE + threadIdx.x);
    if (r >= R) return;
    int mine = token[r], before = 0;
    int earlier = r - start < 0 ? 0 : r - start < n ? r - start : n;  // rows before r
    for (int i = 0; i < earlier; i++)
        before += tile[i] <= mine;
    for (int i = earlier; i < n; i++)
        before += tile[i] < mine;
    if (before) atomicAdd(&place[r], before);
}

static __global__ void
order_kernel(int *order, int *sorted, const int *place, const int *token, int R)
{
    int r = (int)(blockIdx.x * BLOCK_SIZE + threadIdx.x);
    if (r >= R) return;
    order[place[r]] = r;
    sorted[place[r]] = token[r];
}

/* Then the rows of a token are one run of places and are added in order. A run can be as
 * long as R, so the places are cut into pieces, and a block adds the runs of one piece. A
 * run inside the piece is finished there. The sums of the others go to `parts`, two per
 * piece: of the run that continues from the previous piece, and of the one that leaves
 * into the next piece. */
enum { PIECE = 64, COLUMN_LANES = 64, UNROLL = 8 };
enum { FROM_PREVIOUS, INTO_NEXT };

template <int V>
static __device__ void add_to(float *dtable, const float *sum, float scale, size_t left)
{
#pragma unroll
    for (int j = 0; j < V; j++)
        if ((size_t)j < left) dtable[j] += scale * sum[j];
}

template <typename E, int V>
static __global__ void __launch_bounds__(COLUMN_LANES) piece_kernel(
    float *dtable, float *parts, const E *dout, const int *order, const int *sorted,
    int R, int C, float scale)
{
    int piece = (int)blockIdx.x, first = piece * PIECE;
    int end = R - first < PIECE ? R : first + PIECE;
    int c = (int)(blockIdx.y * COLUMN_LANES + threadIdx.x) * V;
    if (c >= C) return;
    bool begins = first == 0 || sorted[first - 1] != sorted[first];
    float sum[V] = {};
    for (int from = first; from < end; from += UNROLL) {
        float x[UNROLL][V];  // all loads are in flight before the first sum
#pragma unroll
        for (int n = 0; n < UNROLL; n++) {
            int i = from + n < end ? from + n : end - 1;
            load_float<V>(x[n], dout + (size_t)order[i] * C + c, C - c);
        }
#pragma unroll
        for (int n = 0; n < UNROLL; n++) {
            int i = from + n;
            if (i >= end) break;
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] += x[n][j];
            bool ends = i + 1 == R || sorted[i + 1] != sorted[i];
            if (!ends && i + 1 < end) continue;
            if (begins && ends) {
                add_to<V>(dtable + (size_t)sorted[i] * C + c, sum, scale, C - c);
            } else {
                int which = 2 * piece + (begins ? INTO_NEXT : FROM_PREVIOUS);
                for (int j = 0; j < V && c + j < C; j++)
                    parts[(size_t)which * C + c + j] = sum[j];
            }
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] = 0.0f;
            begins = true;
        }
    }
}

/* Adds, in order, the sums of all pieces of the run that starts in this piece and leaves
 * it, if any. */
static __global__ void __launch_bounds__(COLUMN_LANES) join_kernel(
    float *dtable, const float *parts, const int *sorted, int R, int C, float scale)
{
    int piece = (int)blockIdx.x, first = piece * PIECE, next = first + PIECE;
    int c = (int)(blockIdx.y * COLUMN_LANES + threadIdx.x);
    if (c >= C || next >= R) return;
    int token = sorted[next - 1];
    if (sorted[next] != token) return;                    // the run ends here
    if (first > 0 && sorted[first - 1] == token) return;  // the run started earlier
    // a binary search: the run reaches piece `last` and does not reach piece `end`
    int last = piece + 1, end = (R + PIECE - 1) / PIECE;
    while (end - last > 1) {
        int middle = last + (end - last) / 2;
        if (sorted[middle * PIECE] == token)
            last = middle;
        else
            end = middle;
    }
    float sum = parts[(size_t)(2 * piece + INTO_NEXT) * C + c];
#pragma unroll 8
    for (int p = piece + 1; p <= last; p++)
        sum += parts[(size_t)(2 * p + FROM_PREVIOUS) * C + c];
    dtable[(size_t)token * C + c] += scale * sum;
}

static int pieces_of(int R)
{
    return (R + PIECE - 1) / PIECE;
}
static size_t backward_workspace(int R, int C)  // parts, then place, order and sorted
{
    if (R <= 0 || C <= 0) return 0;
    return 2 * (size_t)pieces_of(R) * C * sizeof(float) + 3 * (size_t)R * sizeof(int);
}

template <typename E>
static wb_status embedding_backward(
    float *dtable, const E *dout, const int *token, int R, int C, int V, float scale,
    void *workspace, size_t workspace_bytes, cudaStream_t s)
{
    if (R < 0 || C < 0 || V < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0 || V == 0) return WB_OK;
    if (!dtable || !dout || !token) return WB_BAD_SHAPE;
    if (!workspace || workspace_bytes < backward_workspace(R, C)) return WB_NO_SPACE;
    unsigned pieces = (unsigned)pieces_of(R), blocks = blocks_for((size_t)R, 1);
    float *parts = (float *)workspace;
    int *place = (int *)(parts + 2 * (size_t)pieces * C), *order = place + R;
    int *sorted = order + R;
    if (cudaMemsetAsync(place, 0, (size_t)R * sizeof(int), s) != cudaSuccess)
        return WB_BAD_CUDA;
    dim3 tiles(blocks, ((unsigned)R + TILE - 1) / TILE);
    count_kernel<<<tiles, BLOCK_SIZE, 0, s>>>(place, token, R);
    order_kernel<<<blocks, BLOCK_SIZE, 0, s>>>(order, sorted, place, token, R);
    const int P = VEC16<E>;
    bool by_vec = C % P == 0 && has_vecs<P>(dout);
    int width = COLUMN_LANES * (by_vec ? P : 1);
    dim3 grid(pieces, ((unsigned)C + width - 1) / width);
    if (by_vec)
        piece_kernel<E, P><<<grid, COLUMN_LANES, 0, s>>>(
            dtable, parts, dout, order, sorted, R, C, scale);
    else
        piece_kernel<E, 1><<<grid, COLUMN_LANES, 0, s>>>(
            dtable, parts, dout, order, sorted, R, C, scale);
    grid.y = ((unsigned)C + COLUMN_LANES - 1) / COLUMN_LANES;
    join_kernel<<<grid, COLUMN_LANES, 0, s>>>(dtable, parts, sorted, R, C, scale);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status embedding_forward_##e(                                                     \
        E *out, const E *table, const int *token, int R, int C, int V, float scale,      \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        return embedding_forward(out, table, token, R, C, V, scale, stream);             \
    }                                                                                    \
    wb_status embedding_backward_##e(                                                    \
        float *dtable, const E *dout, const int *token, int R, int C, int V,             \
        float scale, void *workspace, size_t workspace_bytes, cudaStream_t stream)       \
    {                                                                                    \
        return embedding_backward(                                                       \
            dtable, dout, token, R, C, V, scale, workspace, workspace_bytes, stream);    \
    }                                                                                    \
    size_t embedding_backward_workspace_##e(int R, int C, int V)                         \
    {                                                                                    \
        (void)V;                                                                         \
        return backward_workspace(R, C);                                                 \
    }                                                                                    \
    wb_status gather_rows_##e(                                                           \
        E *out, const E *x, const int *index, int R, int C, cudaStream_t stream)         \
    {                                                                                    \
        return gather_rows(out, x, index, R, C, stream);                                 \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
