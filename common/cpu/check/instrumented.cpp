/* instrumented.cpp - what the compiler's -fsanitize=bounds and -fsanitize=alignment call;
 * libubsan is not linked. They know the type of an array, which an address does not tell:
 * the end of a local array, of a row, of a __device__ array. */
#include "check.h"

#include <ctype.h>
#include <fstream>
#include <string.h>

namespace wbcpu::check
{
/* The compiler writes these; their layout is libubsan's. */
struct location {
    const char *file;
    uint32_t line, column;
};
struct type_descriptor {
    uint16_t kind, info;
    char name[]; /* 'float [32]' */
};
struct out_of_bounds_data {
    location at;
    const type_descriptor *array, *index;
};

/* The name of the array whose index ends at this column: tile for tile[y][x]. */
static std::string array_name(const location &at)
{
    std::ifstream in(at.file);
    std::string line;
    for (uint32_t i = 0; i < at.line; i++)
        if (!std::getline(in, line)) return "";
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

/* 'const float [32]' without quotes and qualifiers */
static std::string plain_type(const char *quoted)
{
    std::string s = quoted + (*quoted == '\'');
    if (!s.empty() && s.back() == '\'') s.pop_back();
    for (const char *word : {"const ", "volatile "})
        while (s.compare(0, strlen(word), word) == 0)
            s.erase(0, strlen(word));
    return s;
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
            plain_type(d->array->name).c_str());
        f->fix = "make the array larger, or the index smaller";
        publish(f);
    }
    abandon(w, cudaErrorIllegalAddress);
}

void misaligned_object(
    const char *type, unsigned alignment, const void *address, const void *pc)
{
    worker *w = self();
    if (!w) return;
    if (finding *f = find("misaligned", place_of(pc))) {
        uintptr_t at = (uintptr_t)address;
        const buffer *b = wbcpu_in_device_memory(address) ? nearest_buffer(at) : nullptr;
        f->what = b ? b->name : "";
        f->message = format(
            "uses a %s at %s%s, %u bytes after a multiple of %u", type,
            b ? element_of(b, at, 1).c_str() : "an address in shared memory",
            b && b->element == 0 ? " (bytes)" : "", (unsigned)(at % alignment),
            alignment);
        f->fix = "an access of 8 or 16 bytes needs an address that is a multiple of its "
                 "size: check the pointer before you cast it, and use scalars otherwise";
        publish(f);
    }
    abandon(w, cudaErrorMisalignedAddress);
}
}  // namespace wbcpu::check

extern "C" void __ubsan_handle_out_of_bounds_abort(
    const wbcpu::check::out_of_bounds_data *data, unsigned long index)
{
    wbcpu::check::out_of_bounds(
        data, (long)(int)index,
        __builtin_extract_return_addr(__builtin_return_address(0)));
}
