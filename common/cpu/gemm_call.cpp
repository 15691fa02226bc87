/* gemm_call.cpp - runs a gemm_call, one record for all element types, strides and batches.
 *
 * It takes two rounds on the worker pool: the first widens 16-bit factors to float (bf16
 * only where the CPU cannot multiply it), the second computes the tiles of C, each by one
 * thread. The tiling depends only on the shape, so the result has the same
 * bits for any number of workers.
 */
#include "blas.h"
#include "wbcpu.h"
#include "wbcpu/float16.h"

#include <algorithm>

static float *reserve(scratch *s, size_t size)
{
    if (s->size < size) {
        free(s->data);
        s->data = (float *)aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64);
        s->size = s->data ? size : 0;
    }
    return s->data;
}

/* --- element types ------------------------------------------------------------------ */

static bool is_float16(cudaDataType type)
{
    return type == CUDA_R_16F || type == CUDA_R_16BF;
}
static bool is_known(cudaDataType type)
{
    return type == CUDA_R_32F || is_float16(type);
}

void wbcpu_widen(float *out, const void *in, cudaDataType type, size_t n)
{
    const uint16_t *bits = (const uint16_t *)in;
    if (type == CUDA_R_16F)
        for (size_t i = 0; i < n; i++)
            out[i] = wbcpu::half_to_float_soft(bits[i]);  // vectorised
    else if (type == CUDA_R_32F)
        memcpy(out, in, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = wbcpu::bfloat16_to_float(bits[i]);
}

void wbcpu_narrow(void *out, const float *in, cudaDataType type, size_t n)
{
    uint16_t *bits = (uint16_t *)out;
    if (type == CUDA_R_16F)
        for (size_t i = 0; i < n; i++)
            bits[i] = wbcpu::float_to_half_soft(in[i]);
    else if (type == CUDA_R_32F)
        memcpy(out, in, n * sizeof *in);
    else
        for (size_t i = 0; i < n; i++)
            bits[i] = wbcpu::float_to_bfloat16(in[i]);
}

/* --- shapes: of a factor as it is in memory ----------------------------------------- */

struct shape {
    int rows, columns;
};
static shape shape_of_a(const gemm_call &p)
{
    return p.transpose_a ? shape{p.k, p.m} : shape{p.m, p.k};
}
static shape shape_of_b(const gemm_call &p)
{
    return p.transpose_b ? shape{p.n, p.k} : shape{p.k, p.n};
}

/* --- round 1: factors as floats ----------------------------------------------------- */

/* One factor of the whole batch: columns of `rows` elements, `ld` apart. A stride of 0
 * means one matrix for the whole batch. */
struct widening {
    matrix from, to;
    int rows, columns;
    int columns_per_task = 0, tasks_per_matrix = 0;
};
constexpr int ELEMENTS_PER_TASK = 1 << 16;

static void widen_task(void *context, int task)
{
    const widening *w = (const widening *)context;
    int index = task / w->tasks_per_matrix;
    int first = task % w->tasks_per_matrix * w->columns_per_task;
    int last = std::min(first + w->columns_per_task, w->columns);
    for (int j = first; j < last; j++)
        wbcpu_widen(
            (float *)wbcpu_element(w->to, index * w->to.stride + (long long)j * w->to.ld),
            wbcpu_element(w->from, index * w->from.stride + (long long)j * w->from.ld),
            w->from.type, w->rows);
}

/* Replaces x by a float copy. Returns false if out of memory. */
static bool make_wide(matrix *x, scratch *s, shape of, int batch)
{
    const int rows = of.rows, columns = of.columns;
    if (!is_float16(x->type)) return true;
    int matrices = x->stride == 0 ? 1 : batch;
    widening w = {
        *x, {nullptr, CUDA_R_32F, rows, (long long)rows * columns}, rows, columns};
    w.to.data = reserve(s, (size_t)w.to.stride * matrices);
    if (!w.to.data) return false;
    w.columns_per_task = std::max(1, ELEMENTS_PER_TASK / std::max(rows, 1));
    w.tasks_per_matrix = (columns + w.columns_per_task - 1) / w.columns_per_task;
    wbcpu_parallel(matrices * w.tasks_per_matrix, widen_task, &w);
    *x = w.to;
    if (matrices == 1) x->stride = 0;
    return true;
}

/* --- round 2: tiles of C ------------------------------------------------------------ */

struct tiling {
    const gemm_call *p;
    int rows = 0, columns = 0;           // of a tile
    int tile_rows = 0, tiles_per_c = 0;  // tiles per column of tiles, per matrix C
};

/* Tiles are small enough to occupy many workers and large enough that packing A and B
 * into panels is cheap. Their sizes are multiples of all kernels' register tiles. */
constexpr int SIDE = 384, MAX_TILE_ROWS = SIDE;
static tiling choose_tiling(const gemm_call *p)
{
    int tile_rows = (p->m + SIDE - 1) / SIDE, tile_columns = (p->n + SIDE - 1) / SIDE;
    bool one = tile_rows * tile_columns == 1, odd = tile_rows * tile_columns % 2;
    // with an even number of tiles two workers finish together
    if (p->batch == 1 && odd && (!one || (double)p->m * p->n * p->k > 1e6))
        (p->m >= p->n ? tile_rows : tile_columns)++;
    tiling t = {p};
    t.rows = ((p->m + tile_rows - 1) / tile_rows + 31) / 32 * 32;
    int panel = p->a.type == CUDA_R_16BF ? 64 : 12;
    t.columns = ((p->n + tile_columns - 1) / tile_columns + panel - 1) / panel * panel;
    t.tile_rows = (p->m + t.rows - 1) / t.rows;
    t.tiles_per_c = t.tile_rows * ((p->n + t.columns - 1) / t.columns);
    return t;
}

static scratch *thread_tile(void)
{
    static thread_local scratch mine;
    return &mine;
}

/* c = alpha a b + beta c, for a tile and a float c */
static void multiply_tile(
    const gemm_call *p, int m, int n, const void *a, const void *b, float *c, int ldc)
{
    if (p->a.type == CUDA_R_32F)
        p->handle->sgemm(
            p->transpose_a, p->transpose_b, m, n, p->k, p->alpha, (const float *)a,
            p->a.ld, (const float *)b, p->b.ld, p->beta, c, ldc);
    else
        p->handle->bf16_gemm(
            p->transpose_a, p->transpose_b, m, n, p->k, p->alpha, (const uint16_t *)a,
            p->a.ld, (const uint16_t *)b, p->b.ld, p->beta, c, ldc);
}

/* Rows i to i + m - 1 of the bias, added to the columns of a tile. */
static void add_bias(const gemm_call *p, float *c, int ldc, int i, int m, int n)
{
    float bias[MAX_TILE_ROWS];
    matrix from = {const_cast<void *>(p->bias), p->c.type, 0, 0};
    wbcpu_widen(bias, wbcpu_element(from, i), from.type, (size_t)m);
    for (int column = 0; column < n; column++)
        for (int row = 0; row < m; row++)
            c[(size_t)column * ldc + row] += bias[row];
}

static void multiply_task(void *context, int task)
{
    const tiling *t = (const tiling *)context;
    const gemm_call *p = t->p;
    int index = task / t->tiles_per_c, tile = task % t->tiles_per_c;
    int i = tile % t->tile_rows * t->rows, j = tile / t->tile_rows * t->columns;
    int m = std::min(t->rows, p->m - i), n = std::min(t->columns, p->n - j);
    long long from_a = p->transpose_a ? (long long)i * p->a.ld : i;
    long long from_b = p->transpose_b ? j : (long long)j * p->b.ld;
    const void *a = wbcpu_element(p->a, index * p->a.stride + from_a);
    const void *b = wbcpu_element(p->b, index * p->b.stride + from_b);
    long long from_c = index * p->c.stride + (long long)j * p->c.ld + i;

    bool narrow_c = is_float16(p->c.type);
    float *c = (float *)wbcpu_element(p->c, from_c);
    int ldc = p->c.ld;
    if (narrow_c) {
        c = reserve(thread_tile(), (size_t)m * n);
        ldc = m;
        if (!c) abort();
        for (int column = 0; p->beta != 0 && column < n; column++)
            wbcpu_widen(
                c + (size_t)column * m,
                wbcpu_element(p->c, from_c + (long long)column * p->c.ld), p->c.type, m);
    }
    multiply_tile(p, m, n, a, b, c, ldc);
    if (p->bias) add_bias(p, c, ldc, i, m, n);
    if (p->after) p->after(c, ldc, i, j, m, n, index);
    for (int column = 0; narrow_c && column < n; column++)
        wbcpu_narrow(
            wbcpu_element(p->c, from_c + (long long)column * p->c.ld),
            c + (size_t)column * m, p->c.type, m);
}

static cublasStatus_t multiply(gemm_call p)
{
    cublasContext *h = p.handle;
    bool direct = p.a.type == CUDA_R_16BF && h->bf16_gemm;
    if (!direct && (!make_wide(&p.a, &h->wide_a, shape_of_a(p), p.batch) ||
                    !make_wide(&p.b, &h->wide_b, shape_of_b(p), p.batch)))
        return CUBLAS_STATUS_ALLOC_FAILED;
    tiling t = choose_tiling(&p);
    wbcpu_parallel(t.tiles_per_c * p.batch, multiply_task, &t);
    return CUBLAS_STATUS_SUCCESS;
}

/* --- the call ----------------------------------------------------------------------- */

/* Tells check mode what a matrix, and those of the batch, hold. */
static bool checked(const matrix &x, shape of, int batch, wbcpu::check::matrix_use use)
{
    size_t bytes = is_float16(x.type) ? 2 : 4;
    for (int i = 0; i < batch; i++)
        if (!wbcpu::check::use_matrix(
                wbcpu_element(x, i * x.stride), (size_t)x.ld * bytes,
                (size_t)of.rows * bytes, (size_t)of.columns, use))
            return false;
    return true;
}
static bool checked(const gemm_call &p)
{
    using namespace wbcpu::check;
    matrix bias = {const_cast<void *>(p.bias), p.c.type, p.m, 0};
    if (p.bias && !checked(bias, {p.m, 1}, 1, MATRIX_READ)) return false;
    return checked(p.a, shape_of_a(p), p.batch, MATRIX_READ) &&
           checked(p.b, shape_of_b(p), p.batch, MATRIX_READ) &&
           checked(
               p.c, {p.m, p.n}, p.batch, p.beta != 0 ? MATRIX_UPDATED : MATRIX_WRITTEN);
}

static cublasStatus_t multiply_on_device(const gemm_call &p)
{
    if (wbcpu::check::enabled && !checked(p)) return CUBLAS_STATUS_EXECUTION_FAILED;
    wbcpu_library here;
    return multiply(p);
}

cublasStatus_t
wbcpu_start_gemm(const gemm_call &p, cublasOperation_t transa, cublasOperation_t transb)
{
    if (!p.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wbcpu_is_invalid_gemm(
            transa, transb, p.m, p.n, p.k, p.a.ld, p.b.ld, p.c.ld, p.batch))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_known(p.a.type) || p.b.type != p.a.type || !is_known(p.c.type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.m == 0 || p.n == 0 || p.batch == 0) return CUBLAS_STATUS_SUCCESS;
    if (wbcpu_record(p.handle->stream, [p] { multiply_on_device(p); }))
        return CUBLAS_STATUS_SUCCESS;
    return multiply_on_device(p);
}
