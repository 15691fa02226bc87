/* cuBLASLt is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "cuBLASLt is not supported by the cpu backend: use cublas_v2.h"
