/* cell.h - do two accesses to one word conflict? What runs at each access; internal to check
 * mode. race.cpp reports.
 */
#ifndef WBCPU_CHECK_CELL_H
#define WBCPU_CHECK_CELL_H

#include "order.h"

namespace wbcpu::check
{
/* Threads are numbered in the grid, from 1; 0: none. Times are those of order.h. Two words,
 * each written and read as a whole, because they are copied at almost every access. */
struct cell_access {
    uint64_t who;  /* thread, and its time << 32 */
    uint32_t what; /* site, bytes of the word << 16, atomic << 24, volatile << 25 */

    uint32_t thread() const
    {
        return (uint32_t)who;
    }
    uint32_t time() const
    {
        return (uint32_t)(who >> 32);
    }
    unsigned site() const
    {
        return (uint16_t)what;
    }
    uint8_t mask() const
    {
        return (uint8_t)(what >> 16);
    }
    bool atomic() const
    {
        return what >> 24;
    }
    bool polled() const
    {
        return what >> 25;
    }
};
/* The accesses to one aligned word of 4 bytes that a later access may conflict with: the
 * last plain write, the last atomic or volatile one, and the last reads of two threads. */
enum { WRITER, ATOMIC_WRITER, READER, READER_BEFORE };
struct cell {
    uint64_t who[4];
    uint32_t what[4];
    uint32_t stamp;  /* of the launch or block that the rest belongs to */
    uint8_t written; /* in shared memory: bytes that threads have written */

    cell_access at(int i) const
    {
        return {who[i], what[i]};
    }
    void set(int i, cell_access a)
    {
        who[i] = a.who, what[i] = a.what;
    }
};
struct earlier {
    uint32_t thread; /* in the grid, from 1 */
    unsigned site;
    bool write, atomic; /* atomic: not a volatile access */
};
/* Reports that nothing orders this access and the earlier one. */
void race(worker *w, const access &a, const earlier &e, bool shared);

/* Does what a thread of the grid (from 1) did at its time happen before what the running
 * thread does now? */
WBCPU_INLINE bool happens_before(worker *w, uint32_t number, uint32_t time, bool was_read)
{
    uint32_t before = number - current.first_thread;
    if (before < w->threads) return ordered(w->thread, before, time, was_read);
    return ordered_block(
        w->thread, (number - 1) / w->threads, (number - 1) % w->threads, time, was_read);
}

/* Do two atomic or volatile accesses tolerate each other? Two volatile ones of one warp do
 * not: nothing orders its lanes. */
inline bool tolerated(worker *w, const access &a, const cell_access &other)
{
    return a.atomic &&
           !(a.polled && other.polled() &&
             (other.thread() - current.first_thread) / 32 == w->thread / 32);
}

/* May the running thread, `me`, have made this access before the i-th that the cell keeps
 * was finished? Then that races. */
WBCPU_INLINE bool
conflicts(worker *w, const cell &c, int i, uint32_t me, const access &a, uint8_t mask)
{
    cell_access other = c.at(i);
    bool was_read = i >= READER;
    return other.thread() && other.thread() != me && other.mask() & mask &&
           !happens_before(w, other.thread(), other.time(), was_read) &&
           !((i == ATOMIC_WRITER || (was_read && other.atomic())) &&
             tolerated(w, a, other));
}

/* The access to a word that the running thread makes now */
WBCPU_INLINE cell_access now_of(worker *w, const access &a, uint8_t mask)
{
    uint64_t me = current.first_thread + w->thread, time = time_of(w->thread);
    uint32_t kind = (uint32_t)a.atomic << 24 | (uint32_t)a.polled << 25;
    return {me | time << 32, a.at->number | (uint32_t)mask << 16 | kind};
}

WBCPU_INLINE void renew(cell &c, uint32_t stamp)
{
    if (c.stamp == stamp) return;
    c = {};
    c.stamp = stamp;
}

WBCPU_INLINE void keep(cell &c, const access &a, cell_access now)
{
    if (!a.write) {
        if (c.at(READER).thread() != now.thread()) c.set(READER_BEFORE, c.at(READER));
        c.set(READER, now);
        return;
    }
    int last = a.atomic ? ATOMIC_WRITER : WRITER;
    if (c.who[last] == now.who) now.what |= c.what[last] & 0xff0000; /* bytes */
    c.set(last, now);
}

inline earlier earlier_of(const cell &c, int i)
{
    cell_access other = c.at(i);
    return {other.thread(), other.site(), i < READER, other.atomic() && !other.polled()};
}

/* of a cell that is not stale */
WBCPU_INLINE void
check_cell(worker *w, cell &c, const access &a, cell_access now, bool shared)
{
    uint32_t me = now.thread();
    uint8_t mask = now.mask();
    for (int i = WRITER; i <= ATOMIC_WRITER; i++)
        if (conflicts(w, c, i, me, a, mask))
            race(w, a, earlier_of(c, i), shared);
    for (int i = READER; a.write && i <= READER_BEFORE; i++)
        if (conflicts(w, c, i, me, a, mask)) {
            race(w, a, earlier_of(c, i), shared);
            break;
        }
    keep(c, a, now);
}
}  // namespace wbcpu::check

#endif
