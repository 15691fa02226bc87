/* cuBLASLt: not supported. docs/cpu-backend.md lists what is. */
#error "cuBLASLt is not supported by the CPU back end: use cublas_v2.h"
