/* gemm_blocks.h - a single-threaded GEMM around a small kernel, for gemm.cpp (float) and
 * gemm_bf16.cpp.
 *
 * Blocks of A and B are packed into panels that the inner loop reads sequentially; it
 * keeps an MR x NR tile of C in registers (Goto and van de Geijn, "Anatomy of
 * high-performance matrix multiplication", 2008).
 *
 *            k                      n
 *     A  +------+ MR       B  +--+--+--+ k     C tile = sum over k of
 *        +------+             |  |  |  |       (column of A panel) (row of B panel)
 *        +------+             +--+--+--+
 *          panels of MR rows   panels of NR columns
 *
 * Sums run over k in ascending order, in steps of KC: the result depends on nothing else.
 *
 * A kernel K is a struct of
 *
 *     unit                  what a panel holds for one vector and one step of k: 4 bytes
 *     element, PER_UNIT     of A and B, and how many of one vector a unit holds
 *     MR, NR                rows and columns of the tile
 *     pack<WIDTH>(out, in, count, k, across, along)      a panel, see below
 *     tile(units, alpha, a, b, beta, c, ldc)             c = beta c + alpha a b
 */
#ifndef WBCPU_GEMM_BLOCKS_H
#define WBCPU_GEMM_BLOCKS_H
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace gemm_blocks
{
/* In units of 4 bytes. */
constexpr int KC = 256;  // a panel of B stays in the L1 cache
constexpr int MC = 192;  // 192 x 256 units of A: 192 KB of the L2 cache
constexpr int NC = 480;

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* --- packing ------------------------------------------------------------------------ */

/* K::pack<WIDTH> copies `count` <= WIDTH vectors of k elements, padded with zero vectors,
 * and interleaves them: the units p of all vectors are contiguous. `across` is the
 * distance between two vectors, `along` between two elements of a vector; one of them
 * is 1. */
template <class K, int WIDTH>
static void pack(
    typename K::unit *out, const typename K::element *in, int count, int k, size_t across,
    size_t along)
{
    int units = (k + K::PER_UNIT - 1) / K::PER_UNIT;
    for (int i = 0; i < count; i += WIDTH, out += (size_t)WIDTH * units)
        K::template pack<WIDTH>(
            out, in + i * across, smaller(WIDTH, count - i), k, across, along);
}

/* --- tiles at the edges ------------------------------------------------------------- */

/* A tile at the lower or right edge: it has only rows x columns elements. */
template <class K>
static void edge_tile(
    int units, float alpha, const typename K::unit *a, const typename K::unit *b,
    float beta, float *c, size_t ldc, int rows, int columns)
{
    float tile[K::NR * K::MR];
    K::tile(units, alpha, a, b, 0, tile, K::MR);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            float *out = c + j * ldc + i;
            float product = tile[j * K::MR + i];
            *out = beta == 0 ? product : beta * *out + product;
        }
}

/* --- blocks ------------------------------------------------------------------------- */

static void scale(int m, int n, float beta, float *c, size_t ldc)  // k = 0 or alpha = 0
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            c[j * ldc + i] = beta == 0 ? 0 : beta * c[j * ldc + i];
}

struct panels {
    alignas(64) float a[MC * KC];
    alignas(64) float b[NC * KC];
};

static panels *thread_panels(void)  // one per thread, until it exits
{
    struct owner {
        panels *mine = (panels *)aligned_alloc(64, sizeof(panels));
        ~owner()
        {
            free(mine);
        }
    };
    static thread_local owner o;
    if (!o.mine) abort();
    return o.mine;
}

/* The tiles of a packed block of A and one of B. */
template <class K>
static void multiply_block(
    const panels *p, int height, int width, int units, float alpha, float beta, float *c,
    size_t ldc)
{
    typedef typename K::unit unit;
    for (int j = 0; j < width; j += K::NR)
        for (int i = 0; i < height; i += K::MR) {
            const unit *a = (const unit *)p->a + (size_t)i * units;
            const unit *b = (const unit *)p->b + (size_t)j * units;
            float *out = c + (size_t)j * ldc + i;
            int rows = smaller(K::MR, height - i), columns = smaller(K::NR, width - j);
            if (rows == K::MR && columns == K::NR)
                K::tile(units, alpha, a, b, beta, out, ldc);
            else
                edge_tile<K>(units, alpha, a, b, beta, out, ldc, rows, columns);
        }
}

template <class K>
static void gemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
    const typename K::element *a, int lda, const typename K::element *b, int ldb,
    float beta, float *c, int ldc)
{
    typedef typename K::unit unit;
    static_assert(sizeof(unit) == sizeof(float), "KC, MC and NC are in units");
    static_assert(MC % K::MR == 0 && NC % K::NR == 0, "blocks consist of whole panels");
    if (k == 0 || alpha == 0) {
        scale(m, n, beta, c, ldc);
        return;
    }
    panels *p = thread_panels();
    size_t a_across = transpose_a ? lda : 1, a_along = transpose_a ? 1 : lda;
    size_t b_across = transpose_b ? 1 : ldb, b_along = transpose_b ? ldb : 1;
    constexpr int DEPTH = KC * K::PER_UNIT;
    for (int j0 = 0; j0 < n; j0 += NC)
        for (int p0 = 0; p0 < k; p0 += DEPTH) {
            int width = smaller(NC, n - j0), depth = smaller(DEPTH, k - p0);
            int units = (depth + K::PER_UNIT - 1) / K::PER_UNIT;
            float keep = p0 == 0 ? beta : 1;  // later steps of k accumulate
            pack<K, K::NR>(
                (unit *)p->b, b + j0 * b_across + p0 * b_along, width, depth, b_across,
                b_along);
            for (int i0 = 0; i0 < m; i0 += MC) {
                int height = smaller(MC, m - i0);
                pack<K, K::MR>(
                    (unit *)p->a, a + i0 * a_across + p0 * a_along, height, depth,
                    a_across, a_along);
                multiply_block<K>(
                    p, height, width, units, alpha, keep, c + (size_t)j0 * ldc + i0, ldc);
            }
        }
}
}  // namespace gemm_blocks

#endif
