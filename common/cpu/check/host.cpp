/* host.cpp - what host code does with device memory, copies, streams and errors. */
#include "host.h"
#include "check.h"
#include "hooks.h"

namespace wbcpu::check
{
void host_access(uintptr_t address, size_t bytes, bool write, const void *pc)
{
    if (address - device_base >= device_bytes) return;
    finding *f = find("device-pointer", place_of(pc));
    if (!f) return;
    const buffer *b = nearest_buffer(address);
    f->what = b ? b->name : "";
    f->message = format(
        "host code %s %s, which is device memory", write ? "writes" : "reads",
        b ? element_of(b, address, (unsigned)bytes).c_str() : "an address");
    f->fix = "copy it with cudaMemcpy, or do the work in a kernel";
    publish(f);
}

bool mapped_for_device(uintptr_t, size_t)
{
    return false;
}
}  // namespace wbcpu::check
