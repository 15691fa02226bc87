/* lifetimes.cpp - device, managed and pinned memory from its allocation to its release. */
#include "host.h"
#include "host_hooks.h"

#include <map>

namespace wbcpu::check
{
static auto &allocations = *new std::map<uintptr_t, allocation>;
static uintptr_t mapped_low = UINTPTR_MAX, mapped_high; /* of pinned and managed memory */

void memory_allocated(void *p, size_t bytes, cudaMemoryType type)
{
    uintptr_t start = (uintptr_t)p;
    allocations[start] = {start, bytes, type, running_call(), {nullptr, ""}};
    if (type == cudaMemoryTypeDevice) return;
    if (start < mapped_low) mapped_low = start;
    if (start + bytes > mapped_high) mapped_high = start + bytes;
}
extern "C" void wbcpu_checked_type(const void *p, size_t bytes)
{
    buffer *b = p ? nearest_buffer((uintptr_t)p) : nullptr;
    if (b && b->start == (uintptr_t)p && bytes > 1) b->element = (unsigned)bytes;
}
void memory_freed(void *p)
{
    auto a = allocations.find((uintptr_t)p);
    if (a != allocations.end()) a->second.freed = running_call();
}
void all_memory_freed()
{
    for (auto &a : allocations)
        if (!a.second.freed.at) a.second.freed = running_call();
}

/* The newest allocation that starts at or before the address, if it contains it. */
static const allocation *any_allocation(uintptr_t address)
{
    auto after = allocations.upper_bound(address);
    if (after == allocations.begin()) return nullptr;
    const allocation *a = &std::prev(after)->second;
    return address - a->start < a->bytes ? a : nullptr;
}
const allocation *allocation_of(uintptr_t address)
{
    const allocation *a = any_allocation(address);
    return a && !a->freed.at ? a : nullptr;
}
const place *freed_at(uintptr_t address)
{
    const allocation *a = any_allocation(address);
    return a ? a->freed.at : nullptr;
}
bool mapped_for_device(uintptr_t address, size_t bytes)
{
    if (address < mapped_low || address >= mapped_high) return false;
    const allocation *a = allocation_of(address);
    return a && a->type != cudaMemoryTypeDevice && address + bytes <= a->start + a->bytes;
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
static std::string name_of(const allocation *a)
{
    std::string name = name_at(a->start);
    return name == "buffer" ? "memory" : name;
}

static void double_free(const call &c, const allocation *a)
{
    finding *f = find("double-free", c.at, a->freed.at);
    if (!f) return;
    f->what = name_of(a);
    f->other_access = "frees";
    f->message = format(
        "%s frees %s (allocated at %s) again: it was freed at %s", c.name.c_str(),
        f->what.c_str(), text_of(a->made.at).c_str(), text_of(a->freed.at).c_str());
    f->fix = "free it once; set the pointer to NULL after the first free";
    publish(f);
}

void bad_free(void *p)
{
    call c = running_call();
    const allocation *a = any_allocation((uintptr_t)p);
    if (a && a->freed.at && a->start == (uintptr_t)p) return double_free(c, a);
    finding *f = find("invalid-free", c.at);
    if (!f) return;
    const char *name = c.name.c_str();
    if (a && a->start != (uintptr_t)p) {
        f->what = name_of(a);
        f->message = format(
            "%s gets a pointer into the middle of %s (allocated at %s), %zu bytes after "
            "its start",
            name, f->what.c_str(), text_of(a->made.at).c_str(), (uintptr_t)p - a->start);
        f->fix = format("pass the pointer that %s returned", a->made.name.c_str());
    } else if (a) {
        f->what = name_of(a);
        f->message = format(
            "%s gets %s memory, which %s allocated at %s", name, word_for(a->type),
            a->made.name.c_str(), text_of(a->made.at).c_str());
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
    auto a = allocations.find((uintptr_t)p);
    if (a == allocations.end() || a->second.freed.at ||
        a->second.type != cudaMemoryTypeDevice) {
        bad_free(p);
        return false;
    }
    a->second.freed = running_call();
    return true;
}
/* cudaMallocAsync and cudaFreeAsync: a use that is not ordered with them conflicts. */
void stream_memory(void *p, size_t)
{
    auto a = allocations.find((uintptr_t)p);
    if (a != allocations.end()) record(a->first, a->second.bytes, WRITES);
}

/* --- leaks -------------------------------------------------------------------------- */

void leaks()
{
    for (auto &entry : allocations) {
        const allocation &a = entry.second;
        if (a.freed.at || a.made.at->file == "?" || a.made.name == "cudaHostRegister")
            continue;
        finding *f = find("leak", a.made.at);
        if (!f) continue;
        f->what = name_of(&a);
        f->message = format(
            "%s of %zu bytes: the program ends without freeing it", a.made.name.c_str(),
            a.bytes);
        f->fix = format("call %s before the program ends", function_for(a.type));
        publish(f);
    }
}
}  // namespace wbcpu::check
