/* cooperative_groups/memcpy_async.h - a group copies to shared memory together. */
#ifndef WBCPU_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define WBCPU_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../cuda/barrier"

namespace cooperative_groups
{
template <class Group, class Bytes>
WBCPU_INLINE void memcpy_async(const Group &group, void *to, const void *from, Bytes bytes)
{
    cuda::wbcpu_detail::copy_pieces(
        (unsigned)group.thread_rank(), (unsigned)group.size(), to, from, (size_t)bytes);
    wbcpu_copy_commit();
}
/* Elements; to and from may hold different numbers of them. */
template <class Group, class To, class From>
WBCPU_INLINE void
memcpy_async(const Group &group, To *to, size_t room, const From *from, size_t count)
{
    memcpy_async(group, (void *)to, from, sizeof(To) * (count < room ? count : room));
}
template <class Group> WBCPU_INLINE void wait(const Group &group)
{
    wbcpu_copy_wait(0);
    group.sync();
}
/* Until at most `Stages` of the newest copies are left */
template <unsigned Stages, class Group> WBCPU_INLINE void wait_prior(const Group &group)
{
    wbcpu_copy_wait(Stages);
    group.sync();
}
}  // namespace cooperative_groups
#endif
