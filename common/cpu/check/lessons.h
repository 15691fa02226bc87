/* lessons.h - what threads have learned from atomic operations; internal to check mode. */
#ifndef WBCPU_CHECK_LESSONS_H
#define WBCPU_CHECK_LESSONS_H

#include <algorithm>
#include <memory>
#include <stdint.h>
#include <vector>

namespace wbcpu::check
{
/* What is known of the threads of a block: what they did up to these times happened
 * before. */
struct times {
    std::vector<uint32_t> covered; /* all accesses */
    std::vector<uint32_t> read;    /* reads */
    uint32_t phase = 0;            /* of the cluster barrier, if it is of this cluster */
    void add(const times &more);
};
typedef std::shared_ptr<const times> times_ptr;
/* Of both; one of the two if it knows all. Then many threads share it, and a == b is
 * frequent. */
times_ptr joined(const times_ptr &a, const times_ptr &b);

struct lesson {
    unsigned thread; /* that learned it */
    uint32_t time;   /* its time */
    times_ptr what;
};
/* Of the threads that learned something, by their numbers. */
struct lessons {
    std::vector<lesson> all;
    /* The thread's, or the next one's */
    std::vector<lesson>::iterator find(unsigned thread)
    {
        auto before = [](const lesson &l, unsigned t) { return l.thread < t; };
        return std::lower_bound(all.begin(), all.end(), thread, before);
    }
    lesson &of(unsigned thread)
    {
        auto at = find(thread);
        if (at == all.end() || at->thread != thread) at = all.insert(at, {thread, 0, {}});
        return *at;
    }
};
}  // namespace wbcpu::check

#endif
