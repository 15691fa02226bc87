/* cuda_awbarrier_primitives.h - barriers in shared memory: see wbcpu/mbarrier.h. */
#ifndef WBCPU_CUDA_AWBARRIER_PRIMITIVES_H
#define WBCPU_CUDA_AWBARRIER_PRIMITIVES_H
#include "cuda_runtime.h"
#include "wbcpu/mbarrier.h"

typedef uint64_t __mbarrier_t;
typedef uint64_t __mbarrier_token_t;

WBCPU_INLINE uint32_t __mbarrier_maximum_count()
{
    return WBCPU_MBARRIER_MAX;
}
WBCPU_INLINE void __mbarrier_init(__mbarrier_t *barrier, uint32_t expected)
{
    wbcpu_mbarrier_init(barrier, expected);
}
WBCPU_INLINE void __mbarrier_inval(__mbarrier_t *) {}
WBCPU_INLINE __mbarrier_token_t __mbarrier_arrive(__mbarrier_t *barrier)
{
    return wbcpu_mbarrier_arrive(barrier, 1, false);
}
WBCPU_INLINE __mbarrier_token_t __mbarrier_arrive_and_drop(__mbarrier_t *barrier)
{
    return wbcpu_mbarrier_arrive(barrier, 1, true);
}
WBCPU_INLINE uint32_t __mbarrier_token_pending_count(__mbarrier_token_t token)
{
    return token & WBCPU_MBARRIER_MAX;
}
WBCPU_INLINE bool __mbarrier_test_wait_parity(__mbarrier_t *barrier, bool parity)
{
    return wbcpu_mbarrier_ended(barrier, parity);
}
WBCPU_INLINE bool __mbarrier_test_wait(__mbarrier_t *barrier, __mbarrier_token_t token)
{
    return wbcpu_mbarrier_ended(barrier, wbcpu_mbarrier_parity(token));
}
WBCPU_INLINE bool
__mbarrier_try_wait(__mbarrier_t *barrier, __mbarrier_token_t token, uint32_t)
{
    return __mbarrier_test_wait(barrier, token);
}
WBCPU_INLINE bool __mbarrier_try_wait_parity(__mbarrier_t *barrier, bool parity, uint32_t)
{
    return __mbarrier_test_wait_parity(barrier, parity);
}
#endif
