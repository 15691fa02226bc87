/* device.cpp - the state of global memory: which bytes are allocated, and which have been
 * written. lifetimes.cpp knows the buffers.
 *
 * Two more ranges mirror it: a byte of state per byte, and a cell per word for races. They
 * are reserved address space; the system gives them pages when they are first touched. */
#include "hooks.h"
#include "host_hooks.h"
#include "host.h"
#include "memory.h"
#include "usual.h"

#include <sys/mman.h>
#include <unistd.h>

namespace wbcpu::check
{
/* Freed bytes whose cells keep their pages: leave_below() may use them again. */
constexpr size_t most_kept = 4u << 20;

global_tables global;
static cell *first_cell;
static size_t kept;

static size_t page_bytes() /* 4, 16 or 64 KB */
{
    static const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    return bytes;
}

static void *reserve(size_t bytes)
{
    void *p = mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

bool reserve_shadow(size_t bytes)
{
    uint8_t *s = static_cast<uint8_t *>(reserve(bytes));
    void *c = s ? reserve(bytes / 4 * sizeof(cell)) : nullptr;
    if (!c) {
        if (s) munmap(s, bytes);
        return false;
    }
    global.state = s;
    global.cells = first_cell = static_cast<cell *>(c);
    return true;
}

static inline cell *cell_of(uintptr_t offset)
{
    return global.cells + offset / 4;
}

/* Later addresses get the cells of earlier ones, because new pages take time. What an old
 * cell says does not matter: it has the number of an old launch. */
void leave_below(uintptr_t address)
{
    global.cells = first_cell - offset_of(address) / page_bytes() * (page_bytes() / 4);
    kept = 0;
}

/* --- state -------------------------------------------------------------------------- */

void mark_allocated(uintptr_t address, size_t bytes, bool written)
{
    memset(
        global.state + offset_of(address), written ? ALLOCATED | WRITTEN : ALLOCATED,
        bytes);
}
void mark_outside(uintptr_t address, size_t bytes)
{
    memset(global.state + offset_of(address), 0, bytes);
}
void mark_freed(uintptr_t address, size_t bytes)
{
    uintptr_t offset = offset_of(address);
    memset(global.state + offset, FREED, bytes);
    /* The pages go back to the system; state 0 there also means: not allocated. */
    size_t page = page_bytes();
    uintptr_t first = (offset + page - 1) / page * page;
    uintptr_t last = (offset + bytes) / page * page;
    if (last <= first) return;
    madvise(global.state + first, last - first, MADV_DONTNEED);
    kept += last - first;
    if (kept <= most_kept) return;
    madvise(cell_of(first), (last - first) / 4 * sizeof(cell), MADV_DONTNEED);
}

void host_wrote(const void *p, size_t bytes)
{
    if (!in_heap((uintptr_t)p)) return;
    uint8_t *s = global.state + ((uintptr_t)p - device_base);
    for (size_t i = 0; i < bytes; i++) /* those that are allocated */
        s[i] |= (uint8_t)((s[i] & ALLOCATED) * (WRITTEN / ALLOCATED));
}

/* The first byte in [p, p + bytes) that nothing has written, or bytes. */
size_t first_unwritten(const void *p, size_t bytes)
{
    uintptr_t offset = (uintptr_t)p - device_base;
    size_t i = 0;
    while (i < bytes && global.state[offset + i] & WRITTEN)
        i++;
    return i;
}

extern "C" void wbcpu_check_unwritten(const void *p, size_t bytes)
{
    if (!in_heap((uintptr_t)p)) return;
    uint8_t *s = global.state + ((uintptr_t)p - device_base);
    for (size_t i = 0; i < bytes; i++)
        s[i] &= (uint8_t)~WRITTEN;
}

/* --- accesses by kernels ------------------------------------------------------------ */

/* who: of the message's "reads"; "" in a kernel, which the report names anyway */
static void
out_of_bounds(const access &a, const buffer *b, const std::string &who, finding *f)
{
    std::string element = element_of(b, a.address, a.bytes);
    const char *does = a.write ? "writes" : "reads";
    if (freed_at(b)) {
        f->message = format(
            "%s%s %s of %s, which was freed at %s", who.c_str(), does, element.c_str(),
            describe(b).c_str(), text_of(freed_at(b)).c_str());
        f->fix = "free it after the last kernel that uses it has ended";
        return;
    }
    uintptr_t end = b->start + b->bytes;
    unsigned unit = b->element ? b->element : a.bytes;
    if (a.address < b->start)
        f->message = format(
            "%s%s %s, %lu bytes before the start of %s", who.c_str(), does,
            element.c_str(), (unsigned long)(b->start - a.address), describe(b).c_str());
    else
        f->message = format(
            "%s%s %s, %lu past the last element of %s", who.c_str(), does,
            element.c_str(),
            a.address >= end ? (unsigned long)((a.address - end) / unit + 1) : 1,
            describe(b).c_str());
    f->fix = "compare the index with the size before the access: if (i < n)";
    if (!who.empty())
        f->fix = "the sizes that you pass count elements: check them against the allocation";
}

static __attribute__((noinline)) void
illegal(const access &a, const place *at, const std::string &who = "")
{
    const buffer *b = nearest_buffer(a.address);
    bool inside = b && freed_at(b) && a.address - b->start < b->bytes;
    finding *f = find(inside ? "use-after-free" : "out-of-bounds", at);
    if (!f) return;
    if (b) {
        f->what = b->name;
        out_of_bounds(a, b, who, f);
    } else {
        f->message = format(
            "%s%s device memory, but nothing is allocated", who.c_str(),
            a.write ? "writes" : "reads");
        f->fix = "allocate it with cudaMalloc";
    }
    publish(f);
}

static __attribute__((noinline)) void
uninitialized(const access &a, const place *at, const std::string &who = "")
{
    finding *f = find("uninitialized", at);
    if (!f) return;
    const buffer *b = nearest_buffer(a.address);
    f->what = b->name;
    f->message = format(
        "%sreads %s of %s, which nothing has written", who.c_str(),
        element_of(b, a.address, a.bytes).c_str(), describe(b).c_str());
    f->fix = "write it first: cudaMemset, cudaMemcpy or a kernel";
    publish(f);
}

/* Padding of a struct may be copied without having been written. Eight unwritten bytes of
 * a vector are no padding. */
static bool misses_a_value(const uint8_t *s, unsigned bytes)
{
    unsigned part = bytes == 16 ? 8 : bytes;
    for (unsigned first = 0; first < bytes; first += part) {
        uint8_t any = 0;
        for (unsigned i = 0; i < part; i++)
            any |= s[first + i];
        if (!(any & WRITTEN)) return true;
    }
    return false;
}

/* Is it allocated and, if its value is needed, written? Notes what is written. */
enum state { RIGHT, ILLEGAL, UNINITIALIZED };
static inline state check_state(const access &a)
{
    uint8_t all = ALLOCATED | WRITTEN, *s = global.state + offset_of(a.address);
    for (unsigned i = 0; i < a.bytes; i++)
        all &= s[i];
    if (__builtin_expect(!(all & ALLOCATED), 0)) return ILLEGAL;
    if (all & WRITTEN) return RIGHT;
    if (needs_value(a)) return misses_a_value(s, a.bytes) ? UNINITIALIZED : RIGHT;
    for (unsigned i = 0; i < a.bytes; i++)
        s[i] |= WRITTEN;
    return RIGHT;
}

void library_access(const access &a, const void *pc)
{
    state now = check_state(a);
    if (__builtin_expect(now != RIGHT, 0)) {
        caller by = caller_of(pc);
        if (now == ILLEGAL)
            illegal(a, by.at, by.name);
        else
            uninitialized(a, by.at, by.name);
    }
    if (running && (recording || mapped_for_device(a.address, a.bytes)))
        record(a.address, a.bytes, a.write ? WRITES : READS);
}

void device_access(worker *w, const access &a)
{
    uintptr_t offset = offset_of(a.address);
    state state = check_state(a);
    if (__builtin_expect(state == ILLEGAL, 0)) return illegal(a, a.at->at());
    if (__builtin_expect(state == UNINITIALIZED, 0) && !a.at->told) {
        a.at->told = true;
        uninitialized(a, a.at->at());
    }
    host_hook(w, a);
    if (a.atomic) order_atomic(w, a);
    cell *last = cell_of(offset + a.bytes - 1);
    cell_access now = now_of(w, a, mask_of(offset, a.bytes));
    for (cell *c = cell_of(offset); c <= last; c++) {
        renew(*c, current.launch);
        check_cell(w, *c, a, now, false);
    }
    if (a.atomic)
        count_atomic(w, a);
    else
        count_access(w, a, false);
}
}  // namespace wbcpu::check
