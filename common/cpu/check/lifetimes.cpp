/* lifetimes.cpp - the buffers: device, managed and pinned memory from its allocation to its
 * release, and __device__ variables. */
#include "host.h"
#include "host_hooks.h"
#include "memory.h"

#include <map>

namespace wbcpu::check
{
using buffer_map = std::map<uintptr_t, buffer>; /* by start */
static buffer_map &buffers = *new buffer_map, &variables = *new buffer_map;
static uintptr_t mapped_low = UINTPTR_MAX, mapped_high; /* of pinned and managed memory */

/* --- names -------------------------------------------------------------------------- */

/* The first argument of the nth call on this line, or "": cudaMalloc((void **)&x, n) gives
 * "x". */
static std::string allocation_name(const std::string &line, unsigned nth)
{
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

std::string element_of(const buffer *b, uintptr_t address, unsigned bytes)
{
    bool scalar = b->bytes == bytes && b->at->file == "?"; /* a __device__ variable */
    if (scalar && address == b->start) return b->name;
    long unit = b->element ? (long)b->element : bytes ? (long)bytes : 1;
    long offset = (long)(address - b->start);
    long index = offset >= 0 ? offset / unit : -((-offset + unit - 1) / unit);
    return format("%s[%ld]", b->name.c_str(), index);
}

/* The grader has red zones around the buffers of a case. */
static bool is_of_grader(const buffer *b)
{
    return b->start != b->block;
}

std::string describe(const buffer *b)
{
    std::string size = format("%zu bytes", b->bytes);
    if (b->element) size = format("%zu elements", b->bytes / b->element);
    if (b->at->file == "?" || b->at->library || is_of_grader(b))
        return format("%s (%s)", b->name.c_str(), size.c_str());
    return format(
        "%s (%s, allocated at %s)", b->name.c_str(), size.c_str(),
        text_of(b->at).c_str());
}

/* --- from allocation to release ----------------------------------------------------- */

void allocated(void *p, size_t bytes, cudaMemoryType type)
{
    struct allocation_line {
        std::string text;
        unsigned calls;
    };
    static auto &lines = *new std::map<std::string, allocation_line>;
    call now = running_call();
    auto [line, fresh] = lines.try_emplace(text_of(now.at));
    if (fresh) line->second = {source_line(now.at), 0};
    std::string name = allocation_name(line->second.text, line->second.calls++);
    if (name.empty()) name = "buffer";
    uintptr_t start = (uintptr_t)p;
    buffers[start] = {start,    bytes, name,  0,     now.at, nullptr,
                      now.name, type,  start, bytes, false};
    if (in_heap(start)) mark_allocated(start, bytes, false);
    if (type == cudaMemoryTypeDevice) return;
    if (start < mapped_low) mapped_low = start;
    if (start + bytes > mapped_high) mapped_high = start + bytes;
}
extern "C" void wbcpu_checked_type(const void *p, size_t bytes)
{
    buffer *b = p ? block_of((uintptr_t)p) : nullptr;
    if (b && b->start == (uintptr_t)p && bytes > 1) b->element = (unsigned)bytes;
}
extern "C" void wbcpu_check_name(
    void *block, size_t red_zone, size_t bytes, const char *name, unsigned element)
{
    auto b = buffers.find((uintptr_t)block);
    if (b == buffers.end()) return;
    buffer inner = b->second;
    buffers.erase(b);
    inner.start += red_zone;
    inner.bytes = bytes;
    inner.name = name;
    inner.element = element;
    buffers[inner.start] = inner;
    mark_outside(inner.block, inner.block_bytes);
    mark_allocated(inner.start, bytes, false);
}

void freed(void *p)
{
    buffer *b = block_of((uintptr_t)p);
    if (!b || b->block != (uintptr_t)p) return;
    b->freed = running_call().at;
    if (in_heap(b->start)) mark_freed(b->start, b->bytes);
}
void all_memory_freed()
{
    for (auto &b : buffers)
        if (!b.second.freed) b.second.freed = running_call().at;
}

void begin_variables()
{
    each_device_variable([](const variable &v) {
        const place *unknown = place_of(nullptr);
        variables[v.start] = {v.start, v.bytes, v.name, 0,
                              unknown, nullptr, "",     cudaMemoryTypeDevice,
                              v.start, v.bytes, false};
        mark_allocated(v.start, v.bytes, true);
    });
}

/* --- which buffer ------------------------------------------------------------------- */

buffer *nearest_buffer(uintptr_t address)
{
    buffer_map &all = in_heap(address) ? buffers : variables;
    auto next = all.upper_bound(address);
    buffer *after = next == all.end() ? nullptr : &next->second;
    buffer *before = next == all.begin() ? nullptr : &std::prev(next)->second;
    bool global = &all == &variables;
    if (after && !global && !in_heap(after->start)) after = nullptr; /* pinned memory */
    if (before && !global && !in_heap(before->start)) before = nullptr;
    if (!before || !after) return before ? before : after;
    uintptr_t past = address - before->start < before->bytes
                         ? 0
                         : address - (before->start + before->bytes) + 1;
    return past && after->start - address < past ? after : before;
}
buffer *block_of(uintptr_t address)
{
    auto next = buffers.upper_bound(address);
    if (next != buffers.end() && next->second.block <= address) return &next->second;
    if (next == buffers.begin()) return nullptr;
    buffer *b = &std::prev(next)->second;
    return address - b->block < b->block_bytes ? b : nullptr;
}
const buffer *live_block(uintptr_t address)
{
    const buffer *b = block_of(address);
    return b && !b->freed ? b : nullptr;
}
bool mapped_for_device(uintptr_t address, size_t bytes)
{
    if (address < mapped_low || address >= mapped_high) return false;
    const buffer *b = live_block(address);
    return b && b->type != cudaMemoryTypeDevice &&
           address + bytes <= b->block + b->block_bytes;
}

/* --- wrong frees -------------------------------------------------------------------- */

static const char *word_for(cudaMemoryType type)
{
    return type == cudaMemoryTypeDevice    ? "device"
           : type == cudaMemoryTypeManaged ? "managed"
                                           : "pinned host";
}
static const char *function_for(cudaMemoryType type)
{
    return type == cudaMemoryTypeHost ? "cudaFreeHost" : "cudaFree";
}

/* "x", or "memory": the buffer's name, where it is known */
static std::string name_of(const buffer *a)
{
    return a->name == "buffer" ? "memory" : a->name;
}

static void double_free(const call &c, const buffer *a)
{
    const place *first = freed_at(a);
    finding *f = find("double-free", c.at, first);
    if (!f) return;
    f->what = name_of(a);
    f->other_access = "frees";
    f->message = format(
        "%s frees %s (allocated at %s) again: it was freed at %s", c.name.c_str(),
        f->what.c_str(), text_of(a->at).c_str(), text_of(first).c_str());
    f->fix = "free it once; set the pointer to NULL after the first free";
    publish(f);
}

void bad_free(void *p)
{
    call c = running_call();
    const buffer *a = block_of((uintptr_t)p);
    if (a && freed_at(a) && a->block == (uintptr_t)p) return double_free(c, a);
    finding *f = find("invalid-free", c.at);
    if (!f) return;
    const char *name = c.name.c_str();
    if (a && a->block != (uintptr_t)p) {
        f->what = name_of(a);
        f->message = format(
            "%s gets a pointer into the middle of %s (allocated at %s), %zu bytes after "
            "its start",
            name, f->what.c_str(), text_of(a->at).c_str(), (uintptr_t)p - a->block);
        f->fix = format("pass the pointer that %s returned", a->made_by.c_str());
    } else if (a) {
        f->what = name_of(a);
        f->message = format(
            "%s gets %s memory, which %s allocated at %s", name, word_for(a->type),
            a->made_by.c_str(), text_of(a->at).c_str());
        f->fix = format("free it with %s", function_for(a->type));
    } else {
        f->message =
            format("%s gets a pointer that no CUDA function has allocated", name);
        f->fix =
            "free memory from malloc with free, memory from new with delete; do not free "
            "an array or a variable";
    }
    publish(f);
}

/* cudaFreeAsync: frees later, but a second call is wrong immediately. */
bool free_enqueued(void *p)
{
    buffer *b = block_of((uintptr_t)p);
    if (!b || b->block != (uintptr_t)p || b->freed || b->type != cudaMemoryTypeDevice) {
        bad_free(p);
        return false;
    }
    b->freed = running_call().at;
    return true;
}
/* cudaMallocAsync and cudaFreeAsync: a use that is not ordered with them conflicts. */
void stream_memory(void *p, size_t)
{
    if (const buffer *b = block_of((uintptr_t)p))
        record(b->block, b->block_bytes, WRITES);
}

void graph_memory(void *p, bool allocates)
{
    buffer *b = block_of((uintptr_t)p);
    if (!b) return;
    if (running) stream_memory(p, 0);
    if (allocates) {
        b->idle = nullptr;
        mark_allocated(b->start, b->bytes, false);
    } else if (b->idle) {
        bad_free(p);
    } else {
        b->idle = running_call().at;
        mark_freed(b->start, b->bytes);
    }
}

/* --- leaks -------------------------------------------------------------------------- */

void leaks(const char *who)
{
    for (auto &entry : buffers) {
        buffer &b = entry.second;
        if (freed_at(&b) || b.at->file == "?" || b.made_by == "cudaHostRegister") continue;
        if (b.leaked || is_of_grader(&b)) continue;
        b.leaked = true;
        finding *f = find("leak", b.at);
        if (!f) continue;
        f->what = name_of(&b);
        f->message = format(
            "%s of %zu bytes: %s without freeing it", b.made_by.c_str(), b.block_bytes,
            who);
        f->fix = format("call %s before %s", function_for(b.type), who);
        publish(f);
    }
}
}  // namespace wbcpu::check
