/* gemm.h - single-threaded SGEMM, from OpenBLAS or from gemm.cpp. */
#ifndef WBCPU_GEMM_H
#define WBCPU_GEMM_H

/* Column-major: C (m,n) = alpha op(A) op(B) + beta C. If beta is 0, C is not read. */
typedef void wbcpu_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* The one of gemm.cpp, always available. */
wbcpu_sgemm wbcpu_own_sgemm;

/* Returns OpenBLAS's if installed, else wbcpu_own_sgemm. WB_BLAS=path and WB_BLAS=own
 * override this; for an unusable path it prints a message and returns NULL. */
wbcpu_sgemm *wbcpu_choose_sgemm(void);

/* The path of the chosen library, or "own"; for `make doctor` and benchmarks. */
extern "C" const char *wbcpu_sgemm_name(void);

#endif
