/* shared.cpp - shared memory: each block begins with unwritten variables, and dynamic
 * shared memory is as large as the launch says. */
#include "cluster.h"
#include "memory.h"
#include "usual.h"

#include <stdlib.h>
#include <vector>

namespace wbcpu::check
{
block_memory memories[max_cluster];

void begin_shared(worker *w)
{
    block_memory &m = memories[current.rank];
    if (!m.cells) {
        size_t words = thread_local_words();
        m.cells = static_cast<cell *>(calloc(words, sizeof(cell)));
        m.copying = static_cast<uint16_t *>(calloc(words, sizeof(uint16_t)));
    }
    m.stamp = current.block;
    m.block = w->block;
    m.ended = false;
}
void end_shared()
{
    memories[current.rank].ended = true;
}

std::string block_text(uint64_t block)
{
    uint3 b = index_in_grid(block);
    return format("block (%u,%u,%u)", b.x, b.y, b.z);
}

static std::string element(const variable *v, uintptr_t address, unsigned bytes)
{
    size_t offset = shared_offset(address) - v->start, unit = v->element ? v->element : bytes;
    int rank = rank_of(address);
    std::string s = format("%s[%zu]", v->name.c_str(), offset / unit);
    if (offset % unit) s += format(" at byte %zu", offset % unit); /* a member */
    if (v->dynamic) s += format(" in units of %u bytes", bytes);
    return rank == current.rank ? s : s + " of " + block_text(memories[rank].block);
}

/* Dynamic shared memory beyond what the launch asked for. */
static void past_dynamic(worker *w, const access &a, const variable *v)
{
    if (finding *f = find("out-of-bounds-shared", a.at->at())) {
        size_t offset = shared_offset(a.address) - v->start;
        f->what = v->name;
        f->message = format(
            "%s bytes %zu to %zu of the dynamic shared memory; the launch at %s:%d asked "
            "for %zu",
            a.write ? "writes" : "reads", offset, offset + a.bytes - 1,
            w->job->launch.file, w->job->launch.line, w->job->launch.shared_bytes);
        f->fix = "pass the number of bytes as the third argument of <<<>>>";
        publish(f);
    }
}

static void past_static(const access &a, const variable *v)
{
    if (!v) return;
    if (finding *f = find("out-of-bounds-shared", a.at->at())) {
        f->what = v->name;
        uintptr_t offset = shared_offset(a.address);
        bool before = offset < v->start;
        f->message = format(
            "%s %zu bytes %s the shared variable %s (%zu bytes)",
            a.write ? "writes" : "reads",
            before ? v->start - offset : offset + a.bytes - v->start - v->bytes,
            before ? "before the start of" : "past the end of", v->name.c_str(),
            v->bytes);
        f->fix = "make the array larger, or the index smaller";
        publish(f);
    }
}

static void tell_unwritten(const access &a, const variable *v, unsigned thread)
{
    if (a.at->told) return;
    a.at->told = true;
    finding *f = find("uninitialized-shared", a.at->at());
    if (!f) return;
    f->thread = index_in_block(thread);
    f->what = v->name;
    f->message = format(
        "reads %s, which no thread of the block has written",
        element(v, a.address, a.bytes).c_str());
    f->fix = "write it first; shared memory is not zero at the start, and keeps nothing "
             "from the previous block";
    publish(f);
}

/* Reads of what no thread has written yet. If another thread writes it before the next
 * barrier, the two race, and that is the better report. Padding of a struct may be read
 * without having been written; the second half of 16 bytes is no padding. */
struct early_read {
    access at;
    const variable *of;
    unsigned thread;
    uint32_t phase; /* of the cluster barrier that the thread had waited for */
    uintptr_t word; /* of those that it reads, the first or the third */
    uint8_t mask;
};
static thread_local std::vector<early_read> *early; /* of this block */

static void
unwritten(worker *w, const access &a, const variable *v, uintptr_t word, uint8_t mask)
{
    constexpr size_t kept = 64;
    if (a.atomic) { /* an update of what was never set */
        tell_unwritten(a, v, w->thread);
        return;
    }
    if (!early) early = new std::vector<early_read>;
    if (a.at->told || early->size() == kept) return;
    early->push_back({a, v, w->thread, known_phase(w->thread), word, mask});
}

static void settle(const early_read &r)
{
    const cell *c = memories[rank_of(r.at.address)].cells + r.word;
    bool first = r.word == shared_offset(r.at.address) / 4;
    bool missing = first ? (c->written & r.mask) != r.mask : !c->written && !c[1].written;
    if (missing) tell_unwritten(r.at, r.of, r.thread);
}
void settle_early_reads(uint32_t phase)
{
    if (!early || early->empty()) return;
    std::vector<early_read> left;
    for (const early_read &r : *early)
        if (r.phase < phase || rank_of(r.at.address) == current.rank)
            settle(r);
        else
            left.push_back(r);
    *early = left;
}
void drop_early_reads()
{
    if (early) early->clear();
}

uint32_t last_write(uintptr_t address, uint32_t *number, uint16_t *site)
{
    int rank = rank_of(address);
    if (rank < 0) return 0;
    const cell &c = memories[rank].cells[shared_offset(address) / 4];
    cell_access wrote = c.at(WRITER);
    if (c.stamp != memories[rank].stamp || !wrote.thread()) return 0;
    *number = wrote.thread();
    *site = (uint16_t)wrote.site();
    return wrote.time();
}
void forget_writes(uintptr_t address, size_t bytes)
{
    cell *c = memories[rank_of(address)].cells + shared_offset(address) / 4;
    for (; bytes; bytes -= 4, c++)
        for (int i = WRITER; i <= READER_BEFORE; i++)
            c->set(i, {});
}

std::string shared_element(uintptr_t address, unsigned bytes)
{
    const variable *v = shared_variable(address);
    return v ? element(v, address, bytes) : "shared memory";
}

void shared_access(worker *w, const access &a)
{
    const variable *v = shared_variable(a.address);
    if (__builtin_expect(!v, 0)) { /* a red zone */
        past_static(a, closest_shared(a.address));
        return;
    }
    int rank = rank_of(a.address);
    bool own = rank == current.rank;
    block_memory &m = memories[rank];
    uintptr_t offset = shared_offset(a.address);
    if (__builtin_expect(offset + a.bytes > shared_end(w, v), 0)) {
        v->dynamic ? past_dynamic(w, a, v) : past_static(a, v);
        return;
    }
    uint8_t mask = mask_of(offset, a.bytes);
    if (a.atomic && !(a.bytes == 8 && is_mbarrier(a.address))) order_atomic(w, a);
    bool reached = own || writing_tile || reaches(w, a, rank);
    bool pending = copies_pending && check_pending(w, a);
    cell_access now = now_of(w, a, mask);
    for (uintptr_t i = offset / 4; i <= (offset + a.bytes - 1) / 4; i++) {
        cell &c = m.cells[i];
        renew(c, m.stamp);
        bool half = (i - offset / 4) % 2 == 0;
        if (half && reached && needs_value(a) && (c.written & mask) != mask)
            unwritten(w, a, v, i, mask);
        if (a.write) c.written |= mask;
        if (reached && !pending) check_cell(w, c, a, now, true);
    }
    if (!own) return; /* it is another network's traffic */
    if (a.atomic)
        count_atomic(w, a);
    else
        count_access(w, a, true);
}
}  // namespace wbcpu::check
