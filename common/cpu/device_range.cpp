/* device_range.cpp - the range of addresses that device memory has, and its guard.
 *
 * A page is allocated when it is first touched. With a single range, "is p a device
 * pointer?" takes two comparisons, and one mprotect makes all device memory inaccessible to
 * host code (the guard), so that host code which dereferences a device pointer fails as it
 * does with a GPU.
 */
#include "memory.h"

#include <algorithm>
#include <sys/mman.h>

namespace wbcpu
{
/* Device memory has pages of this size where the system allows it: reading a model's weights
 * is faster when fewer addresses have to be translated, and so is the guard. */
constexpr size_t huge_page = 2u << 20;

std::recursive_mutex memory_lock;
address_range device_range;
bool guarded;
bool results_stay;
uintptr_t device_base;
size_t device_bytes;
static int open_count;
static size_t accessible; /* an access beyond this offset is illegal, as with a GPU */

bool reserve_device_memory()
{
    if (device_range.base) return true;
    /* Address space, not memory. Retry with less in case its size is limited. */
    for (size_t size = (size_t)1 << 40; size >= (size_t)64 << 20; size /= 2) {
        size_t whole = check::enabled ? 2 * size : size; /* managed memory follows */
        void *m = mmap(
            nullptr, whole + huge_page,
            check::enabled ? PROT_READ | PROT_WRITE : PROT_NONE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED) continue;
        device_base = ((uintptr_t)m + huge_page - 1) / huge_page * huge_page;
        device_bytes = size;
        if (!check::start(size)) {
            munmap(m, whole + huge_page);
            continue;
        }
        device_range.base = (char *)device_base;
        /* In check mode addresses are not used again: most pages would stay almost empty. */
        if (!check::enabled) madvise(device_range.base, whole, MADV_HUGEPAGE);
        device_range.size = size;
        if (check::enabled) { /* reports illegal accesses, but does not block them */
            accessible = size;
            /* An index far below 0 is still an address of device memory. */
            device_range.low_water = device_range.high_water =
                size / 4 / alignment * alignment;
            guarded = true;
            install_crash_handler();
            use_signal_stack();
        }
        return true;
    }
    return false;
}

/* A page above the memory that protect() changes is read-only. So this memory is a mapping
 * of its own, which the system need not split and join each time. */
static char *fence;

static void protect(int how)
{
    static const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t start = device_range.low_water / huge_page * huge_page, /* whole pages */
        bytes = (device_range.high_water - start + huge_page - 1) / huge_page * huge_page;
    char *end = device_range.base + start + bytes;
    if (!bytes) return;
    if (end != fence && end + page <= device_range.base + device_range.size) {
        if (fence) mprotect(fence, page, PROT_READ | PROT_WRITE);
        fence = end;
        mprotect(fence, page, PROT_READ);
    }
    mprotect(device_range.base + start, bytes, how);
}
void open_guarded_memory()
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    if (open_count++ == 0) protect(PROT_READ | PROT_WRITE);
}
void close_guarded_memory()
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    if (--open_count == 0) protect(PROT_NONE);
}
extern "C" void wbcpu_guard(int on)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    guarded = on;
    results_stay = on > 1;
    open_count = 0;
    protect(on ? PROT_NONE : PROT_READ | PROT_WRITE);
}

/* The first bytes of the range become accessible, in whole pages. */
static bool make_accessible(size_t bytes)
{
    if (bytes <= accessible) return true;
    size_t end =
        std::min((bytes + huge_page - 1) / huge_page * huge_page, device_range.size);
    char *first = device_range.base + accessible;
    if (mprotect(first, end - accessible, PROT_READ | PROT_WRITE)) return false;
    accessible = end;
    return true;
}

char *extend_device_range(size_t bytes)
{
    if (bytes > device_range.size - device_range.high_water ||
        !make_accessible(device_range.high_water + bytes))
        return nullptr;
    char *p = device_range.base + device_range.high_water;
    device_range.high_water += bytes;
    if (guarded && open_count == 0)
        protect(PROT_NONE);
    else if (fence && device_range.base + device_range.high_water > fence)
        protect(PROT_READ | PROT_WRITE);
    return p;
}

void leave_device_range()
{
    protect(PROT_READ | PROT_WRITE); /* a late use is reported, and then does no harm */
    char *first = device_range.base + device_range.low_water;
    madvise(first, device_range.high_water - device_range.low_water, MADV_DONTNEED);
    device_range.low_water = device_range.high_water;
    check::leave_below((uintptr_t)device_range.base + device_range.low_water);
    if (guarded && open_count == 0) protect(PROT_NONE);
}
}  // namespace wbcpu
