/* device.cpp - the state of global memory: which bytes are allocated, which have been
 * written, and which buffer an address belongs to.
 *
 * Two more ranges mirror it: a byte of state per byte, and a cell per word for races. They
 * are reserved address space; the system gives them pages when they are first touched. */
#include "check.h"
#include "hooks.h"
#include "host.h"
#include "memory.h"

#include <fstream>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace wbcpu::check
{
enum : uint8_t { ALLOCATED = 1, WRITTEN = 2, FREED = 4 };
constexpr size_t page = 4096;

static uint8_t *state;
static cell *cells;
using buffer_map = std::map<uintptr_t, buffer>; /* by start */
static buffer_map &buffers = *new buffer_map, &variables = *new buffer_map;

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
    state = s;
    cells = static_cast<cell *>(c);
    return true;
}

/* --- buffers ------------------------------------------------------------------------ */

/* The first argument of a call on this line: cudaMalloc((void **)&x, n) gives "x". */
std::string allocation_name(const place *at, unsigned nth)
{
    std::string line = source_line(at);
    std::vector<size_t> calls;
    for (const char *call : {"cudaMalloc", "cudaHostAlloc"})
        for (size_t i = 0; (i = line.find(call, i)) != std::string::npos; i++)
            calls.push_back(i);
    if (calls.empty()) return "";
    size_t i = line.find('(', calls[nth % calls.size()]);
    if (i == std::string::npos) return "";
    std::string name;
    int depth = 0;
    for (i++; i < line.size(); i++) {
        char c = line[i];
        if (c == '(') depth++;
        if (c == ')' && depth-- == 0) break;
        if (c == ',' && depth == 0) break;
        if (c == ')')
            name.clear(); /* a cast */
        else if (c != '&' && c != ' ' && c != '*' && depth == 0)
            name += c;
    }
    return name;
}

void allocated(void *p, size_t bytes, const void *pc)
{
    static auto &times = *new std::map<std::string, unsigned>; /* by line */
    const place *at = place_of(pc);
    std::string name = allocation_name(at, times[text_of(at)]++);
    uintptr_t start = (uintptr_t)p;
    buffers[start] = {start, bytes, name.empty() ? "buffer" : name, 0, at, nullptr};
    memset(state + (start - device_base), ALLOCATED, bytes);
}

void begin_variables()
{
    each_device_variable([](const variable &v) {
        variables[v.start] = {v.start, v.bytes, v.name, 0, place_of(nullptr), nullptr};
        memset(state + offset_of(v.start), ALLOCATED | WRITTEN, v.bytes);
    });
}

void freed(void *p, size_t, const void *pc)
{
    auto b = buffers.find((uintptr_t)p);
    if (b == buffers.end()) return;
    b->second.freed = place_of(pc);
    memset(state + (b->first - device_base), FREED, b->second.bytes);
    /* The pages go back to the system; state 0 there also means: not allocated. */
    uintptr_t offset = b->first - device_base;
    uintptr_t first = (offset + page - 1) / page * page;
    uintptr_t last = (offset + b->second.bytes) / page * page;
    if (last <= first) return;
    madvise(state + first, last - first, MADV_DONTNEED);
    madvise(cells + first / 4, (last - first) / 4 * sizeof(cell), MADV_DONTNEED);
}

void host_wrote(const void *p, size_t bytes)
{
    if (!in_heap((uintptr_t)p)) return;
    uintptr_t offset = (uintptr_t)p - device_base;
    for (size_t i = 0; i < bytes; i++)
        if (state[offset + i] & ALLOCATED) state[offset + i] |= WRITTEN;
}

/* The first byte in [p, p + bytes) that nothing has written, or bytes. */
size_t first_unwritten(const void *p, size_t bytes)
{
    uintptr_t offset = (uintptr_t)p - device_base;
    size_t i = 0;
    while (i < bytes && state[offset + i] & WRITTEN)
        i++;
    return i;
}

extern "C" void wbcpu_check_name(
    void *base, size_t red_zone, size_t bytes, const char *name, unsigned element)
{
    auto b = buffers.find((uintptr_t)base);
    if (b == buffers.end()) return;
    buffer inner = b->second;
    memset(state + (b->first - device_base), 0, b->second.bytes);
    buffers.erase(b);
    inner.start += red_zone;
    inner.bytes = bytes;
    inner.name = name;
    inner.element = element;
    buffers[inner.start] = inner;
    memset(state + (inner.start - device_base), ALLOCATED, bytes);
}

extern "C" void wbcpu_check_unwritten(const void *p, size_t bytes)
{
    uintptr_t offset = (uintptr_t)p - device_base;
    for (size_t i = 0; i < bytes; i++)
        state[offset + i] &= (uint8_t)~WRITTEN;
}

