/* log.h - the log of what the running thread does, for counts.cpp; internal to check mode.
 * Each basic block and access of a kernel adds an entry.
 */
#ifndef WBCPU_CHECK_LOG_H
#define WBCPU_CHECK_LOG_H

#include "check.h"

namespace wbcpu::check
{
/* What a lane did since the warp converged, an access or block in 64 bits: */
struct lane_log {
    uint64_t *entry;
    unsigned used, room;
};
constexpr uint64_t offset_bits = ((uint64_t)1 << 44) - 1;
WBCPU_INLINE uint64_t
access_entry(const site *at, unsigned bytes, bool shared, uint64_t offset)
{
    uint64_t size = (uint64_t)__builtin_ctz(bytes);
    return offset | size << 44 | (uint64_t)shared << 47 | (uint64_t)at->number << 48;
}
inline bool is_block(uint64_t entry) /* the start of a basic block: its address */
{
    return entry >> 48 == 0;
}

/* The thread that was the last to log something, almost always the next, too: its next
 * entry, and the end of the room for them. `used` of its log is set when it stops. */
struct writing_log {
    const worker *by; /* never the running worker: no thread */
    unsigned thread;
    uint64_t *next, *end;
    lane_log *of;
};
extern writing_log writing;
void log_first(worker *w, uint64_t entry);
WBCPU_INLINE bool log_goes_on(const worker *w) /* not in host code */
{
    return w == writing.by && w->thread == writing.thread && writing.next != writing.end;
}
WBCPU_INLINE void log_more(uint64_t entry)
{
    *writing.next++ = entry;
}
WBCPU_INLINE void log_entry(worker *w, uint64_t entry)
{
    if (__builtin_expect(!log_goes_on(w), 0)) return log_first(w, entry);
    log_more(entry);
}
}  // namespace wbcpu::check

#endif
