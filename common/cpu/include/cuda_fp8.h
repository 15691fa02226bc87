/* fp8 is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "fp8 is not supported by the cpu backend: use cuda_fp16.h or cuda_bf16.h"
