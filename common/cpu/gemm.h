/* gemm.h - one thread's matrix product, from OpenBLAS or from gemm.cpp. */
#ifndef WBCPU_GEMM_H
#define WBCPU_GEMM_H

/* Column-major: C (m,n) = alpha op(A) op(B) + beta C; C is not read where beta is 0. */
typedef void wbcpu_sgemm(
    bool transpose_a, bool transpose_b, int m, int n, int k, float alpha, const float *a,
    int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* The workbook's own, always there. */
wbcpu_sgemm wbcpu_own_sgemm;

/* OpenBLAS's where it is installed, else the own one; WB_BLAS=path, WB_BLAS=own choose.
 * A path that cannot be used is told on stderr and gives NULL. */
wbcpu_sgemm *wbcpu_choose_sgemm(void);

/* Which one that is, for `make doctor` and benchmarks: its path, or "own". */
extern "C" const char *wbcpu_sgemm_name(void);

#endif
