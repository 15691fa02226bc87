/* gemm.cpp - a small GEMM for machines without OpenBLAS.
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
 * Vectors use the vector_size attribute of g++ and clang, so one source serves every CPU.
 * Sums run over k in ascending order, in steps of KC: the result depends on nothing else.
 */
#include "gemm.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

/* The tile takes all vector registers except those for a column of A and a B element. */
#if defined(__AVX512F__)
constexpr int LANES = 16, MR = 2 * LANES, NR = 12;  // 24 of 32 registers
#elif defined(__AVX__)
constexpr int LANES = 8, MR = 2 * LANES, NR = 6;  // 12 of 16
#elif defined(__aarch64__)
constexpr int LANES = 4, MR = 2 * LANES, NR = 12;  // 24 of 32
#else
constexpr int LANES = 4, MR = 2 * LANES, NR = 6;  // 12 of 16
#endif
constexpr int VECTORS = MR / LANES;
constexpr int KC = 256;  // a panel of B stays in the L1 cache
constexpr int MC = 192;  // 192 x 256 floats of A: 192 KB of the L2 cache
constexpr int NC = 40 * NR;
static_assert(MC % MR == 0, "a block of A consists of whole panels");

typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* --- packing ------------------------------------------------------------------------ */

/* Copies `count` <= WIDTH vectors of length k, padded with zero vectors, and interleaves
 * them: the elements p of all vectors are contiguous. `across` is the distance between
 * two vectors, `along` between two elements of a vector; one of them is 1. */
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

/* c = beta c + alpha a b over k; a: k columns of MR, b: k rows of NR. */
static void full_tile(
    int k, float alpha, const float *a, const float *b, float beta, float *c, size_t ldc)
{
    vec sum[NR][VECTORS];
    for (int j = 0; j < NR; j++)
        for (int i = 0; i < VECTORS; i++)
            sum[j][i] = (vec){};
    for (int p = 0; p < k; p++, a += MR, b += NR) {
        vec column[VECTORS];
        for (int i = 0; i < VECTORS; i++)
            column[i] = *(const vec *)(a + i * LANES);
#pragma GCC unroll 16
        for (int j = 0; j < NR; j++)
            for (int i = 0; i < VECTORS; i++)
                sum[j][i] += column[i] * b[j];
    }
    for (int j = 0; j < NR; j++, c += ldc)
        for (int i = 0; i < VECTORS; i++) {
            vec *out = (vec *)(c + i * LANES);
            *out = beta == 0 ? alpha * sum[j][i] : beta * *out + alpha * sum[j][i];
        }
}

/* The same at the lower and right edges: the tile has only rows x columns elements. */
static void edge_tile(
    int k, float alpha, const float *a, const float *b, float beta, float *c, size_t ldc,
    int rows, int columns)
{
    float tile[NR * MR];
    full_tile(k, alpha, a, b, 0, tile, MR);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            float *out = c + j * ldc + i;
            *out = beta == 0 ? tile[j * MR + i] : beta * *out + tile[j * MR + i];
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
    float a[MC * KC];
    float b[NC * KC];
};

static panels *thread_panels(void)  // one per thread, until it exits
{
    struct owner {
        panels *mine = (panels *)aligned_alloc(64, (sizeof(panels) + 63) / 64 * 64);
        ~owner()
        {
            free(mine);
        }
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
    panels *block = thread_panels();
    size_t a_across = transpose_a ? lda : 1, a_along = transpose_a ? 1 : lda;
    size_t b_across = transpose_b ? 1 : ldb, b_along = transpose_b ? ldb : 1;
    for (int j0 = 0; j0 < n; j0 += NC)
        for (int p0 = 0; p0 < k; p0 += KC) {
            int width = smaller(NC, n - j0), depth = smaller(KC, k - p0);
            float keep = p0 == 0 ? beta : 1;  // later steps of k accumulate
            pack<NR>(
                block->b, b + j0 * b_across + p0 * b_along, width, depth, b_across,
                b_along);
            for (int i0 = 0; i0 < m; i0 += MC) {
                int height = smaller(MC, m - i0);
                pack<MR>(
                    block->a, a + i0 * a_across + p0 * a_along, height, depth, a_across,
                    a_along);
                for (int j = 0; j < width; j += NR)
                    for (int i = 0; i < height; i += MR) {
                        const float *pa = block->a + (size_t)i * depth;
                        const float *pb = block->b + (size_t)j * depth;
                        float *out = c + (size_t)(j0 + j) * ldc + i0 + i;
                        int rows = smaller(MR, height - i);
                        int columns = smaller(NR, width - j);
                        if (rows == MR && columns == NR)
                            full_tile(depth, alpha, pa, pb, keep, out, ldc);
                        else
                            edge_tile(
                                depth, alpha, pa, pb, keep, out, ldc, rows, columns);
                    }
            }
        }
}
