/* loops.cpp - loops that -O2 does not turn into vector code. Options: -O3. */
#include "../cublas.cpp"
#include "../cublas_handles.cpp"
#include "../gemm.cpp"
#include "../gemm_bf16.cpp"
#include "../gemm_call.cpp"
#include "../mma.cpp"
#include "../openblas.cpp"
#include "../wgmma.cpp"
