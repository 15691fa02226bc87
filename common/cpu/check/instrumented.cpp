/* instrumented.cpp - what the compiler's -fsanitize=bounds and -fsanitize=alignment call;
 * libubsan is not linked. They know the type of an array, which an address does not tell:
 * the end of a local array, of a row, of a __device__ array. */
#include "../ubsan.h"
#include "check.h"

#include <ctype.h>
#include <string.h>

namespace wbcpu::check
{
struct out_of_bounds_data {
    source_location at;
    const type_descriptor *array, *index;
};

/* The name of the array whose index ends at this column: tile for tile[y][x]. */
static std::string array_name(const source_location &at)
{
    std::string line = read_line(at.file, (int)at.line);
    size_t end = at.column;
    if (end == 0 || end > line.size() || line[end - 1] != ']') return "";
    while (end > 0 && line[end - 1] == ']') { /* the index, and those before it */
        int depth = 0;
        do {
            end--;
            depth += (line[end] == ']') - (line[end] == '[');
        } while (end > 0 && depth);
    }
    size_t start = end;
    while (start > 0 &&
           (isalnum((unsigned char)line[start - 1]) || line[start - 1] == '_'))
        start--;
    return line.substr(start, end - start);
}

static const char *kind_of(const std::string &name)
{
    if (is_shared_name(name)) return "out-of-bounds-shared";
    return is_global_name(name) ? "out-of-bounds-variable" : "out-of-bounds-local";
}

static void out_of_bounds(const out_of_bounds_data *d, long index, const void *pc)
{
    worker *w = self();
    if (!w) return; /* host code */
    const place *at = place_of(pc);
    bool known = strstr(d->at.file, at->file.c_str()) && (int)d->at.line == at->line;
    std::string name = known ? array_name(d->at) : "";
    if (finding *f = find(kind_of(name), at)) {
        f->what = name;
        f->message = format(
            "uses index %ld of %s%s%s", index,
            name.empty() ? "an array of type " : name.c_str(), name.empty() ? "" : ", a ",
            plain_type(d->array).c_str());
        f->fix = "make the array larger, or the index smaller";
        publish(f);
    }
    abandon(w, cudaErrorIllegalAddress);
}

void misaligned(
    const std::string &does, uintptr_t address, unsigned alignment, const place *at)
{
    if (finding *f = find("misaligned", at)) {
        const buffer *b = in_heap(address) ? nearest_buffer(address) : nullptr;
        f->what = b ? b->name : "";
        f->message = format(
            "%s at %s%s, %u bytes after a multiple of %u", does.c_str(),
            b ? element_of(b, address, 1).c_str() : "an address in shared memory",
            b && b->element == 0 ? " (bytes)" : "", (unsigned)(address % alignment),
            alignment);
        f->fix = "an access of 8 or 16 bytes needs an address that is a multiple of its "
                 "size: check the pointer before you cast it, and use scalars otherwise";
        publish(f);
    }
    abandon(self(), cudaErrorMisalignedAddress);
}

void misaligned_object(
    const char *type, unsigned alignment, const void *address, const void *pc)
{
    if (self())
        misaligned(
            std::string("uses a ") + type, (uintptr_t)address, alignment, place_of(pc));
}
}  // namespace wbcpu::check

extern "C" void __ubsan_handle_out_of_bounds_abort(
    const wbcpu::check::out_of_bounds_data *data, unsigned long index)
{
    wbcpu::check::out_of_bounds(
        data, (long)(int)index,
        __builtin_extract_return_addr(__builtin_return_address(0)));
}
