/* gemm.cpp - a small SGEMM for machines without OpenBLAS: gemm_blocks.h with a kernel for
 * float. Vectors use the vector_size attribute of g++ and clang, so one source serves
 * every CPU. */
#include "gemm.h"
#include "gemm_blocks.h"

struct f32_kernel {
    /* The tile takes all vector registers except those for a column of A and a B element. */
#if defined(__AVX512F__)
    enum { LANES = 16, TILE_COLUMNS = 12 };  // 24 of 32 registers
#elif defined(__AVX__)
    enum { LANES = 8, TILE_COLUMNS = 6 };  // 12 of 16
#elif defined(__aarch64__)
    enum { LANES = 4, TILE_COLUMNS = 12 };  // 24 of 32
#else
    enum { LANES = 4, TILE_COLUMNS = 6 };  // 12 of 16
#endif
    enum { VECTORS = 2 };
    typedef float vec __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

    typedef float unit;
    typedef float element;
    enum { PER_UNIT = 1, MR = VECTORS * LANES, NR = TILE_COLUMNS };

    template <int WIDTH>
    static void
    pack(float *out, const float *in, int count, int k, size_t across, size_t along)
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

    static void tile(
        int k, float alpha, const float *a, const float *b, float beta, float *c,
        size_t ldc)
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
};

void wbcpu_own_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    gemm_blocks::gemm<f32_kernel>(
        transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
