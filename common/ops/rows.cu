/* rows.cu - rows of a table: embedding, its gradient, gathering. */
#include "elements.cuh"
#include "ops.h"

/* A block copies a few rows: lanes side by side in a row, rows one below the other. */
struct row_shape {
    dim3 block;
    unsigned blocks;
};
static row_shape shape_for(int R, int packs)
{
    unsigned lanes = 8;
    while (lanes < (unsigned)packs && lanes < BLOCK)
        lanes *= 2;
    unsigned rows = BLOCK / lanes;
    return {dim3(lanes, rows), ((unsigned)R + rows - 1) / rows};
}

/* --- forward ---------------------------------------------------------------------------- */

template <typename E, int V>
static __global__ void
embedding_kernel(E *out, const E *table, const int *token, int R, int C, float scale)
{
    int r = (int)(blockIdx.x * blockDim.y + threadIdx.y);  // [0, R)
    if (r >= R) return;
    const E *from = table + (size_t)token[r] * C;
    E *to = out + (size_t)r * C;
    for (int c = (int)threadIdx.x * V; c < C; c += (int)blockDim.x * V) {
        float x[V];
        load<V>(x, from + c, C - c);
#pragma unroll
        for (int j = 0; j < V; j++)
            x[j] *= scale;
        store<V>(to + c, x, C - c);
    }
}

