/* gemm_bf16.cpp - a GEMM of bf16 factors with float sums, for CPUs with AVX-512 BF16:
 * around VDPBF16PS, which adds 16 dot products of two elements. Linear layers go to
 * gemm_rows.h, or to gemm_amx.h on a CPU with AMX, other layouts to gemm_blocks.h. Without
 * VDPBF16PS, gemm_call.cpp widens the factors to float, which takes at least twice as long.
 *
 * Results are those of float arithmetic: no product is rounded, and each sum is rounded
 * like a float addition. Only subnormal numbers differ, because the instruction reads and
 * writes them as 0. */
#include "gemm.h"

#if defined(__x86_64__)
#include "gemm_blocks.h"

#include <immintrin.h>
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12, in its own header
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

enum { LANES = 16, VECTORS = 2 };

/* Element (i, j) becomes (j, i), for 16 x 16 units. */
AVX512_BF16 static void transpose(__m512i *x)
{
    __m512i t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4)
        for (int j = 0; j < 2; j++) {
            x[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + 2 + j]);
            x[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + 2 + j]);
        }
    // x[4 r + c] has columns c, 4 + c, 8 + c, 12 + c of rows 4 r to 4 r + 3
    for (int c = 0; c < 4; c++) {
        t[c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x88);
        t[4 + c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xdd);
        t[8 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x88);
        t[12 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xdd);
    }
    for (int c = 0; c < 4; c++) {
        x[c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0x88);
        x[8 + c] = _mm512_shuffle_i32x4(t[c], t[8 + c], 0xdd);
        x[4 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0x88);
        x[12 + c] = _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0xdd);
    }
}

/* 16 vectors of 32 elements, all of them in the matrix */
AVX512_BF16 static inline void
pack_whole(uint32_t *out, int width, const uint16_t *in, size_t across)
{
    __m512i x[LANES];
    for (int i = 0; i < LANES; i++)
        x[i] = _mm512_loadu_si512(in + i * across);
    transpose(x);
    for (int i = 0; i < LANES; i++)
        _mm512_storeu_si512(out + (size_t)i * width, x[i]);
}

/* Vectors of neighbouring elements: up to 16 of them become columns of the panel. */
AVX512_BF16 static void pack_vectors(
    uint32_t *out, int width, const uint16_t *in, int count, int columns, int k,
    size_t across)
{
    __mmask16 whole = (__mmask16)((1u << columns) - 1);
    for (int p = 0; p < k; p += 2 * LANES) {
        int left = k - p < 2 * LANES ? k - p : 2 * LANES, units = (left + 1) / 2;
        if (left == 2 * LANES && count == LANES) {
            pack_whole(out + (size_t)(p / 2) * width, width, in + p, across);
            continue;
        }
        __mmask32 some = (__mmask32)((1ull << left) - 1);
        __m512i x[LANES];
        for (int i = 0; i < LANES; i++)
            x[i] = i < count ? _mm512_maskz_loadu_epi16(some, in + i * across + p)
                             : _mm512_setzero_si512();
        transpose(x);
        for (int i = 0; i < units; i++)
            _mm512_mask_storeu_epi32(out + (size_t)(p / 2 + i) * width, whole, x[i]);
    }
}

/* Neighbouring elements of one step of k: two steps are interleaved. */
AVX512_BF16 static void pack_steps(
    uint32_t *out, int width, const uint16_t *in, int count, int columns, int k,
    size_t along)
{
    __mmask16 whole = (__mmask16)((1u << columns) - 1);
    __mmask16 some = (__mmask16)((1u << count) - 1);
    for (int p = 0; p < k; p += 2) {
        __m256i even = _mm256_maskz_loadu_epi16(some, in + p * along);
        __m256i odd = p + 1 < k ? _mm256_maskz_loadu_epi16(some, in + (p + 1) * along)
                                : _mm256_setzero_si256();
        __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16);
        __m512i units = _mm512_or_si512(_mm512_cvtepu16_epi32(even), high);
        _mm512_mask_storeu_epi32(out + (size_t)(p / 2) * width, whole, units);
    }
}

struct bf16_kernel {
    typedef uint32_t unit;  // two elements; the first is the lower half
    typedef uint16_t element;
    enum { PER_UNIT = 2, MR = VECTORS * LANES, NR = 12 };  // 24 of 32 registers

    template <int WIDTH>
    static void
    pack(uint32_t *out, const uint16_t *in, int count, int k, size_t across, size_t along)
    {
        for (int i = 0; i < WIDTH; i += LANES) {
            int columns = WIDTH - i < LANES ? WIDTH - i : LANES;
            int some = count < i ? 0 : count - i < columns ? count - i : columns;
            if (along == 1)
                pack_vectors(out + i, WIDTH, in + i * across, some, columns, k, across);
            else
                pack_steps(out + i, WIDTH, in + i, some, columns, k, along);
        }
    }

    AVX512_BF16 static void tile(
        int units, float alpha, const uint32_t *a, const uint32_t *b, float beta,
        float *c, size_t ldc)
    {
        __m512 sum[NR][VECTORS];
        for (int j = 0; j < NR; j++)
            for (int i = 0; i < VECTORS; i++)
                sum[j][i] = _mm512_setzero_ps();
        for (int p = 0; p < units; p++, a += MR, b += NR) {
            __m512bh column[VECTORS];
            for (int i = 0; i < VECTORS; i++)
                column[i] = (__m512bh)_mm512_load_si512(a + i * LANES);
#pragma GCC unroll 16
            for (int j = 0; j < NR; j++) {
                __m512bh row = (__m512bh)_mm512_set1_epi32((int)b[j]);
                for (int i = 0; i < VECTORS; i++)
                    sum[j][i] = _mm512_dpbf16_ps(sum[j][i], column[i], row);
            }
        }
        __m512 by = _mm512_set1_ps(alpha), keep = _mm512_set1_ps(beta);
        for (int j = 0; j < NR; j++, c += ldc)
            for (int i = 0; i < VECTORS; i++) {
                __m512 product = by * sum[j][i];
                if (beta != 0) product += keep * _mm512_loadu_ps(c + i * LANES);
                _mm512_storeu_ps(c + i * LANES, product);
            }
    }
};

#include "gemm_rows.h"  // uses transpose and pack_vectors

#include "gemm_amx.h"

static bool has_amx;

static void bf16_gemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
    const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta, float *c, int ldc)
{
    if (transpose_a && !transpose_b && has_amx && gemm_amx::fits(m, n, k)) {
        gemm_amx::gemm(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }
    if (transpose_a && !transpose_b && gemm_rows::fits(m, n, k)) {
        gemm_rows::gemm(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }
    gemm_blocks::gemm<bf16_kernel>(
        transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

wbcpu_bf16_gemm *wbcpu_choose_bf16_gemm(void)
{
    const char *blas = getenv("WB_BLAS");
    if (blas && *blas) return nullptr;
    bool supported =
        __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    static const bool asked = has_amx = supported && gemm_amx::is_available();
    (void)asked;  // once: a process keeps the permission
    return supported ? bf16_gemm : nullptr;
}

#else
wbcpu_bf16_gemm *wbcpu_choose_bf16_gemm(void)
{
    return nullptr;
}
#endif
