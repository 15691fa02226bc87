/* cuda_check.h - for programs: a CUDA call that fails prints file:line, the error and the
 * call, and exits with status 1. */
#ifndef CUDA_CHECK_H
#define CUDA_CHECK_H
#include <cuda_runtime_api.h>

#define CUDA_CHECK(call) cuda_check((call), #call, __FILE__, __LINE__)
void cuda_check(cudaError_t e, const char *call, const char *file, int line);

#endif
