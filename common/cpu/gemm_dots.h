/* gemm_dots.h - C = A B for bf16 rows of A and few columns of B, as in the prefill of a
 * short prompt: both are contiguous along k, so every element of C is a dot product of
 * vectors in memory, and nothing is packed. Packing (gemm_blocks.h) reads and writes A
 * once more, which does not pay off for few columns.
 *
 * A tile of MR x NR dot products is kept in 24 of 32 registers, 16 partial sums
 * each. The rows come from memory while the previous ones are multiplied; after the first
 * columns they are in the L1 cache. Included by gemm_bf16.cpp.
 */
#ifndef WBCPU_GEMM_DOTS_H
#define WBCPU_GEMM_DOTS_H
#include "gemm_blocks.h"  // smaller

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace gemm_dots
{
using gemm_blocks::smaller;

enum {
    MR = 4,
    NR = 6,        // rows and columns of a tile
    STEP = 32,     // elements of a vector
    DEPTH = 1280,  // of k per pass: MR x DEPTH elements are 10 KB
    LINE = 32,     // elements of a cache line
    MAX_COLUMNS = 192,
    K_PER_COLUMN = 6  // for smaller k, the final reduction costs too much
};

static inline bool fits(int n, int k)
{
    return n <= MAX_COLUMNS && n * K_PER_COLUMN <= k;
}

/* `count` <= N vectors, `ld` apart; the last one is repeated up to N. */
template <int N> struct vectors {
    const uint16_t *at[N];
    vectors(const uint16_t *first, int count, size_t ld)
    {
        for (int i = 0; i < N; i++)
            at[i] = first + (size_t)smaller(i, count - 1) * ld;
    }
};

/* The horizontal sums of four vectors. */
AVX512_BF16 static inline __m128 add_up(const __m512 *x)
{
    __m512 first = _mm512_unpacklo_ps(x[0], x[1]) + _mm512_unpackhi_ps(x[0], x[1]);
    __m512 last = _mm512_unpacklo_ps(x[2], x[3]) + _mm512_unpackhi_ps(x[2], x[3]);
    __m512d f = _mm512_castps_pd(first), l = _mm512_castps_pd(last);
    __m512 sums = _mm512_castpd_ps(_mm512_unpacklo_pd(f, l)) +
                  _mm512_castpd_ps(_mm512_unpackhi_pd(f, l));
    __m256d upper = _mm512_extractf64x4_pd(_mm512_castps_pd(sums), 1);
    __m256 half = _mm512_castps512_ps256(sums) + _mm256_castpd_ps(upper);
    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}

/* sum[j][i] += a[i] b[j] for the last elements, fewer than STEP */
AVX512_BF16 __attribute__((noinline)) static void add_rest(
    __m512 (&sum)[NR][MR], const vectors<MR> &a, const vectors<NR> &b, int p, int left)
{
    __mmask32 some = ((__mmask32)1 << left) - 1;
    for (int j = 0; j < NR; j++)
        for (int i = 0; i < MR; i++)
            sum[j][i] = _mm512_dpbf16_ps(
                sum[j][i], (__m512bh)_mm512_maskz_loadu_epi16(some, a.at[i] + p),
                (__m512bh)_mm512_maskz_loadu_epi16(some, b.at[j] + p));
}

/* c = beta c + alpha a b for rows x columns of a tile; c is column-major. */
AVX512_BF16 static void tile(
    int k, float alpha, const vectors<MR> &a, const vectors<NR> &b, float beta, float *c,
    size_t ldc, int rows, int columns)
{
    __m512 sum[NR][MR];
#pragma GCC unroll 8
    for (int j = 0; j < NR; j++)
#pragma GCC unroll 8
        for (int i = 0; i < MR; i++)
            sum[j][i] = _mm512_setzero_ps();
    int p = 0;
    for (; p + STEP <= k; p += STEP) {
        __m512bh row[MR];
#pragma GCC unroll 8  // the arrays become registers
        for (int i = 0; i < MR; i++)
            row[i] = (__m512bh)_mm512_loadu_si512(a.at[i] + p);
#pragma GCC unroll 8
        for (int j = 0; j < NR; j++) {
            __m512bh column = (__m512bh)_mm512_loadu_si512(b.at[j] + p);
#pragma GCC unroll 8
            for (int i = 0; i < MR; i++)
                sum[j][i] = _mm512_dpbf16_ps(sum[j][i], row[i], column);
        }
    }
    if (p < k) add_rest(sum, a, b, p, k - p);
    __m128 by = _mm_set1_ps(alpha), keep = _mm_set1_ps(beta);
#pragma GCC unroll 8
    for (int j = 0; j < NR; j++, c += ldc) {
        if (j >= columns) break;
        __m128 product = by * add_up(sum[j]);
        if (rows == MR) {
            if (beta != 0) product += keep * _mm_loadu_ps(c);
            _mm_storeu_ps(c, product);
            continue;
        }
        for (int i = 0; i < rows; i++)
            c[i] = beta == 0 ? product[i] : beta * c[i] + product[i];
    }
}

/* Prefetches share `part` of `parts` of the next rows into the L2 cache. always_inline:
 * g++ removes calls to a function that only prefetches. */
__attribute__((always_inline)) static inline void
prefetch(const uint16_t *rows, size_t ld, int depth, int part, int parts)
{
    int lines = (depth + LINE - 1) / LINE;
    int begin = lines * part / parts, end = lines * (part + 1) / parts;
    for (int i = 0; i < MR; i++)
        for (int l = begin; l < end; l++)
            _mm_prefetch((const char *)(rows + i * ld + l * LINE), _MM_HINT_T1);
}

/* a: m rows of k elements, lda apart; b: n columns, ldb apart */
static void gemm(
    int m, int n, int k, float alpha, const uint16_t *a, int lda, const uint16_t *b,
    int ldb, float beta, float *c, int ldc)
{
    int parts = (n + NR - 1) / NR;
    for (int p = 0; p < k; p += DEPTH) {
        int depth = smaller(DEPTH, k - p);
        for (int i = 0; i < m; i += MR) {
            const uint16_t *row = a + (size_t)i * lda + p;
            int rows = smaller(MR, m - i);
            for (int part = 0; part < parts; part++) {
                int j = part * NR, columns = smaller(NR, n - j);
                if (i + 2 * MR <= m)
                    prefetch(row + (size_t)MR * lda, lda, depth, part, parts);
                tile(
                    depth, alpha, {row, rows, (size_t)lda},
                    {b + (size_t)j * ldb + p, columns, (size_t)ldb}, p == 0 ? beta : 1,
                    c + (size_t)j * ldc + i, ldc, rows, columns);
            }
        }
    }
}
}  // namespace gemm_dots

#endif
