/* cell.h - do two accesses to one word conflict? What runs at each access; internal to check
 * mode. race.cpp reports.
 */
#ifndef WBCPU_CHECK_CELL_H
#define WBCPU_CHECK_CELL_H

#include "order.h"

namespace wbcpu::check
{
/* The accesses to one aligned word of 4 bytes that a later access may conflict with: the
 * last plain write, the last atomic one, and the last reads of two threads. Threads are
 * numbered in the grid, from 1; times are those of order.h. */
struct cell {
    uint32_t stamp;                /* of the launch or block that the rest belongs to */
    uint32_t writer[2], reader[2]; /* writer[1]: atomic, or volatile */
    uint32_t write_time[2], read_time[2];
    uint16_t write_site[2], read_site[2];
    uint8_t write_mask[2], read_mask[2]; /* bytes of the word */
    bool atomic_read[2];
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

inline void add_reader(cell &c, uint32_t me, uint32_t time, const access &a, uint8_t mask)
{
    if (c.reader[0] != me) { /* the older one moves to the second place */
        c.reader[1] = c.reader[0];
        c.read_time[1] = c.read_time[0];
        c.read_site[1] = c.read_site[0];
        c.read_mask[1] = c.read_mask[0];
        c.atomic_read[1] = c.atomic_read[0];
    }
    c.reader[0] = me;
    c.read_time[0] = time;
    c.read_site[0] = a.at->number;
    c.read_mask[0] = mask;
    c.atomic_read[0] = a.atomic;
}

inline bool unordered(
    worker *w, uint32_t me, uint8_t mask, uint32_t other, uint32_t time,
    uint8_t other_mask, bool was_read)
{
    return other && other != me && other_mask & mask &&
           !happens_before(w, other, time, was_read);
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
    uint32_t time = time_of(w->thread);
    for (int i = 0; i < 2; i++)
        if (unordered(
                w, me, mask, c.writer[i], c.write_time[i], c.write_mask[i], false) &&
            !(i == 1 && tolerated(w, a, c.writer[i])))
            race(w, a, {c.writer[i], c.write_site[i], true}, shared);
    if (!a.write) {
        add_reader(c, me, time, a, mask);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (unordered(w, me, mask, c.reader[i], c.read_time[i], c.read_mask[i], true) &&
            !(c.atomic_read[i] && tolerated(w, a, c.reader[i]))) {
            race(w, a, {c.reader[i], c.read_site[i], false}, shared);
            break;
        }
    int i = a.atomic;
    bool again = c.writer[i] == me && c.write_time[i] == time;
    c.write_mask[i] = again ? c.write_mask[i] | mask : mask;
    c.writer[i] = me;
    c.write_time[i] = time;
    c.write_site[i] = a.at->number;
}
}  // namespace wbcpu::check

#endif