template <typename E>
static wb_status embedding_forward(
    E *out, const E *table, const int *token, int R, int C, int V, float scale,
    cudaStream_t s)
{
    if (R < 0 || C < 0 || V < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    if (out == NULL || table == NULL || token == NULL || V == 0) return WB_BAD_SHAPE;
    const int P = pack_of<E>();
    if (C % P == 0 && on_packs<P>(out) && on_packs<P>(table)) {
        row_shape shape = shape_for(R, C / P);
        embedding_kernel<E, P>
            <<<shape.blocks, shape.block, 0, s>>>(out, table, token, R, C, scale);
    } else {
        row_shape shape = shape_for(R, C);
        embedding_kernel<E, 1>
            <<<shape.blocks, shape.block, 0, s>>>(out, table, token, R, C, scale);
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
        *(pack<E, V> *)(to + c) = *(const pack<E, V> *)(from + c);
}

template <typename E>
static wb_status
gather_rows(E *out, const E *x, const int *index, int R, int C, cudaStream_t s)
{
    if (R < 0 || C < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0) return WB_OK;
    if (out == NULL || x == NULL || index == NULL) return WB_BAD_SHAPE;
    const int P = pack_of<E>();
    if (C % P == 0 && on_packs<P>(out) && on_packs<P>(x)) {
        row_shape shape = shape_for(R, C / P);
        gather_kernel<E, P><<<shape.blocks, shape.block, 0, s>>>(out, x, index, R, C);
    } else {
        row_shape shape = shape_for(R, C);
        gather_kernel<E, 1><<<shape.blocks, shape.block, 0, s>>>(out, x, index, R, C);
    }
    return wb_launched();
}

/* --- backward --------------------------------------------------------------------------- */

/* First the rows are put in order of their token, equal tokens in the order of r: row r
 * goes to the place that counts the rows before it. R^2 comparisons, but of integers that
 * all threads read together. Each block compares BLOCK rows with one tile of tokens and
 * adds its counts; sums of integers do not depend on the order. */
enum { TILE = 1024 };
static __global__ void __launch_bounds__(BLOCK)
    count_kernel(int *place, const int *token, int R)
{
    __shared__ int tile[TILE];
    int start = (int)blockIdx.y * TILE, n = R - start < TILE ? R - start : TILE;
    for (int i = (int)threadIdx.x; i < n; i += BLOCK)
        tile[i] = token[start + i];
    __syncthreads();  // the tile is in shared memory
    int r = (int)(blockIdx.x * BLOCK + threadIdx.x);
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
    int r = (int)(blockIdx.x * BLOCK + threadIdx.x);
    if (r >= R) return;
    order[place[r]] = r;
    sorted[place[r]] = token[r];
}

/* Then each token is one run of places. The block at the start of a run adds up its rows:
 * GROUPS groups of lanes take a part of the run each, and their sums are added in order.
 * Blocks at other places have nothing to do. */
enum { LANES = 32, GROUPS = 8 };
template <typename E, int V>
static __global__ void __launch_bounds__(LANES *GROUPS) add_runs_kernel(
    float *dtable, const E *dout, const int *order, const int *sorted, int R, int C,
    float scale)
{
    int start = (int)blockIdx.x, token = sorted[start];
    if (start > 0 && sorted[start - 1] == token) return;
    int end = R, low = start;  // sorted[low] == token, and sorted[end] is another
    while (end - low > 1) {
        int middle = low + (end - low) / 2;
        if (sorted[middle] == token)
            low = middle;
        else
            end = middle;
    }
    __shared__ float of_group[GROUPS][LANES * V];
    int lane = (int)threadIdx.x, group = (int)threadIdx.y;
    int c = ((int)blockIdx.y * LANES + lane) * V, n = end - start;
    int from = start + (int)((long long)n * group / GROUPS);
    int to = start + (int)((long long)n * (group + 1) / GROUPS);
    float sum[V] = {};
    if (c >= C) from = to;
#pragma unroll 4
    for (int i = from; i < to; i++) {
        float x[V];
        load<V>(x, dout + (size_t)order[i] * C + c, C - c);
#pragma unroll
        for (int j = 0; j < V; j++)
            sum[j] += x[j];
    }
#pragma unroll
    for (int j = 0; j < V; j++)
        of_group[group][lane * V + j] = sum[j];
    __syncthreads();  // every group's sum is in of_group
    if (group > 0) return;
    for (int j = 0; j < V && c + j < C; j++) {
        float all = 0.0f;
        for (int g = 0; g < GROUPS; g++)
            all += of_group[g][lane * V + j];
        dtable[(size_t)token * C + c + j] += scale * all;
    }
}

static size_t backward_workspace(int R)  // place, order and sorted
{
    return R > 0 ? 3 * (size_t)R * sizeof(int) : 0;
}

template <typename E>
static wb_status embedding_backward(
    float *dtable, const E *dout, const int *token, int R, int C, int V, float scale,
    void *workspace, size_t workspace_bytes, cudaStream_t s)
{
    if (R < 0 || C < 0 || V < 0) return WB_BAD_SHAPE;
    if (R == 0 || C == 0 || V == 0) return WB_OK;
    if (dtable == NULL || dout == NULL || token == NULL) return WB_BAD_SHAPE;
    if (workspace == NULL || workspace_bytes < backward_workspace(R)) return WB_NO_SPACE;
    int *place = (int *)workspace, *order = place + R, *sorted = order + R;
    if (cudaMemsetAsync(place, 0, (size_t)R * sizeof(int), s) != cudaSuccess)
        return WB_BAD_CUDA;
    unsigned blocks = blocks_for((size_t)R, 1);
    dim3 tiles(blocks, ((unsigned)R + TILE - 1) / TILE);
    count_kernel<<<tiles, BLOCK, 0, s>>>(place, token, R);
    order_kernel<<<blocks, BLOCK, 0, s>>>(order, sorted, place, token, R);
    const int P = pack_of<E>();
    bool packs = C % P == 0 && on_packs<P>(dout);
    int width = LANES * (packs ? P : 1);
    dim3 grid((unsigned)R, (unsigned)((C + width - 1) / width)), block(LANES, GROUPS);
    if (packs)
        add_runs_kernel<E, P>
            <<<grid, block, 0, s>>>(dtable, dout, order, sorted, R, C, scale);
    else
        add_runs_kernel<E, 1>
            <<<grid, block, 0, s>>>(dtable, dout, order, sorted, R, C, scale);
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
        (void)C, (void)V;                                                                \
        return backward_workspace(R);                                                    \
    }                                                                                    \
    wb_status gather_rows_##e(                                                           \
        E *out, const E *x, const int *index, int R, int C, cudaStream_t stream)         \
    {                                                                                    \
        return gather_rows(out, x, index, R, C, stream);                                 \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
