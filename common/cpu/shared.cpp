/* shared.cpp - shared memory full of NaN, between red zones (wbcpu_poison_shared). */
#include "check/hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"

#include <vector>

namespace wbcpu
{
bool shared_poisoned;
static uint16_t filling, red_zone;
static thread_local wbcpu_array *arrays;  /* that this CPU thread has used */
static thread_local uint64_t first_block; /* of this launch */
/* The rest of the dynamic shared memory is a red zone. */
static thread_local size_t dynamic_bytes = WBCPU_DYNAMIC_SHARED_MAX;

extern "C" {
WBCPU_THREAD_LOCAL uint64_t wbcpu_block;
}

/* The linker's names of the list of arrays at file scope (WBCPU_FILE_SHARED). */
extern "C" wbcpu_file_array *const __start_wbcpu_file_shared[]
    __attribute__((weak, visibility("hidden"))),
        *const __stop_wbcpu_file_shared[] __attribute__((weak, visibility("hidden")));

extern "C" void wbcpu_poison_shared(uint16_t pattern, uint16_t around)
{
    filling = pattern;
    red_zone = around;
    shared_poisoned = !check::enabled; /* check mode looks at each access */
}

static void fill(char *p, size_t bytes, uint16_t pattern)
{
    memcpy(p, &pattern, bytes < 2 ? bytes : 2);
    for (size_t n = 2; n < bytes; n *= 2)
        memcpy(p + n, p, n < bytes - n ? n : bytes - n);
}

/* The first byte of [p, p + bytes) that is not the red zone's, or -1. */
static long changed(const char *p, size_t bytes)
{
    char pattern[2];
    memcpy(pattern, &red_zone, 2);
    if (bytes >= 2 && !memcmp(p, pattern, 2) && !memcmp(p, p + 2, bytes - 2)) return -1;
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != pattern[i % 2]) return (long)i;
    return -1;
}

/* After the block has arrived at the cluster barrier, other blocks may write an array that
 * it has not come to: an array that is first seen then keeps what it holds. */
extern "C" void wbcpu_open_array(wbcpu_array *a)
{
    if (!a->block) {
        a->next = arrays;
        arrays = a;
        fill(a->start - WBCPU_RED_ZONE, WBCPU_RED_ZONE, red_zone);
        fill(a->start + a->bytes, WBCPU_RED_ZONE, red_zone);
    }
    a->block = wbcpu_block;
    if (!open_to_cluster(self())) fill(a->start, a->bytes, filling);
}

/* Every block may use those at file scope. */
static void open_file_arrays()
{
    static thread_local std::vector<wbcpu_array> own;
    size_t n = (size_t)(__stop_wbcpu_file_shared - __start_wbcpu_file_shared);
    own.reserve(n); /* their addresses are kept */
    for (size_t i = own.size(); i < n; i++) {
        const wbcpu_file_array *a = __start_wbcpu_file_shared[i];
        own.push_back({0, nullptr, a->address(), a->bytes, a->name, a->file, a->line});
    }
    for (wbcpu_array &a : own)
        if (a.bytes) wbcpu_open_array(&a);
}

void begin_shared(const job *j)
{
    size_t bytes = j->launch.shared_bytes;
    if (bytes < dynamic_bytes)
        fill(wbcpu_dynamic_shared + bytes, dynamic_bytes - bytes, red_zone);
    dynamic_bytes = bytes;
    first_block = wbcpu_block + 1;
}

void poison_shared(const job *j)
{
    wbcpu_block++;
    fill(wbcpu_dynamic_shared, j->launch.shared_bytes, filling);
    open_file_arrays();
    if (j->launch.cluster_blocks() > 1)
        for (wbcpu_array *a = arrays; a; a = a->next)
            wbcpu_open_array(a);
}

static void check_array(const wbcpu_launch &l, const wbcpu_array *a)
{
    const char *owner = a->block >= first_block ? "its" : "another kernel's";
    long after = changed(a->start + a->bytes, WBCPU_RED_ZONE);
    if (after >= 0)
        stop(
            nullptr,
            "kernel %s (%s:%d) writes past the end of %s shared array %s (%s:%d): it has "
            "%zu bytes, and byte %zu was written",
            l.name, l.file, l.line, owner, a->name, a->file, a->line, a->bytes,
            a->bytes + (size_t)after);
    long before = changed(a->start - WBCPU_RED_ZONE, WBCPU_RED_ZONE);
    if (before >= 0)
        stop(
            nullptr,
            "kernel %s (%s:%d) writes before the start of %s shared array %s (%s:%d), by "
            "%ld bytes",
            l.name, l.file, l.line, owner, a->name, a->file, a->line,
            WBCPU_RED_ZONE - before);
}

void check_shared(const job *j)
{
    const wbcpu_launch &l = j->launch;
    for (const wbcpu_array *a = arrays; a; a = a->next)
        check_array(l, a);
    size_t bytes = l.shared_bytes;
    long after = changed(wbcpu_dynamic_shared + bytes, WBCPU_DYNAMIC_SHARED_MAX - bytes);
    if (after >= 0)
        stop(
            nullptr,
            "kernel %s (%s:%d) writes past the end of its dynamic shared memory: the "
            "launch asks for %zu bytes, and byte %zu was written",
            l.name, l.file, l.line, bytes, bytes + (size_t)after);
}
}  // namespace wbcpu
