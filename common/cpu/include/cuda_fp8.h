/* fp8: not supported. docs/cpu-backend.md lists what is. */
#error "fp8 is not supported by the CPU back end: use cuda_fp16.h or cuda_bf16.h"
