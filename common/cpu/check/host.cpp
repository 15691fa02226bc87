/* host.cpp - host code that accesses device memory, or pinned memory that a stream still
 * uses; the program's line and function of a running call. */
#include "../symbols.h"
#include "host.h"
#include "host_hooks.h"
#include "memory.h"

#include <map>
#include <unwind.h>

namespace wbcpu::check
{
/* --- the program's call ------------------------------------------------------------- */

/* A program may fail before it allocates anything. */
void start_tables()
{
    static bool started = reserve_device_memory();
    (void)started;
}

struct walk {
    const place *program = nullptr;
    std::string function; /* of the library, called by the program */
};
static _Unwind_Reason_Code next_frame(_Unwind_Context *context, void *out)
{
    walk *w = static_cast<walk *>(out);
    int exact = 0; /* the address is that of the instruction: a signal */
    uintptr_t pc = _Unwind_GetIPInfo(context, &exact);
    if (!pc) return _URC_END_OF_STACK;
    const place *at = place_of((const void *)(pc + (exact != 0)));
    if (in_program_data(pc) && at->line > 0 && !at->library) {
        w->program = at;
        if (!at->call.empty()) w->function = at->call;
        return _URC_END_OF_STACK;
    }
    /* Check mode's library has no debug information. */
    if (const char *name = function_at((const void *)_Unwind_GetRegionStart(context)))
        w->function = name;
    return _URC_NO_REASON;
}

call running_call()
{
    start_tables();
    return running ? call{running->at, running->name} : program_call();
}
call program_call()
{
    static const place *unknown = place_of(nullptr);
    walk w;
    _Unwind_Backtrace(next_frame, &w);
    w.function = w.function.substr(0, w.function.find('<')); /* without types */
    w.function.erase(0, w.function.rfind(' ') + 1);
    return {w.program ? w.program : unknown, w.function};
}

const place *place_at(const char *file, int line)
{
    static auto &known = *new std::map<std::pair<std::string, int>, const place *>;
    start_tables();
    std::string name = shown_path(file);
    const place *&at = known[{name, line}];
    if (!at) at = new place{name, "", line, false, ""};
    return at;
}

static const void *known_pc;
static caller known_caller;

void library_begins()
{
    start_tables(); /* device memory may not have been used yet */
    known_pc = nullptr;
}
caller caller_of(const void *pc)
{
    if (wbcpu_in_library && pc == known_pc) return known_caller;
    const place *at = place_of(pc);
    known_caller = {at, ""};
    if (at->library) {
        call c = running_call();
        known_caller = {c.at, c.name.empty() ? "" : c.name + " "};
    }
    known_pc = pc;
    return known_caller;
}

/* --- accesses ----------------------------------------------------------------------- */

static void device_pointer(const place *at, uintptr_t address, const char *does)
{
    finding *f = find("device-pointer", at);
    if (!f) return;
    const buffer *b = nearest_buffer(address);
    bool inside = b && address - b->start < b->bytes;
    f->what = inside ? b->name : "";
    f->message = format(
        "host code %s %s, which is device memory", does,
        inside ? element_of(b, address, b->element).c_str() : "an address");
    f->fix = "copy it to host memory with cudaMemcpy first, or do the work in a kernel";
    publish(f);
}

/* Elements of device memory that host code has references to, the last ones */
static range lent[16];
static unsigned lent_count;

extern "C" void wbcpu_checked_reference(const void *p, size_t bytes)
{
    stream_synchronized(nullptr);             /* as a copy does */
    if (lent_count == 0) open_device_memory(); /* to the program's end */
    lent[lent_count++ % 16] = {(uintptr_t)p, (uintptr_t)p + bytes};
}
static bool is_lent(uintptr_t address)
{
    for (const range &r : lent)
        if (address >= r.start && address < r.end) return true;
    return false;
}

void host_access(
    uintptr_t address, size_t bytes, bool write, const void *pc, bool atomic)
{
    bool device = address - device_base < device_bytes;
    if (wbcpu_in_library ? in_heap(address) : device && is_lent(address)) {
        library_access({address, (unsigned)bytes, write, atomic, false, nullptr}, pc);
        return;
    }
    const variable *v = in_program_data(address) ? global_variable(address) : nullptr;
    if (__builtin_expect(v && v->device && !v->managed && !wbcpu_in_library, 0))
        device = true;
    if (device) {
        device_pointer(caller_of(pc).at, address, write ? "writes" : "reads");
        return;
    }
    if (__builtin_expect(!unfinished, 1) || !mapped_for_device(address, bytes)) return;
    if (running) /* a host function on a stream */
        record(address, bytes, write ? WRITES : READS);
    else
        host_touches({address, address + bytes}, write, pc);
}

/* Code that is not checked, such as the C library. It would fail in the same way on a
 * machine with a GPU, so the program ends here. */
void host_crashed(const void *address)
{
    if (wbcpu_self) return;
    if ((uintptr_t)address - device_base < device_bytes)
        device_pointer(running_call().at, (uintptr_t)address, "uses");
    end_of_program(true);
    finish(1);
}

void library_touches(const void *p, size_t bytes, bool write)
{
    note_range(p, bytes, write, nullptr);
}

std::string name_at(uintptr_t address)
{
    const buffer *b = live_block(address);
    if (!b && address - device_base < device_bytes) b = nearest_buffer(address);
    if (b) return b->name;
    const variable *v = global_variable(address);
    return v ? v->name : "buffer";
}
std::string element_at(uintptr_t address, unsigned bytes)
{
    const buffer *b = live_block(address);
    if (!b && address - device_base < device_bytes) b = nearest_buffer(address);
    if (b && (bytes || b->element)) return element_of(b, address, bytes);
    uintptr_t start = address;
    if (b)
        start = b->start;
    else if (const variable *v = global_variable(address))
        start = v->start;
    if (bytes)
        return format("%s[%zu]", name_at(address).c_str(), (address - start) / bytes);
    return format("%s at byte %zu", name_at(address).c_str(), address - start);
}
}  // namespace wbcpu::check
