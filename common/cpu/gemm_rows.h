/* gemm_rows.h - C = A B for bf16 factors that are both contiguous along k: a linear layer,
 * where A has a row for each output and B a column for each token. A is read in place,
 * because packing it (gemm_blocks.h) takes as long as multiplying it by a few columns.
 *
 *     B, packed:  units of two elements of a column; a vector has those of 16 columns
 *     A:          a unit of one row, in all lanes
 *     tile:       MR rows x V vectors of C, in at most 24 of 32 registers
 *
 * Each element of C is one chain of sums in ascending k: its bits depend neither on the
 * number of columns nor on the blocks. Included by gemm_bf16.cpp.
 */
#ifndef WBCPU_GEMM_ROWS_H
#define WBCPU_GEMM_ROWS_H
#include "gemm_blocks.h"  // smaller

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace gemm_rows
{
using gemm_blocks::smaller;

enum {
    LANES = 16,
    VECTORS = 4,  // of a panel, at most
    WIDTH = VECTORS * LANES,
    UNITS = 128,      // of k at a time: a panel is 32 KB, and stays in the L1 cache
    LINE_UNITS = 16,  // of a cache line
    MAX_SIDE = 384,   // rows and columns of C
    MAX_ROWS = 12     // of a tile
};

/* Odd k: the last unit of a row would contain an element of the next row. */
static inline bool fits(int m, int n, int k)
{
    return m <= MAX_SIDE && n <= MAX_SIDE && k > 0 && k % 2 == 0;
}

struct buffers {
    alignas(64) uint32_t b[MAX_SIDE * UNITS];  // panels, each (units, its width)
    alignas(64) float sum[(MAX_SIDE + MAX_ROWS) * MAX_SIDE];  // (rows, padded columns)
};

static buffers *thread_buffers(void)  // one per thread, until it exits
{
    struct owner {
        buffers *mine = (buffers *)aligned_alloc(64, sizeof(buffers));
        ~owner()
        {
            free(mine);
        }
    };
    static thread_local owner o;
    if (!o.mine) abort();
    return o.mine;
}

/* sum (MR, 16 V) += a b, for `units` of k; the first time, sum is not read. The rows of
 * `next`, which follow, are prefetched into the L2 cache. */
template <int MR, int V>
AVX512_BF16 static void tile(
    int units, const uint16_t *const (&a)[MR], const uint16_t *const (&next)[MR],
    const uint32_t *b, float *sum, size_t ld, bool first)
{
    __m512 s[MR][V];
#pragma GCC unroll 12  // the arrays become registers
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++)
            s[i][v] =
                first ? _mm512_setzero_ps() : _mm512_load_ps(sum + i * ld + v * LANES);
    for (int line = 0; line < units; line += LINE_UNITS) {
        for (int i = 0; i < MR; i++)
            _mm_prefetch((const char *)(next[i] + 2 * line), _MM_HINT_T1);
        int end = smaller(line + LINE_UNITS, units);
        for (int p = line; p < end; p++, b += V * LANES) {
            __m512bh columns[V];
#pragma GCC unroll 4
            for (int v = 0; v < V; v++)
                columns[v] = (__m512bh)_mm512_load_si512(b + v * LANES);
#pragma GCC unroll 12
            for (int i = 0; i < MR; i++) {
                int unit;
                memcpy(&unit, a[i] + 2 * p, sizeof unit);
                __m512bh row = (__m512bh)_mm512_set1_epi32(unit);
#pragma GCC unroll 4
                for (int v = 0; v < V; v++)
                    s[i][v] = _mm512_dpbf16_ps(s[i][v], columns[v], row);
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < MR; i++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++)
            _mm512_store_ps(sum + i * ld + v * LANES, s[i][v]);
}

/* All rows times a panel of V vectors. `after`: what to prefetch after the last rows */
template <int V>
static void multiply_panel(
    int m, int units, const uint16_t *a, size_t lda, const uint16_t *after,
    const uint32_t *b, float *sum, size_t ld, bool first)
{
    constexpr int MR = V == 4 ? 6 : V == 1 ? 12 : 8;
    for (int i = 0; i < m; i += MR) {
        const uint16_t *rows[MR], *next[MR];
        for (int r = 0; r < MR; r++) {  // past the end, the last row again
            rows[r] = a + (size_t)smaller(i + r, m - 1) * lda;
            next[r] = i + MR < m ? a + (size_t)smaller(i + MR + r, m - 1) * lda
                                 : after + (size_t)smaller(r, m - 1) * lda;
        }
        tile<MR, V>(units, rows, next, b, sum + i * ld, ld, first);
    }
}

/* c = beta c + alpha sum^T; c is column-major. */
AVX512_BF16 static void store_sums(
    int m, int n, float alpha, const float *sum, size_t ld, float beta, float *c,
    size_t ldc)
{
    __m512 by = _mm512_set1_ps(alpha), keep = _mm512_set1_ps(beta);
    for (int j = 0; j < n; j += LANES)
        for (int i = 0; i < m; i += LANES) {
            __m512i x[LANES];
            for (int r = 0; r < LANES; r++)
                x[r] = i + r < m ? _mm512_load_si512(sum + (i + r) * ld + j)
                                 : _mm512_setzero_si512();
            transpose(x);
            __mmask16 some = (__mmask16)((1u << smaller(LANES, m - i)) - 1);
            for (int column = 0; column < smaller(LANES, n - j); column++) {
                float *out = c + (size_t)(j + column) * ldc + i;
                __m512 product = by * (__m512)x[column];
                if (beta != 0) product += keep * _mm512_maskz_loadu_ps(some, out);
                _mm512_mask_storeu_ps(out, some, product);
            }
        }
}

/* a: m rows of k elements, lda apart; b: n columns, ldb apart */
static void gemm(
    int m, int n, int k, float alpha, const uint16_t *a, int lda, const uint16_t *b,
    int ldb, float beta, float *c, int ldc)
{
    buffers *my = thread_buffers();
    size_t ld = (size_t)(n + LANES - 1) / LANES * LANES;
    for (int p = 0; p < k; p += 2 * UNITS) {
        int units = smaller(UNITS, (k - p) / 2);
        for (int j = 0; j < n; j += WIDTH) {
            uint32_t *panel = my->b + (size_t)j * UNITS;
            int vectors = smaller(VECTORS, (n - j + LANES - 1) / LANES);
            for (int v = 0; v < vectors; v++)
                pack_vectors(
                    panel + v * LANES, vectors * LANES,
                    b + (size_t)(j + v * LANES) * ldb + p,
                    smaller(LANES, n - j - v * LANES), LANES, 2 * units, (size_t)ldb);
            const uint16_t *from = a + p;
            const uint16_t *after = j + WIDTH < n ? from : from + 2 * units;
            auto multiply = vectors == 1   ? multiply_panel<1>
                            : vectors == 2 ? multiply_panel<2>
                            : vectors == 3 ? multiply_panel<3>
                                           : multiply_panel<4>;
            multiply(m, units, from, (size_t)lda, after, panel, my->sum + j, ld, p == 0);
        }
    }
    store_sums(m, n, alpha, my->sum, ld, beta, c, (size_t)ldc);
}
}  // namespace gemm_rows

#endif
