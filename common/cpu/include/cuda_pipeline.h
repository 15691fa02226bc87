/* cuda_pipeline.h - asynchronous copies to shared memory. Here a copy is synchronous, so
 * there is nothing to commit or wait for. As on a GPU, data copied by other threads is
 * visible only after a barrier. */
#ifndef WBCPU_CUDA_PIPELINE_H
#define WBCPU_CUDA_PIPELINE_H
#include <string.h>

#include "cuda_runtime.h"

WBCPU_INLINE void
__pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0)
{
    memcpy(to, from, bytes - zeros);
    memset((char *)to + bytes - zeros, 0, zeros);
}
WBCPU_INLINE void __pipeline_commit() {}
WBCPU_INLINE void __pipeline_wait_prior(size_t) {}
#endif
