/* cuda_pipeline.h - asynchronous copies to shared memory. Here a copy is synchronous, so
 * there is nothing to commit or wait for; in check mode it happens at the wait. As on a
 * GPU, data copied by other threads is visible only after a barrier. */
#ifndef WBCPU_CUDA_PIPELINE_H
#define WBCPU_CUDA_PIPELINE_H
#include "cuda_awbarrier_primitives.h"

WBCPU_INLINE void
__pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0)
{
    wbcpu_copy_async(to, from, (unsigned)bytes, (unsigned)zeros);
}
WBCPU_INLINE void __pipeline_commit()
{
    wbcpu_copy_commit();
}
WBCPU_INLINE void __pipeline_wait_prior(size_t newest)
{
    wbcpu_copy_wait((unsigned)newest);
}
WBCPU_INLINE void __pipeline_arrive_on(__mbarrier_t *barrier)
{
    wbcpu_mbarrier_take_copies(barrier);
}
#endif
