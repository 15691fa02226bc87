/* sectors.cpp - the sectors of a global request, the bytes of each buffer, and a model of
 * the L2 cache.
 *
 * The L1 cache, the L2 cache and DRAM move sectors of 32 bytes. A request costs as many
 * sectors as its lanes touch. The model of the L2 cache, for bytes read from and written
 * to DRAM: it is empty when a launch begins (Nsight Compute flushes it too); it holds as
 * many sectors as fit into the chosen GPU's cache; the least recently used one is
 * replaced; a written sector goes to DRAM once each time it is replaced, or after the
 * launch, and is not fetched first. Blocks run one after another here; blocks that run at
 * the same time on a GPU compete for the cache.
 */
#include "counts.h"
#include "memory.h"

#include <sys/mman.h>

namespace wbcpu::check
{
constexpr unsigned sector_bytes = 32;

struct sector {
    uint32_t launch;        /* that the rest belongs to */
    uint32_t read, written; /* its bytes, as bits */
    uint32_t dirty : 1;     /* written since it was fetched */
    uint32_t used : 31; /* number of sectors fetched when it was used last; 0: never */
};
static sector *sectors;
static uint32_t launch, fetched;
static uint64_t capacity;

bool reserve_sectors(size_t bytes)
{
    static size_t reserved;
    if (sectors) munmap(sectors, reserved); /* for a larger device memory, in vain */
    reserved = bytes / sector_bytes * sizeof(sector);
    void *p = mmap(
        nullptr, reserved, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    sectors = p == MAP_FAILED ? nullptr : static_cast<sector *>(p);
    return sectors != nullptr;
}

void begin_sectors()
{
    if (!capacity) capacity = chosen_gpu().l2_bytes / sector_bytes;
    launch++;
    fetched = 0;
}

/* --- buffers ------------------------------------------------------------------------ */

static unsigned index_of(kernel_tally *k, const buffer *b)
{
    std::string name = b ? b->name : "memory";
    const place *at = b && b->at && b->at->file != "?" ? b->at : nullptr;
    size_t bytes = b ? b->bytes : 0;
    for (unsigned i = 0; i < k->buffers.size(); i++) {
        const buffer_tally &t = k->buffers[i];
        if (t.name == name && t.at == at && t.bytes == bytes) return i;
    }
    k->buffers.push_back({name, bytes, at, {}, {}});
    return (unsigned)k->buffers.size() - 1;
}

static inline buffer_tally *buffer_of(kernel_tally *k, site_tally *s, uint64_t offset)
{
    if (__builtin_expect(offset - s->buffer_start >= s->buffer_bytes, 0)) {
        uintptr_t address = address_at(offset);
        const buffer *b = nearest_buffer(address);
        if (b && address - b->start >= b->bytes) b = nullptr;
        s->buffer = index_of(k, b);
        s->buffer_start = b ? offset_of(b->start) : offset;
        s->buffer_bytes = b ? b->bytes : 1;
    }
    return &k->buffers[s->buffer];
}

/* --- one sector --------------------------------------------------------------------- */

static inline unsigned bits(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

static inline void
touch(kernel_tally *k, buffer_tally *b, uint64_t number, uint32_t mask, access_kind kind)
{
    sector &s = sectors[number];
    if (s.launch != launch) s = {launch, 0, 0, 0, 0};
    bool reads = kind != WRITE, writes = kind == WRITE || kind == ATOMIC;
    if (!s.used || fetched - s.used >= capacity) {
        fetched++;
        s.dirty = 0;
        if (reads) k->dram[0] += sector_bytes;
    }
    s.used = fetched & 0x7fffffff;
    if (reads) {
        uint32_t fresh = mask & ~s.read;
        b->requested[0] += bits(mask);
        b->distinct[0] += bits(fresh);
        k->least[0] += bits(fresh & ~s.written);
        s.read |= mask;
    }
    if (writes) {
        uint32_t fresh = mask & ~s.written;
        b->requested[1] += bits(mask);
        b->distinct[1] += bits(fresh);
        k->least[1] += bits(fresh);
        s.written |= mask;
        if (!s.dirty) k->dram[1] += sector_bytes;
        s.dirty = 1;
    }
}

/* --- one request -------------------------------------------------------------------- */

struct touched {
    unsigned count;
    uint64_t highest; /* of the numbers */
    uint64_t number[64];
    uint32_t mask[64];
};

static inline void add(touched *t, uint64_t number, uint32_t mask)
{
    unsigned i = t->count;
    if (i && number <= t->highest) { /* the last one, usually */
        for (i = t->count - 1; i && t->number[i] != number; i--) {
        }
        if (t->number[i] != number) i = t->count;
    }
    if (i == t->count) {
        if (!i || number > t->highest) t->highest = number;
        t->number[i] = number;
        t->mask[i] = 0;
        t->count++;
    }
    t->mask[i] |= mask;
}

static void add_bytes(touched *t, uint64_t offset, unsigned bytes)
{
    while (bytes) {
        unsigned skip = offset % sector_bytes, left = sector_bytes - skip;
        unsigned n = bytes < left ? bytes : left;
        add(t, offset / sector_bytes, (uint32_t)(((1ull << n) - 1) << skip));
        offset += n;
        bytes -= n;
    }
}

passes count_sectors(kernel_tally *k, site_tally *s, const request &r, access_kind kind)
{
    touched t;
    t.count = 0;
    if (contiguous(r))
        add_bytes(&t, r.offset[0], 32 * r.bytes);
    else
        for (uint32_t m = r.lanes; m; m &= m - 1)
            add_bytes(&t, r.offset[__builtin_ctz(m)], r.bytes);
    unsigned bytes = 0;
    for (unsigned i = 0; i < t.count; i++) {
        uint64_t first = (unsigned)__builtin_ctz(t.mask[i]);
        buffer_tally *b = buffer_of(k, s, t.number[i] * sector_bytes + first);
        touch(k, b, t.number[i], t.mask[i], kind);
        bytes += bits(t.mask[i]);
    }
    return {t.count, (bytes + sector_bytes - 1) / sector_bytes, bytes};
}

passes
count_range(kernel_tally *k, site_tally *s, uint64_t offset, size_t bytes, bool write)
{
    passes sum = {0, 0, (unsigned)bytes};
    while (bytes) {
        unsigned skip = offset % sector_bytes, left = sector_bytes - skip;
        unsigned n = bytes < left ? (unsigned)bytes : left;
        uint32_t mask = (uint32_t)(((1ull << n) - 1) << skip);
        touch(
            k, buffer_of(k, s, offset), offset / sector_bytes, mask,
            write ? WRITE : READ);
        sum.count++;
        offset += n;
        bytes -= n;
    }
    return sum;
}
}  // namespace wbcpu::check
