/* cell.h - do two accesses to one word conflict? What runs at each access; internal to check
 * mode. race.cpp reports.
 */
#ifndef WBCPU_CHECK_CELL_H
#define WBCPU_CHECK_CELL_H

#include "order.h"

namespace wbcpu::check
{
/* Threads are numbered in the grid, from 1; 0: none. Times are those of order.h. */
struct cell_access {
    uint32_t thread, time;
    uint16_t site;
    uint8_t mask; /* bytes of the word */
    bool atomic;
};
/* The accesses to one aligned word of 4 bytes that a later access may conflict with: the
 * last plain write, the last atomic or volatile one, and the last reads of two threads. */
struct cell {
    uint32_t stamp; /* of the launch or block that the rest belongs to */
    cell_access writer[2], reader[2];
};
struct earlier {
    uint32_t thread; /* in the grid, from 1 */
    unsigned site;
    bool write;
};
/* Reports that nothing orders this access and the earlier one. */
void race(worker *w, const access &a, const earlier &e, bool shared);

/* Does what a thread of the grid (from 1) did at its time happen before what the running
 * thread does now? */
inline bool happens_before(worker *w, uint32_t number, uint32_t time, bool was_read)
{
    uint32_t first = (uint32_t)(w->block * w->threads) + 1;
    if (number - first < w->threads)
        return ordered(w->thread, number - first, time, was_read);
    return ordered_block(
        w->thread, (number - 1) / w->threads, (number - 1) % w->threads, time, was_read);
}

/* May the running thread, `me`, have made its access before the other one was finished? */
inline bool
unordered(worker *w, uint32_t me, uint8_t mask, const cell_access &other, bool was_read)
{
    return other.thread && other.thread != me && other.mask & mask &&
           !happens_before(w, other.thread, other.time, was_read);
}

/* Do two atomic or volatile accesses tolerate each other? Volatile ones of one warp do
 * not: nothing orders its lanes. */
inline bool tolerated(worker *w, const access &a, uint32_t other)
{
    uint32_t first = (uint32_t)(w->block * w->threads) + 1;
    return a.atomic && !(a.polled && (other - first) / 32 == w->thread / 32);
}

WBCPU_INLINE void
check_cell(worker *w, cell &c, uint32_t stamp, const access &a, uint8_t mask, bool shared)
{
    if (c.stamp != stamp) {
        c = {};
        c.stamp = stamp;
    }
    uint32_t me = (uint32_t)(w->block * w->threads) + w->thread + 1;
    cell_access now = {me, time_of(w->thread), a.at->number, mask, a.atomic};
    for (int i = 0; i < 2; i++)
        if (unordered(w, me, mask, c.writer[i], false) &&
            !(i == 1 && tolerated(w, a, c.writer[i].thread)))
            race(w, a, {c.writer[i].thread, c.writer[i].site, true}, shared);
    if (!a.write) {
        if (c.reader[0].thread != me) c.reader[1] = c.reader[0];
        c.reader[0] = now;
        return;
    }
    for (int i = 0; i < 2; i++)
        if (unordered(w, me, mask, c.reader[i], true) &&
            !(c.reader[i].atomic && tolerated(w, a, c.reader[i].thread))) {
            race(w, a, {c.reader[i].thread, c.reader[i].site, false}, shared);
            break;
        }
    cell_access &last = c.writer[a.atomic];
    if (last.thread == me && last.time == now.time) now.mask |= last.mask;
    last = now;
}
}  // namespace wbcpu::check

#endif
