/* gemm.h - single-threaded GEMMs: SGEMM from OpenBLAS or from gemm.cpp, and bf16 factors
 * where the CPU multiplies them. */
#ifndef WBCPU_GEMM_H
#define WBCPU_GEMM_H
#include <stdint.h>

/* Column-major: C (m,n) = alpha op(A) op(B) + beta C. If beta is 0, C is not read. */
typedef void wbcpu_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* The one of gemm.cpp, always available. */
wbcpu_sgemm wbcpu_own_sgemm;

/* Returns OpenBLAS's if the build found the library, else wbcpu_own_sgemm. If the library
 * can no longer be loaded, prints a message and returns wbcpu_own_sgemm. WB_BLAS=path and
 * WB_BLAS=own override this; for an unusable path it prints a message and returns
 * NULL. */
wbcpu_sgemm *wbcpu_choose_sgemm(void);

/* The same for bf16 factors, as bits, with float sums and a float C. */
typedef void wbcpu_bf16_gemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha,
    const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta, float *c,
    int ldc);

/* Returns NULL without AVX-512 BF16, or where WB_BLAS names the library for all GEMMs:
 * then the factors are widened to float. */
wbcpu_bf16_gemm *wbcpu_choose_bf16_gemm(void);

#endif
