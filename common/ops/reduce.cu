/* reduce.cu - sums of long vectors, always in the same order.
 *
 * Two launches: many blocks write one partial sum each to the workspace, then one block
 * adds these. Which elements a block owns depends on N alone.
 */
#include "elements.cuh"
#include "ops.h"

enum {
    PER_THREAD = 64,  // elements: a block's reduction costs as much as loading a few
    MAX_BLOCKS = 2048,
    SUM_VECS = 4,
};

static int partials(size_t N)
{
    size_t blocks = blocks_for(N, PER_THREAD);
    return (int)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}

/* partial[b] = sum of x, or of x^2, over the chunks b, b + blocks, b + 2 blocks ... of
 * SUM_VECS * BLOCK_SIZE vectors each */
template <bool SQUARE, int V>
static __global__ void __launch_bounds__(BLOCK_SIZE)
    partial_kernel(float *partial, const float *x, size_t N)
{
    float sum[V] = {};
    size_t step = (size_t)gridDim.x * SUM_VECS * BLOCK_SIZE * V;
    for (size_t at = first_element<V, SUM_VECS>(); at < N; at += step) {
        float y[SUM_VECS][V];
#pragma unroll
        for (int p = 0; p < SUM_VECS; p++) {
            size_t i = at + (size_t)p * BLOCK_SIZE * V;
            load_float<V>(y[p], x + i, i < N ? N - i : 0);
        }
#pragma unroll
        for (int p = 0; p < SUM_VECS; p++)
#pragma unroll
            for (int j = 0; j < V; j++)
                sum[j] += SQUARE ? y[p][j] * y[p][j] : y[p][j];
    }
    float mine = 0.0f;
#pragma unroll
    for (int j = 0; j < V; j++)
        mine += sum[j];
    float all = block_sum(mine);
    if (threadIdx.x == 0) partial[blockIdx.x] = all;
}

/* The sum of the partial sums by one block, in thread 0. */
static __device__ float whole_sum(const float *partial, int n)
{
    float sum = 0.0f;
    for (int i = (int)threadIdx.x; i < n; i += BLOCK_SIZE)
        sum += partial[i];
    return block_sum(sum);
}

static __global__ void add_sum_kernel(float *out, const float *partial, int n)
{
    float sum = whole_sum(partial, n);
    if (threadIdx.x == 0) out[0] += sum;
}

static __global__ void norm_kernel(wb_train *st, const float *partial, int n)
{
    float sum = whole_sum(partial, n);
    if (threadIdx.x == 0) st->grad_norm = sqrtf(sum) / st->loss_scale;
}

template <bool SQUARE>
static void launch_partials(float *partial, const float *x, size_t N, cudaStream_t s)
{
    if (has_vecs<4>(x))
        partial_kernel<SQUARE, 4><<<partials(N), BLOCK_SIZE, 0, s>>>(partial, x, N);
    else
        partial_kernel<SQUARE, 1><<<partials(N), BLOCK_SIZE, 0, s>>>(partial, x, N);
}

size_t sum_workspace_f32(size_t N)
{
    return (size_t)partials(N) * sizeof(float);
}

wb_status sum_f32(
    float *out, const float *x, size_t N, void *workspace, size_t workspace_bytes,
    cudaStream_t s)
{
    if (N == 0) return WB_OK;
    if (!out || !x) return WB_BAD_SHAPE;
    if (!workspace || workspace_bytes < sum_workspace_f32(N)) return WB_NO_SPACE;
    float *partial = (float *)workspace;
    launch_partials<false>(partial, x, N, s);
    add_sum_kernel<<<1, BLOCK_SIZE, 0, s>>>(out, partial, partials(N));
    return wb_launched();
}

size_t gradnorm_workspace_f32(size_t N)
{
    return sum_workspace_f32(N);
}

wb_status gradnorm_f32(
    wb_train *st, const float *grad, size_t N, void *workspace, size_t workspace_bytes,
    cudaStream_t s)
{
    if (!st || (!grad && N)) return WB_BAD_SHAPE;
    if (workspace_bytes < gradnorm_workspace_f32(N)) return WB_NO_SPACE;
    if (!workspace && N) return WB_NO_SPACE;
    float *partial = (float *)workspace;
    if (N) launch_partials<true>(partial, grad, N, s);
    norm_kernel<<<1, BLOCK_SIZE, 0, s>>>(st, partial, N ? partials(N) : 0);
    return wb_launched();
}

// Few numbers: one thread. In double, their squares neither overflow nor vanish.
static __global__ void join_kernel(wb_train *st, const float *norm, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)norm[i] * norm[i];
    st->grad_norm = (float)sqrt(sum);
}

wb_status gradnorm_join(wb_train *st, const float *norm, int n, cudaStream_t s)
{
    if (!st || !norm || n < 1) return WB_BAD_SHAPE;
    join_kernel<<<1, 1, 0, s>>>(st, norm, n);
    return wb_launched();
}
