/* usual.h - the short way of check mode, for the usual accesses: aligned ones of a plain
 * type, by a kernel, to device memory that has been written, or to the block's own shared
 * memory. All others take the general way: on_access in callbacks.cpp. Internal to check
 * mode.
 */
#ifndef WBCPU_CHECK_USUAL_H
#define WBCPU_CHECK_USUAL_H

#include "cluster.h"
#include "host.h"
#include "log.h"
#include "watchdog.h"

#include <string.h>

namespace wbcpu::check
{
/* Of global memory, by offset: a byte of state per byte, a cell per word (device.cpp) */
enum : uint8_t { ALLOCATED = 1, WRITTEN = 2 * ALLOCATED, FREED = 4 };
struct global_tables {
    uint8_t *state;
    cell *cells;
};
extern global_tables global;

/* The bytes of a word that an access of `bytes` at this offset touches */
inline uint8_t mask_of(uintptr_t offset, unsigned bytes)
{
    return bytes >= 4 ? 15 : (uint8_t)(((1 << bytes) - 1) << (offset & 3));
}

/* true: all bytes are allocated and, for a read, written; a write marks them as written */
template <unsigned bytes, bool write> WBCPU_INLINE bool usual_state(uint8_t *state)
{
    constexpr unsigned part = bytes < 8 ? bytes : 8;
    constexpr uint64_t each = ~0ull / 255 >> (64 - 8 * part); /* 1 in each byte */
    uint64_t all = (ALLOCATED | WRITTEN) * each;
    for (unsigned i = 0; i < bytes; i += part) {
        uint64_t now = 0;
        memcpy(&now, state + i, part);
        all &= now;
    }
    if (all == (ALLOCATED | WRITTEN) * each) return true;
    if (!write || (all & ALLOCATED * each) != ALLOCATED * each) return false;
    memset(state, ALLOCATED | WRITTEN, bytes);
    return true;
}

/* true: what a cell keeps of a thread does not race with what the running thread does now.
 * false: perhaps it does. */
WBCPU_INLINE bool surely_ordered(const worker *w, const cell &c, int i, uint8_t mask)
{
    cell_access other = c.at(i);
    uint32_t before = other.thread() - current.first_thread, time = other.time();
    if (!other.thread() || !(other.mask() & mask)) return true;
    if (before >= w->threads) return false;
    return before == w->thread || time <= clocks->at_barrier[before] ||
           (before / 32 == w->thread / 32 && time <= clocks->at_warp[before]);
}

/* Checks the words of an access and records it. false: it may race; nothing is recorded. */
template <unsigned bytes, bool write>
WBCPU_INLINE bool usual_words(worker *w, cell *c, uint32_t stamp, const access &a)
{
    constexpr unsigned words = (bytes + 3) / 4;
    uint8_t mask = mask_of(a.address, bytes);
    for (unsigned i = 0; i < words; i++) {
        renew(c[i], stamp);
        for (int k = WRITER; k <= (write ? READER_BEFORE : ATOMIC_WRITER); k++)
            if (!surely_ordered(w, c[i], k, mask)) return false;
    }
    cell_access now = now_of(w, a, mask);
    for (unsigned i = 0; i < words; i++)
        keep(c[i], a, now);
    return true;
}

/* As device_touched does, for an aligned access. false: not done */
WBCPU_INLINE bool touched_quickly(const worker *w, const access &a)
{
    uintptr_t bit = a.address % footprint_page, number = a.address / footprint_page;
    const page_used &page = last_pages[number % pages_remembered];
    if (!nothing_open(w) || !page.map || page.number != number) return false;
    uint64_t *touched = page.map->touched[a.write ? WRITES : READS];
    touched[bit / 64] |= ((1ull << a.bytes) - 1) << bit % 64;
    return true;
}

template <unsigned bytes, bool write> WBCPU_INLINE bool usual_global(worker *w, access &a)
{
    uintptr_t offset = a.address - device_base;
    cell *c = global.cells + offset / 4;
    if (recording && !touched_quickly(w, a)) return false;
    if (!usual_state<bytes, write>(global.state + offset)) return false;
    if (!usual_words<bytes, write>(w, c, current.launch, a)) return false;
    log_more(access_entry(a.at, bytes, false, offset));
    return true;
}

template <unsigned bytes, bool write> WBCPU_INLINE bool usual_shared(worker *w, access &a)
{
    uintptr_t offset = a.address - storage.start[0];
    const block_memory &m = memories[0];
    cell *c = m.cells + offset / 4;
    uint8_t mask = mask_of(offset, bytes);
    bool written = !copies_pending;
    for (unsigned i = 0; i < (bytes + 3) / 4; i++)
        written &= c[i].stamp == m.stamp && (c[i].written & mask) == mask;
    if (!written) { /* the first write must lie within one variable */
        if (is_internal_offset(offset)) return true;
        const variable *v = variable_at(offset);
        if (!write || copies_pending || !v || offset + bytes > shared_end(w, v))
            return false;
    }
    if (!usual_words<bytes, write>(w, c, m.stamp, a)) return false;
    for (unsigned i = 0; write && i < (bytes + 3) / 4; i++)
        c[i].written |= mask;
    log_more(access_entry(a.at, bytes, true, offset));
    return true;
}

/* false: nothing has been done that on_access would not do. It calls no function, so it
 * saves no registers. */
template <unsigned bytes, bool write>
WBCPU_INLINE bool usual_access(const void *p, const void *pc)
{
    worker *w = self();
    access a = {(uintptr_t)p, bytes, write, false, false, known_site(pc, write)};
    if (!log_goes_on(w) || !a.at || writes_pending || block_expired) return false;
    if (a.address % bytes) return false;
    if (a.address - device_base < device_bytes) return usual_global<bytes, write>(w, a);
    if (storage.ranks > 1 || a.address - storage.start[0] >= storage.bytes) return false;
    return usual_shared<bytes, write>(w, a);
}
}  // namespace wbcpu::check

#endif