buffer *nearest_buffer(uintptr_t address)
{
    buffer_map &all = in_heap(address) ? buffers : variables;
    if (all.empty()) return nullptr;
    auto after = all.upper_bound(address);
    if (after == all.begin()) return &after->second;
    buffer *before = &std::prev(after)->second;
    if (after == all.end()) return before;
    uintptr_t past = address - before->start < before->bytes
                         ? 0
                         : address - (before->start + before->bytes) + 1;
    return past && after->first - address < past ? &after->second : before;
}

std::string element_of(const buffer *b, uintptr_t address, unsigned bytes)
{
    if (b->bytes == bytes && b->at->file == "?") return b->name; /* a scalar variable */
    long unit = b->element ? (long)b->element : bytes ? (long)bytes : 1;
    long offset = (long)(address - b->start);
    long index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
    return format("%s[%ld]", b->name.c_str(), index);
}

std::string describe(const buffer *b)
{
    std::string size = format("%zu bytes", b->bytes);
    if (b->element) size = format("%zu elements", b->bytes / b->element);
    if (b->at->file == "?" || b->at->library)
        return format("%s (%s)", b->name.c_str(), size.c_str());
    return format(
        "%s (%s, allocated at %s)", b->name.c_str(), size.c_str(),
        text_of(b->at).c_str());
}

/* --- accesses by kernels ------------------------------------------------------------ */

static void out_of_bounds(const access &a, const buffer *b, finding *f)
{
    std::string element = element_of(b, a.address, a.bytes);
    if (b->freed) {
        f->message = format(
            "%s %s of %s, which was freed at %s", a.write ? "writes" : "reads",
            element.c_str(), describe(b).c_str(), text_of(b->freed).c_str());
        f->fix = "free it after the last kernel that uses it has ended";
        return;
    }
    uintptr_t end = b->start + b->bytes;
    unsigned unit = b->element ? b->element : a.bytes;
    if (a.address < b->start)
        f->message = format(
            "%s %s, %lu bytes before the start of %s", a.write ? "writes" : "reads",
            element.c_str(), (unsigned long)(b->start - a.address), describe(b).c_str());
    else
        f->message = format(
            "%s %s, %lu past the last element of %s", a.write ? "writes" : "reads",
            element.c_str(),
            a.address >= end ? (unsigned long)((a.address - end) / unit + 1) : 1,
            describe(b).c_str());
    f->fix = "compare the index with the size before the access: if (i < n)";
}

static __attribute__((noinline)) void illegal(const access &a)
{
    const buffer *b = nearest_buffer(a.address);
    bool inside = b && b->freed && a.address - b->start < b->bytes;
    finding *f = find(inside ? "use-after-free" : "out-of-bounds", a.at->at());
    if (!f) return;
    if (b) {
        f->what = b->name;
        out_of_bounds(a, b, f);
    } else {
        f->message = format(
            "%s device memory, but nothing is allocated", a.write ? "writes" : "reads");
        f->fix = "allocate it with cudaMalloc";
    }
    publish(f);
}

static __attribute__((noinline)) void uninitialized(const access &a)
{
    if (a.at->told) return;
    a.at->told = true;
    finding *f = find("uninitialized", a.at->at());
    if (!f) return;
    const buffer *b = nearest_buffer(a.address);
    f->what = b->name;
    f->message = format(
        "reads %s of %s, which nothing has written",
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

void device_access(worker *w, const access &a)
{
    uintptr_t offset = offset_of(a.address);
    uint8_t all = ALLOCATED | WRITTEN, *s = state + offset;
    for (unsigned i = 0; i < a.bytes; i++)
        all &= s[i];
    if (__builtin_expect(!(all & ALLOCATED), 0)) {
        illegal(a);
        return;
    }
    if (!needs_value(a) && !(all & WRITTEN))
        for (unsigned i = 0; i < a.bytes; i++)
            s[i] |= WRITTEN;
    else if (__builtin_expect(!(all & WRITTEN), 0) && misses_a_value(s, a.bytes))
        uninitialized(a);
    host_hook(w, a);
    if (a.atomic) order_atomic(w, a);
    uintptr_t first = offset / 4, last = (offset + a.bytes - 1) / 4;
    uint8_t mask = a.bytes >= 4 ? 15 : (uint8_t)(((1 << a.bytes) - 1) << (offset & 3));
    for (uintptr_t i = first; i <= last; i++)
        check_cell(w, cells[i], current.launch, a, mask, false);
    if (a.atomic)
        count_atomic(w, a);
    else
        count_access(w, a, false);
}
}  // namespace wbcpu::check
