/* lessons.h - what threads have learned from atomic operations; internal to check mode. */
#ifndef WBCPU_CHECK_LESSONS_H
#define WBCPU_CHECK_LESSONS_H

#include "order.h"

#include <algorithm>
#include <map>
#include <memory>
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

/* Of the running block */
struct block_order : block_clocks {
    uint32_t fence[max_threads]; /* at the last __threadfence */
    uint32_t async[max_threads]; /* at the last fence_async */
    uint32_t phase[max_threads]; /* of the cluster barrier that is known to have ended */
    uint32_t syncs, fence_syncs[max_threads]; /* of the block, and then */
    /* Collectives of a part of a warp: what lane l knows of lane k, [w][l][k] */
    uint32_t partial[max_warps][32][32];
    uint32_t partial_block[max_warps];   /* the block that it belongs to */
    std::map<uint64_t, lessons> learned; /* by block */
};
extern block_order *orders[max_cluster]; /* by rank */
extern WBCPU_THREAD_LOCAL block_order *here;
/* The latest time of `before` that `thread` knows without __threadfence */
uint32_t known_time(unsigned thread, unsigned before);

/* signals.cpp */
extern bool signals;            /* the launch has a __threadfence or a volatile write */
void forget_signals();          /* a launch begins */
void forget_signals_of_block(); /* a block begins: shared memory starts again */
void forget_barrier(const void *barrier); /* it is initialised */
/* Has the thread learned, alone or since from another, that what `before` did in its
 * block until `time` happened before what it does now? */
bool learned_of(
    uint64_t block, unsigned thread, unsigned before, uint32_t time, bool was_read);
}  // namespace wbcpu::check

#endif
