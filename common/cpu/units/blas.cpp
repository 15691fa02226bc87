/* blas.cpp - cuBLAS, except GEMM in float and 16-bit types; cuBLASLt; cuSPARSE.
 * Options: -O1 -ftree-vectorize. */
#include "../blas_matrices.cpp"
#include "../blas_mixed.cpp"
#include "../blas_vectors.cpp"
#include "../cublas_status.cpp"
#include "../cublaslt.cpp"
#include "../sparse.cpp"
#include "../sparse_descriptions.cpp"
