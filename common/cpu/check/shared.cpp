/* shared.cpp - shared memory: each block begins with unwritten variables, and dynamic
 * shared memory is as large as the launch says. */
#include "check.h"
#include "memory.h"

#include <vector>

namespace wbcpu::check
{
static cell *cells;        /* per word of thread-local storage */
static uint8_t *written;   /* per word: bytes that the block has written */
static uint32_t *of_block; /* the block that `written` belongs to */

void reserve_shared()
{
    size_t words = thread_local_words();
    cells = new cell[words]();
    written = new uint8_t[words]();
    of_block = new uint32_t[words]();
}

static std::string element(const variable *v, uintptr_t address, unsigned bytes)
{
    size_t offset = address - thread_local_start() - v->start;
    if (offset % bytes == 0) return format("%s[%zu]", v->name.c_str(), offset / bytes);
    return format("byte %zu of %s", offset, v->name.c_str());
}

/* Dynamic shared memory beyond what the launch asked for. */
static void past_dynamic(worker *w, const access &a, const variable *v)
{
    if (finding *f = find("out-of-bounds-shared", a.at->at())) {
        size_t offset = a.address - thread_local_start() - v->start;
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
        uintptr_t offset = a.address - thread_local_start();
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
    uintptr_t word; /* of those that it reads, the first or the third */
    uint8_t mask;
};
static std::vector<early_read> &early = *new std::vector<early_read>;

static void
unwritten(worker *w, const access &a, const variable *v, uintptr_t word, uint8_t mask)
{
    constexpr size_t kept = 64;
    if (a.atomic) { /* an update of what was never set */
        tell_unwritten(a, v, w->thread);
        return;
    }
    if (a.at->told || early.size() == kept) return;
    early.push_back({a, v, w->thread, word, mask});
}

void settle_early_reads()
{
    for (const early_read &r : early) {
        bool first = r.word == (r.at.address - thread_local_start()) / 4;
        bool missing = first ? (written[r.word] & r.mask) != r.mask
                             : !written[r.word] && !written[r.word + 1];
        if (missing) tell_unwritten(r.at, r.of, r.thread);
    }
    early.clear();
}

uint32_t last_write(uintptr_t address, unsigned *thread, uint16_t *site)
{
    uintptr_t i = (address - thread_local_start()) / 4;
    const cell &c = cells[i];
    if (i >= thread_local_words() || c.stamp != current.block || !c.writer[0]) return 0;
    *thread = (c.writer[0] - 1) % self()->threads;
    *site = c.write_site[0];
    return c.write_time[0];
}
void forget_writes(uintptr_t address, size_t bytes)
{
    uintptr_t i = (address - thread_local_start()) / 4;
    for (; bytes; bytes -= 4)
        cells[i++] = cell();
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
    uintptr_t offset = a.address - thread_local_start();
    size_t bytes = v->bytes;
    bool dynamic = a.address - (uintptr_t)wbcpu_dynamic_shared < WBCPU_DYNAMIC_SHARED_MAX;
    if (dynamic) bytes = w->job->launch.shared_bytes;
    if (__builtin_expect(offset + a.bytes > v->start + bytes, 0)) {
        dynamic ? past_dynamic(w, a, v) : past_static(a, v);
        return;
    }
    uint8_t mask = a.bytes >= 4 ? 15 : (uint8_t)(((1 << a.bytes) - 1) << (offset & 3));
    if (a.atomic) order_atomic(w, a);
    bool pending = copies_pending && check_pending(w, a);
    for (uintptr_t i = offset / 4; i <= (offset + a.bytes - 1) / 4; i++) {
        if (of_block[i] != current.block) of_block[i] = current.block, written[i] = 0;
        bool half = (i - offset / 4) % 2 == 0;
        if (half && needs_value(a) && (written[i] & mask) != mask)
            unwritten(w, a, v, i, mask);
        if (a.write) written[i] |= mask;
        if (!pending) check_cell(w, cells[i], current.block, a, mask, true);
    }
    if (a.atomic)
        count_atomic(w, a);
    else
        count_access(w, a, true);
}
}  // namespace wbcpu::check
