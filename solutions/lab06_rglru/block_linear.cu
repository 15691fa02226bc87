/* block_linear.cu - lab 06, part 06.1. The contract is rglru.h. */
#include "rglru.h"

constexpr int THREADS = 128;

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

static __device__ size_t thread_index(void)
{
    return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

template <typename E>
static __global__ void block_linear_each(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M)
{
    size_t i = thread_index(), C = (size_t)G * M;
    if (i >= R * C) return;
    size_t j = i % M, g = i % C / M;
    const E *row = c + (i - j);  // (M): the inputs of this block
    wx += g * M * M + j, wa += g * M * M + j;
    float x = (float)bx[g * M + j], a = (float)ba[g * M + j];
    for (int k = 0; k < M; k++) {
        x += (float)row[k] * (float)wx[(size_t)k * M];
        a += (float)row[k] * (float)wa[(size_t)k * M];
    }
    px[i] = (E)x, pa[i] = (E)a;
}

template <typename E>
static void block_linear(
    E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba, int R,
    int G, int M, cudaStream_t stream)
{
    block_linear_each<<<blocks_for((size_t)R * G * M), THREADS, 0, stream>>>(
        px, pa, c, wx, bx, wa, ba, R, G, M);
}

template <typename E>
static __global__ void dc_each(
    E *dc, const E *dc_in, const E *dpx, const E *dpa, const E *wx, const E *wa, int R,
    int G, int M)
{
    size_t at = thread_index(), C = (size_t)G * M;
    if (at >= R * C) return;
    size_t i = at % M, g = at % C / M;
    const E *dx = dpx + (at - i), *da = dpa + (at - i);  // (M)
    wx += (g * M + i) * M, wa += (g * M + i) * M;        // (M): row i of the matrices
    float sum = dc_in ? (float)dc_in[at] : 0.0f;
    for (int j = 0; j < M; j++)
        sum += (float)dx[j] * (float)wx[j] + (float)da[j] * (float)wa[j];
    dc[at] = (E)sum;
}

/* A thread per number of dw; those of row i = 0 see to the bias as well. */
template <typename E>
static __global__ void
dw_each(float *dw, float *db, const E *c, const E *dp, int R, int G, int M)
{
    size_t at = thread_index(), C = (size_t)G * M;
    if (at >= C * M) return;
    size_t j = at % M, i = at / M % M, g = at / M / M;
    float sum = 0.0f, bias = 0.0f;
    for (int r = 0; r < R; r++) {
        float d = (float)dp[r * C + g * M + j];
        sum += (float)c[r * C + g * M + i] * d;
        bias += d;
    }
    dw[at] += sum;
    if (i == 0) db[g * M + j] += bias;
}

template <typename E> static size_t block_linear_space(int, int, int)
{
    return 0;
}

template <typename E>
static void block_linear_back(
    E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in, const E *dpx,
    const E *dpa, const E *c, const E *wx, const E *wa, int R, int G, int M, float *,
    cudaStream_t stream)
{
    dc_each<<<blocks_for((size_t)R * G * M), THREADS, 0, stream>>>(
        dc, dc_in, dpx, dpa, wx, wa, R, G, M);
    unsigned blocks = blocks_for((size_t)G * M * M);
    dw_each<<<blocks, THREADS, 0, stream>>>(dwx, dbx, c, dpx, R, G, M);
    dw_each<<<blocks, THREADS, 0, stream>>>(dwa, dba, c, dpa, R, G, M);
}

#define DEFINE(E, e)                                                                     \
    wb_status block_linear_forward_##e(                                                  \
        E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba,    \
        int R, int G, int M, cudaStream_t stream)                                        \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!px || !pa || !c || !wx || !bx || !wa || !ba) return WB_BAD_SHAPE;           \
        block_linear<E>(px, pa, c, wx, bx, wa, ba, R, G, M, stream);                     \
        return wb_launched();                                                            \
    }                                                                                    \
    wb_status block_linear_backward_##e(                                                 \
        E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in,           \
        const E *dpx, const E *dpa, const E *c, const E *wx, const E *wa, int R, int G,  \
        int M, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!dc || !dwx || !dbx || !dwa || !dba || !dpx || !dpa || !c || !wx || !wa)     \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < block_linear_space<E>(R, G, M)) return WB_NO_SPACE;        \
        block_linear_back<E>(                                                            \
            dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M,                 \
            (float *)workspace, stream);                                                 \
        return wb_launched();                                                            \
    }                                                                                    \
    size_t block_linear_backward_workspace_##e(int R, int G, int M)                      \
    {                                                                                    \
        return block_linear_space<E>(R, G, M);                                           \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
