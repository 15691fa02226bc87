/* copies.cpp - copies and memsets: do the pointers, the direction and the size fit, and
 * has everything that goes to the host been written? */
#include "../stream.h"
#include "host.h"
#include "host_hooks.h"
#include "memory.h"

#include <string.h>

namespace wbcpu::check
{
enum memory_kind { DEVICE, VARIABLE, MAPPED, PAGEABLE };

static memory_kind kind_of(const void *p)
{
    uintptr_t address = (uintptr_t)p;
    if (address - device_base < device_bytes) return DEVICE;
    if (mapped_for_device(address, 1)) return MAPPED;
    return in_program_data(address) ? VARIABLE : PAGEABLE;
}

/* Is this side of the copy host memory? A static array of the host looks like a __device__
 * variable, so that the direction decides. */
static bool on_host(const void *p, int kind, int other)
{
    if (kind == cudaMemcpyDefault) return kind_of(p) != DEVICE;
    return kind == cudaMemcpyHostToHost || kind == other;
}
static bool to_host(const copy &c)
{
    return c.src && on_host(c.dst, c.kind, cudaMemcpyDeviceToHost);
}
static bool from_host(const copy &c)
{
    return c.src && on_host(c.src, c.kind, cudaMemcpyHostToDevice);
}
static bool pageable(const void *p)
{
    return kind_of(p) == PAGEABLE || kind_of(p) == VARIABLE;
}

/* From the first byte to the last one. */
static size_t extent(size_t pitch, size_t width, size_t height)
{
    return width && height ? (height - 1) * pitch + width : 0;
}

/* --- direction ---------------------------------------------------------------------- */

static const char *name_of(int kind)
{
    static const char *const names[] = {
        "cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
        "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault"};
    return names[kind];
}

/* A static array of the host looks like a __device__ variable: no error. */
static bool wrong_side(const void *p, bool host)
{
    memory_kind k = kind_of(p);
    return host ? k == DEVICE : k == PAGEABLE;
}

static bool wrong_direction(const copy &c)
{
    const void *sides[] = {c.dst, c.src};
    bool host[] = {
        c.kind == cudaMemcpyDeviceToHost || c.kind == cudaMemcpyHostToHost,
        c.kind == cudaMemcpyHostToDevice || c.kind == cudaMemcpyHostToHost};
    for (int i = 0; i < 2; i++) {
        if (!wrong_side(sides[i], host[i])) continue;
        call now = running_call();
        finding *f = find("copy-kind", now.at);
        if (!f) return true;
        f->what = kind_of(sides[i]) == DEVICE ? name_at((uintptr_t)sides[i]) : "";
        f->message = format(
            "%s with %s, but the %s is %s memory", now.name.c_str(), name_of(c.kind),
            i ? "source" : "destination", host[i] ? "device" : "host");
        f->fix =
            "the order is: destination, source, bytes, direction; the direction names "
            "the side of the source first";
        publish(f);
        return true;
    }
    return false;
}

static bool set_of_host_memory(const copy &c)
{
    if (kind_of(c.dst) != PAGEABLE) return false;
    call now = running_call();
    finding *f = find("copy-kind", now.at);
    if (!f) return true;
    f->message = format("%s sets host memory", now.name.c_str());
    f->fix = "use memset for host memory; cudaMemset needs a pointer from cudaMalloc";
    publish(f);
    return true;
}

/* --- size --------------------------------------------------------------------------- */

struct container {
    uintptr_t start;
    size_t bytes;
    std::string name;
    const buffer *block; /* NULL: a variable */
};
static bool container_of(uintptr_t address, container *found)
{
    if (const buffer *b = live_block(address)) {
        *found = {b->block, b->block_bytes, b->name, b};
        return true;
    }
    const variable *v = in_program_data(address) ? global_variable(address) : nullptr;
    if (v) *found = {v->start, v->bytes, v->name, nullptr};
    return v != nullptr;
}

static bool freed_or_unknown(uintptr_t address, const char *does)
{
    if (address - device_base >= device_bytes) return false; /* pageable: size unknown */
    call now = running_call();
    const buffer *b = nearest_buffer(address);
    const buffer *block = block_of(address);
    const place *freed = block ? block->freed : nullptr;
    finding *f = find(freed ? "use-after-free" : "out-of-bounds", now.at);
    if (!f) return true;
    f->what = b ? b->name : "";
    if (freed)
        f->message = format(
            "%s %s %s, which was freed at %s", now.name.c_str(), does,
            describe(b).c_str(), text_of(freed).c_str());
    else
        f->message = format(
            "%s %s device memory outside of every buffer%s", now.name.c_str(), does,
            b ? format("; the nearest is %s", describe(b).c_str()).c_str() : "");
    f->fix =
        freed ? "free it after the last call that uses it"
              : "pass a pointer from cudaMalloc, and offsets in elements, not in bytes";
    publish(f);
    return true;
}

/* does: "writes", "reads" */
static bool too_large(const char *kind, const void *p, size_t bytes, const char *does)
{
    uintptr_t address = (uintptr_t)p;
    container in;
    if (!bytes) return false;
    if (!container_of(address, &in)) return freed_or_unknown(address, does);
    size_t offset = address - in.start;
    if (bytes <= in.bytes - offset) return false;
    call now = running_call();
    finding *f = find(kind, now.at);
    if (!f) return true;
    f->what = in.name;
    std::string from = offset ? format(" from byte %zu on", offset) : "";
    f->message = format(
        "%s %s %zu bytes of %s, which has only %zu%s", now.name.c_str(), does, bytes,
        in.name.c_str(), in.bytes - offset, from.c_str());
    f->fix =
        "pass the size in bytes: the number of elements times sizeof, for this buffer";
    if (strcmp(kind, "copy-size"))
        f->fix =
            "the sizes and leading dimensions count elements: check them against the "
            "allocation";
    publish(f);
    return true;
}

cudaError_t check_copy(const copy &c)
{
    if (!c.width || !c.height || !c.dst || (unsigned)c.kind > cudaMemcpyDefault)
        return cudaSuccess;
    start_tables();
    if (c.src && c.kind != cudaMemcpyDefault && wrong_direction(c))
        return cudaErrorInvalidValue;
    if (!c.src && set_of_host_memory(c)) return cudaErrorInvalidValue;
    size_t to = extent(c.dpitch, c.width, c.height),
           from = extent(c.spitch, c.width, c.height);
    bool wrong = too_large("copy-size", c.dst, to, "writes") ||
                 (c.src && too_large("copy-size", c.src, from, "reads"));
    return wrong ? cudaErrorInvalidValue : cudaSuccess;
}

void bad_pitch(const copy &c)
{
    call now = running_call();
    finding *f = find("copy-size", now.at);
    if (!f) return;
    bool to = c.width > c.dpitch;
    f->message = format(
        "%s copies rows of %zu bytes, but the %s has a row every %zu bytes",
        now.name.c_str(), c.width, to ? "destination" : "source",
        to ? c.dpitch : c.spitch);
    f->fix =
        "the pitch is the distance between two rows in bytes, at least the width: pass "
        "what cudaMallocPitch returned, or columns times sizeof";
    publish(f);
}

/* --- when it runs ------------------------------------------------------------------- */

/* The first element without a written byte, or `bytes`. Padding in a struct is
 * never written, so single bytes do not count. */
static size_t unwritten_element(const char *p, size_t bytes)
{
    const buffer *b = nearest_buffer((uintptr_t)p);
    size_t unit = b && b->element ? b->element : 4;
    for (size_t i = first_unwritten(p, bytes); i < bytes;
         i += first_unwritten(p + i, bytes - i)) {
        uintptr_t phase = b ? ((uintptr_t)p + i - b->start) % unit : 0;
        size_t length = 1;
        while (phase + length < unit && i + length < bytes &&
               first_unwritten(p + i + length, 1) == 0)
            length++;
        if (length == unit || (phase == 0 && i + length == bytes)) return i;
        i += length;
    }
    return bytes;
}

/* does: "copies", to the host; "reads" */
static bool told_uninitialized(const char *p, size_t bytes, const char *does)
{
    const buffer *b = nearest_buffer((uintptr_t)p);
    uintptr_t offset = b ? (uintptr_t)p - b->start : 0;
    if (!b || offset > b->bytes || bytes > b->bytes - offset)
        return false; /* red zones */
    size_t i = unwritten_element(p, bytes);
    if (i >= bytes) return false;
    call now = running_call();
    finding *f = find("uninitialized", now.at);
    if (!f) return true;
    f->what = b->name;
    f->message = format(
        "%s %s %s of %s, which nothing has written", now.name.c_str(), does,
        element_of(b, (uintptr_t)p + i, b->element ? b->element : 4).c_str(),
        describe(b).c_str());
    f->fix =
        "does the previous kernel write every element: is the grid large enough, and "
        "did it run? Otherwise copy only what is written";
    publish(f);
    return true;
}

/* dst is written where src is. */
static void pass_on_written(const char *dst, const char *src, size_t bytes)
{
    host_wrote(dst, bytes);
    for (size_t i = first_unwritten(src, bytes); i < bytes;
         i += first_unwritten(src + i, bytes - i)) {
        size_t from = i;
        while (i < bytes && first_unwritten(src + i, 1) == 0)
            i++;
        wbcpu_check_unwritten(dst + from, i - from);
    }
}

void copying(const copy &c)
{
    memory_kind to = kind_of(c.dst), from = c.src ? kind_of(c.src) : PAGEABLE;
    bool told = false;
    end_overlap();
    for (size_t row = 0; row < c.height; row++) {
        char *dst = (char *)c.dst + row * c.dpitch;
        const char *src = c.src ? (const char *)c.src + row * c.spitch : nullptr;
        if (to != PAGEABLE) record((uintptr_t)dst, c.width, WRITES);
        if (src && from != PAGEABLE) record((uintptr_t)src, c.width, READS);
        if (to == DEVICE && from == DEVICE)
            pass_on_written(dst, src, c.width);
        else if (to == DEVICE)
            host_wrote(dst, c.width);
        else if (from == DEVICE && to_host(c) && !told)
            told = told_uninitialized(src, c.width, "copies");
    }
}

bool use_matrix(const void *p, size_t pitch, size_t width, size_t height, matrix_use use)
{
    bool writes = use != MATRIX_READ, reads = use != MATRIX_WRITTEN;
    const char *does = writes ? "writes" : "reads";
    end_overlap();
    if (too_large("out-of-bounds", p, extent(pitch, width, height), does)) return false;
    bool told = kind_of(p) != DEVICE;
    for (size_t i = 0; i < height; i++) {
        const char *column = (const char *)p + i * pitch;
        if (kind_of(p) != PAGEABLE)
            record((uintptr_t)column, width, writes ? WRITES : READS);
        if (reads && !told) told = told_uninitialized(column, width, "reads");
        if (writes) host_wrote(column, width);
    }
    return true;
}

std::shared_ptr<char> stage(copy &c, cudaStream_t stream)
{
    constexpr size_t limit = 64 << 20; /* larger copies run immediately */
    size_t bytes = c.width * c.height;
    if (!from_host(c) || !pageable(c.src) || !bytes || bytes > limit ||
        capture_of(stream))
        return nullptr;
    std::shared_ptr<char> staged(new char[bytes], std::default_delete<char[]>());
    for (size_t row = 0; row < c.height; row++)
        memcpy(
            staged.get() + row * c.width, (const char *)c.src + row * c.spitch, c.width);
    c.src = staged.get();
    c.spitch = c.width;
    return staged;
}

/* wait: the call is not an Async one. A copy within device memory and a memset are
 * asynchronous all the same. */
void copy_enqueued(const copy &c, cudaStream_t stream, bool wait, bool staged)
{
    if (capture_of(stream)) return;
    bool host_memory = to_host(c) || from_host(c) || (!c.src && kind_of(c.dst) == MAPPED);
    bool reads_later = from_host(c) && pageable(c.src) && !staged;
    bool writes_later = to_host(c) && pageable(c.dst);
    if (wait ? host_memory : reads_later || writes_later) wait_for_last();
}
}  // namespace wbcpu::check
