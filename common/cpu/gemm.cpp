/* gemm.cpp - a small matrix product for machines without OpenBLAS.
 *
 * The usual scheme (Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", 2008): blocks of A and B are copied into panels that the inner loop
 * reads from end to end, and that loop keeps a ROWS x COLUMNS tile of C in registers.
 *
 *            k                        n
 *     A  +------+ ROWS      B  +--+--+--+ k     C tile = sum over k of
 *        +------+              |  |  |  |       (column of A panel) (row of B panel)
 *        +------+              +--+--+--+
 *          panels of rows       panels of COLUMNS columns
 *
 * Vectors are g++'s and clang's own (vector_size), so one text serves every CPU. Sums run
 * over k in ascending order, in steps of DEPTH: the result depends on nothing else.
 */
#include "gemm.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

/* Lanes of a vector and the tile: all vector registers but those for A and a factor. */
#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 2 * LANES, COLUMNS = 12 };  // 24 of 32 registers
#elif defined(__AVX__)
enum { LANES = 8, ROWS = 2 * LANES, COLUMNS = 6 };  // 12 of 16
#elif defined(__aarch64__)
enum { LANES = 4, ROWS = 2 * LANES, COLUMNS = 12 };  // 24 of 32
#else
enum { LANES = 4, ROWS = 2 * LANES, COLUMNS = 6 };  // 12 of 16
#endif
enum {
    VECTORS = ROWS / LANES,
    DEPTH = 256,       // of a block: a panel of B stays in the L1 cache
    BLOCK_ROWS = 192,  // 192 x 256 floats of A: 192 KB of the L2 cache
    BLOCK_COLUMNS = 40 * COLUMNS,
};
static_assert(BLOCK_ROWS % ROWS == 0, "a block of A is made of whole panels");

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* --- packing ------------------------------------------------------------------------ */

/* Copies `count` (<= WIDTH) vectors of length k, filled up with zeros, so that element p
 * of all of them lie side by side. `across` is the distance between two vectors, `along`
 * between two elements of one; one of the two is 1. */
template <int WIDTH>
static void
pack_panel(float *out, const float *in, int count, int k, size_t across, size_t along)
{
    if (count < WIDTH) memset(out, 0, sizeof(float) * WIDTH * k);
    if (across == 1 && count == WIDTH) {
        for (int p = 0; p < k; p++)
            memcpy(out + (size_t)p * WIDTH, in + p * along, sizeof(float) * WIDTH);
    } else if (count == WIDTH) {
        for (int p = 0; p < k; p++)
            for (int i = 0; i < WIDTH; i++)
                out[(size_t)p * WIDTH + i] = in[i * across + p];
    } else {
        for (int p = 0; p < k; p++)
            for (int i = 0; i < count; i++)
                out[(size_t)p * WIDTH + i] = in[i * across + p * along];
    }
}

template <int WIDTH>
static void
pack(float *out, const float *in, int count, int k, size_t across, size_t along)
{
    for (int i = 0; i < count; i += WIDTH, out += (size_t)WIDTH * k)
        pack_panel<WIDTH>(
            out, in + i * across, smaller(WIDTH, count - i), k, across, along);
}

/* --- the tile in registers ---------------------------------------------------------- */

/* c = beta c + alpha a b over k; a: k columns of ROWS, b: k rows of COLUMNS. */
static void full_tile(
    int k, float alpha, const float *a, const float *b, float beta, float *c, size_t ldc)
{
    vec sum[COLUMNS][VECTORS];
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < VECTORS; i++)
            sum[j][i] = (vec){};
    for (int p = 0; p < k; p++, a += ROWS, b += COLUMNS) {
        vec column[VECTORS];
        for (int i = 0; i < VECTORS; i++)
            column[i] = *(const vec *)(a + i * LANES);
#pragma GCC unroll 16
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < VECTORS; i++)
                sum[j][i] += column[i] * b[j];
    }
    for (int j = 0; j < COLUMNS; j++, c += ldc)
        for (int i = 0; i < VECTORS; i++) {
            vec *out = (vec *)(c + i * LANES);
            *out = beta == 0 ? alpha * sum[j][i] : beta * *out + alpha * sum[j][i];
        }
}

/* The same at the lower and right edge: only rows x columns of the tile exist. */
static void edge_tile(
    int k, float alpha, const float *a, const float *b, float beta, float *c, size_t ldc,
    int rows, int columns)
{
    float tile[COLUMNS * ROWS];
    full_tile(k, alpha, a, b, 0, tile, ROWS);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            float *out = c + j * ldc + i;
            *out = beta == 0 ? tile[j * ROWS + i] : beta * *out + tile[j * ROWS + i];
        }
}

/* --- blocks ------------------------------------------------------------------------- */

static void scale(int m, int n, float beta, float *c, size_t ldc)  // the product is empty
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            c[j * ldc + i] = beta == 0 ? 0 : beta * c[j * ldc + i];
}

struct panels {
    float a[BLOCK_ROWS * DEPTH];
    float b[BLOCK_COLUMNS * DEPTH];
};

static panels *my_panels(void)  // a thread keeps its own until it ends
{
    struct owner {
        panels *mine = (panels *)aligned_alloc(64, (sizeof(panels) + 63) / 64 * 64);
        ~owner() { free(mine); }
    };
    static thread_local owner o;
    if (!o.mine) abort();
    return o.mine;
}

void wbcpu_own_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    if (k == 0 || alpha == 0) {
        scale(m, n, beta, c, ldc);
        return;
    }
    panels *block = my_panels();
    size_t a_across = transpose_a ? lda : 1, a_along = transpose_a ? 1 : lda;
    size_t b_across = transpose_b ? 1 : ldb, b_along = transpose_b ? ldb : 1;
    for (int j0 = 0; j0 < n; j0 += BLOCK_COLUMNS)
        for (int p0 = 0; p0 < k; p0 += DEPTH) {
            int width = smaller(BLOCK_COLUMNS, n - j0), depth = smaller(DEPTH, k - p0);
            float keep = p0 == 0 ? beta : 1;  // later steps of k add to the first
            pack<COLUMNS>(
                block->b, b + j0 * b_across + p0 * b_along, width, depth, b_across,
                b_along);
            for (int i0 = 0; i0 < m; i0 += BLOCK_ROWS) {
                int height = smaller(BLOCK_ROWS, m - i0);
                pack<ROWS>(
                    block->a, a + i0 * a_across + p0 * a_along, height, depth, a_across,
                    a_along);
                for (int j = 0; j < width; j += COLUMNS)
                    for (int i = 0; i < height; i += ROWS) {
                        const float *pa = block->a + (size_t)i * depth;
                        const float *pb = block->b + (size_t)j * depth;
                        float *out = c + (size_t)(j0 + j) * ldc + i0 + i;
                        int rows = smaller(ROWS, height - i);
                        int columns = smaller(COLUMNS, width - j);
                        if (rows == ROWS && columns == COLUMNS)
                            full_tile(depth, alpha, pa, pb, keep, out, ldc);
                        else
                            edge_tile(
                                depth, alpha, pa, pb, keep, out, ldc, rows, columns);
                    }
            }
        }
}
