/* old_warp.h - the warp functions without a mask, which CUDA 9 deprecated: the lanes that
 * are active together take part. Only GPUs before Volta had them. */
#ifndef WBCPU_OLD_WARP_H
#define WBCPU_OLD_WARP_H

#include "warp.h"

WBCPU_INLINE unsigned wbcpu_active()
{
    return (unsigned)wbcpu_collective(WBCPU_OP_ACTIVE, 0, 0, 0);
}
template <class T> WBCPU_INLINE T __shfl(T v, int source, int width = 32)
{
    return __shfl_sync(wbcpu_active(), v, source, width);
}
template <class T> WBCPU_INLINE T __shfl_up(T v, unsigned delta, int width = 32)
{
    return __shfl_up_sync(wbcpu_active(), v, delta, width);
}
template <class T> WBCPU_INLINE T __shfl_down(T v, unsigned delta, int width = 32)
{
    return __shfl_down_sync(wbcpu_active(), v, delta, width);
}
template <class T> WBCPU_INLINE T __shfl_xor(T v, int lanes, int width = 32)
{
    return __shfl_xor_sync(wbcpu_active(), v, lanes, width);
}
WBCPU_INLINE unsigned __ballot(int p)
{
    return __ballot_sync(wbcpu_active(), p);
}
WBCPU_INLINE int __any(int p)
{
    return __any_sync(wbcpu_active(), p);
}
WBCPU_INLINE int __all(int p)
{
    return __all_sync(wbcpu_active(), p);
}

#endif
