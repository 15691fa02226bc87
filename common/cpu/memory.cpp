/* memory.cpp - device memory and host memory.
 *
 * Device memory is one reserved range of addresses with a best-fit allocator; a page is
 * allocated when it is first touched. With a single range, "is p a device pointer?" takes
 * two comparisons, and one mprotect makes all device memory inaccessible to host code
 * (the guard), so that host code which dereferences a device pointer fails as it does
 * with a GPU. The allocator's lists are outside the range, because the range may be
 * inaccessible.
 */
#include "check/host_hooks.h"
#include "dry.h"
#include "include/wbcpu.h"
#include "scheduler.h"
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace wbcpu
{
constexpr size_t alignment = 256;
/* Between buffers, so that equal offsets into large ones map to different cache sets. */
constexpr size_t gap = check::enabled ? 64 << 10 : 512;
/* The pages of freed blocks of this size and above are returned to the system. */
constexpr size_t release_bytes = 64u << 20;
/* Device memory has pages of this size where the system allows it: reading a model's weights
 * is faster when fewer addresses have to be translated, and so is the guard. */
constexpr size_t huge_page = 2u << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool checked_by_asan = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool checked_by_asan = true;
#else
constexpr bool checked_by_asan = false;
#endif
#else
constexpr bool checked_by_asan = false;
#endif

struct device_memory {
    char *base = nullptr;
    size_t size = 0;
    size_t low_water = 0;  /* nothing has been allocated before this offset */
    size_t high_water = 0; /* nor beyond this one */
    size_t accessible = 0; /* an access beyond this one is illegal, as with a GPU */
    std::map<char *, size_t> allocated;
    std::map<char *, size_t> free; /* by address; adjacent blocks are merged */
    std::set<std::pair<size_t, char *>> free_by_size; /* the same blocks by size */
};
struct host_memory {
    std::map<const char *, std::pair<size_t, cudaMemoryType>> blocks;
};

static std::recursive_mutex lock;
static device_memory device;
bool guarded;
bool results_stay;
uintptr_t device_base;
size_t device_bytes;
size_t refused_bytes;
static int open_count;

static host_memory &host()
{
    /* never destroyed: static destructors may free */
    static host_memory *h = new host_memory;
    return *h;
}

size_t physical_memory()
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

bool reserve_device_memory()
{
    if (device.base) return true;
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
        device.base = (char *)device_base;
        /* In check mode addresses are not used again: most pages would stay almost empty. */
        if (!check::enabled) madvise(device.base, whole, MADV_HUGEPAGE);
        device.size = size;
        if (check::enabled) { /* which reports illegal accesses, and lets them happen */
            device.accessible = size;
            /* An index far below 0 is still an address of device memory. */
            device.low_water = device.high_water = size / 4 / alignment * alignment;
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
    size_t start = device.low_water / huge_page * huge_page, /* whole pages */
        bytes = (device.high_water - start + huge_page - 1) / huge_page * huge_page;
    char *end = device.base + start + bytes;
    if (!bytes) return;
    if (end != fence && end + page <= device.base + device.size) {
        if (fence) mprotect(fence, page, PROT_READ | PROT_WRITE);
        fence = end;
        mprotect(fence, page, PROT_READ);
    }
    mprotect(device.base + start, bytes, how);
}
void open_guarded_memory()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (open_count++ == 0) protect(PROT_READ | PROT_WRITE);
}
void close_guarded_memory()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (--open_count == 0) protect(PROT_NONE);
}
extern "C" void wbcpu_guard(int on)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    guarded = on;
    results_stay = on > 1;
    open_count = 0;
    protect(on ? PROT_NONE : PROT_READ | PROT_WRITE);
}
extern "C" void wbcpu_check_leave_freed()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (!check::enabled || !device.allocated.empty()) return;
    protect(PROT_READ | PROT_WRITE); /* a late use is reported, and then does no harm */
    char *first = device.base + device.low_water;
    madvise(first, device.high_water - device.low_water, MADV_DONTNEED);
    device.low_water = device.high_water;
    check::leave_below((uintptr_t)device.base + device.low_water);
    if (guarded && open_count == 0) protect(PROT_NONE);
}
/* The allocation that p points into, or NULL. */
static char *block_of(const void *p)
{
    char *q = static_cast<char *>(const_cast<void *>(p));
    auto after = device.allocated.upper_bound(q);
    if (after == device.allocated.begin()) return nullptr;
    auto block = std::prev(after);
    return q < block->first + block->second ? block->first : nullptr;
}
extern "C" int wbcpu_in_device_memory(const void *p)
{
    if (checked_by_asan) return block_of(p) != nullptr;
    return (device.base && (const char *)p >= device.base &&
            (const char *)p < device.base + device.size) ||
           in_dry_memory(p);
}

/* --- the free list ------------------------------------------------------------------ */

static void add_free(char *p, size_t bytes)
{
    auto after = device.free.lower_bound(p);
    if (after != device.free.end() && p + bytes == after->first) {
        bytes += after->second;
        device.free_by_size.erase({after->second, after->first});
        after = device.free.erase(after);
    }
    if (after != device.free.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == p) {
            p = before->first;
            bytes += before->second;
            device.free_by_size.erase({before->second, before->first});
            device.free.erase(before);
        }
    }
    device.free[p] = bytes;
    device.free_by_size.insert({bytes, p});
}

/* The first bytes of device memory become accessible, in whole pages. */
static bool make_accessible(size_t bytes)
{
    if (bytes <= device.accessible) return true;
    size_t end = std::min((bytes + huge_page - 1) / huge_page * huge_page, device.size);
    char *first = device.base + device.accessible;
    if (mprotect(first, end - device.accessible, PROT_READ | PROT_WRITE)) return false;
    device.accessible = end;
    return true;
}

static char *allocate(size_t bytes)
{
    auto fit = device.free_by_size.lower_bound({bytes, nullptr});
    if (fit == device.free_by_size.end()) {
        if (bytes > device.size - device.high_water ||
            !make_accessible(device.high_water + bytes))
            return nullptr;
        char *p = device.base + device.high_water;
        device.high_water += bytes;
        if (guarded && open_count == 0)
            protect(PROT_NONE);
        else if (fence && device.base + device.high_water > fence)
            protect(PROT_READ | PROT_WRITE);
        return p;
    }
    size_t whole = fit->first;
    char *p = fit->second;
    device.free_by_size.erase(fit);
    device.free.erase(p);
    if (whole > bytes) add_free(p + bytes, whole - bytes);
    return p;
}

static size_t bytes_allocated;

static cudaError_t out_of_memory(size_t bytes)
{
    refused_bytes = bytes;
    return fail(cudaErrorMemoryAllocation);
}

static cudaError_t device_malloc(void **p, size_t bytes, bool captured = false)
{
    if (!p) return fail(cudaErrorInvalidValue);
    *p = nullptr;
    if (cudaError_t e = captured ? cudaSuccess : not_while_capturing()) return fail(e);
    if (sticky_error()) return sticky_error();
    if (!bytes) return cudaSuccess;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (is_dry())
        return dry_malloc(p, bytes) ? cudaSuccess : fail(cudaErrorMemoryAllocation);
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    if (!checked_by_asan) whole += gap; /* AddressSanitizer has its own gaps */
    if (whole < bytes || bytes > physical_memory() - bytes_allocated)
        return out_of_memory(bytes);
    char *q;
    if (checked_by_asan)
        q = static_cast<char *>(aligned_alloc(alignment, whole));
    else
        q = reserve_device_memory() ? allocate(whole) : nullptr;
    if (!q) return out_of_memory(bytes);
    device.allocated[q] = whole;
    bytes_allocated += whole;
    check::allocated(q, bytes, cudaMemoryTypeDevice);
    *p = q;
    return cudaSuccess;
}
extern "C" cudaError_t cudaMalloc(void **p, size_t bytes)
{
    return device_malloc(p, bytes);
}

static cudaError_t device_free(void *p)
{
    if (!p) return cudaSuccess;
    if (cudaError_t e = not_while_capturing()) return fail(e);
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (dry_free(p)) return cudaSuccess;
    auto block = device.allocated.find(static_cast<char *>(p));
    if (block == device.allocated.end()) {
        auto managed = host().blocks.find(static_cast<char *>(p));
        if (managed == host().blocks.end() ||
            managed->second.second != cudaMemoryTypeManaged) {
            check::bad_free(p);
            return fail(cudaErrorInvalidValue);
        }
        check::freed(p);
        host().blocks.erase(managed);
        if (!check::enabled) free(p);
        return cudaSuccess;
    }
    size_t whole = block->second;
    device.allocated.erase(block);
    bytes_allocated -= whole;
    check::freed(p);
    if (checked_by_asan) {
        free(p);
        return cudaSuccess;
    }
    if (whole >= release_bytes) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *first = (char *)(((uintptr_t)p + page - 1) / page * page);
        madvise(first, (size_t)((char *)p + whole - first) / page * page, MADV_DONTNEED);
    }
    /* In check mode the addresses are not used again, so that a late use is seen. */
    if (!check::enabled) add_free(static_cast<char *>(p), whole);
    return cudaSuccess;
}
extern "C" cudaError_t cudaFree(void *p)
{
    if (p) check::device_synchronized();
    return device_free(p);
}

/* During a capture, the memory is allocated now, and all launches of the graph use it. */
extern "C" cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
    cudaError_t e = device_malloc(p, bytes, capture_of(stream));
    if (check::enabled && !e && *p) {
        void *q = *p;
        wbcpu_record(stream, [=] { check::stream_memory(q, bytes); });
    }
    return e;
}
extern "C" cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    if (capture_of(stream)) return cudaSuccess;
    if (!check::enabled || !p) return device_free(p);
    if (cudaError_t e = not_while_capturing()) return fail(e);
    if (!check::free_enqueued(p)) return fail(cudaErrorInvalidValue);
    wbcpu_record(stream, [=] {
        check::stream_memory(p, 0);
        device_free(p);
    });
    return cudaSuccess;
}
extern "C" cudaError_t
cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return device_malloc(p, *pitch * height);
}
extern "C" cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    *total = physical_memory();
    *free = *total - bytes_allocated;
    return cudaSuccess;
}

/* --- memory that the host may access ------------------------------------------------ */

/* In check mode managed memory follows device memory, with a gap before each allocation,
 * and is never reused. Host writes are not tracked: all of it counts as initialized. */
static void *checked_managed(size_t bytes)
{
    static size_t used;
    size_t whole = (bytes + gap + alignment - 1) / alignment * alignment;
    if (!reserve_device_memory() || whole > device.size - used) return nullptr;
    void *p = device.base + device.size + used + gap;
    used += whole;
    return p;
}

static cudaError_t host_malloc(void **p, size_t bytes, cudaMemoryType type)
{
    if (!p) return fail(cudaErrorInvalidValue);
    *p = nullptr;
    if (!bytes)
        return type == cudaMemoryTypeManaged ? fail(cudaErrorInvalidValue) : cudaSuccess;
    if (bytes > physical_memory()) return fail(cudaErrorMemoryAllocation);
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (check::enabled && type == cudaMemoryTypeManaged)
        *p = checked_managed(bytes);
    else
        *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!*p) return fail(cudaErrorMemoryAllocation);
    host().blocks[static_cast<char *>(*p)] = {bytes, type};
    check::allocated(*p, bytes, type);
    check::host_wrote(*p, bytes);
    return cudaSuccess;
}
extern "C" cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned)
{
    return host_malloc(p, bytes, cudaMemoryTypeManaged);
}
extern "C" cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return host_malloc(p, bytes, cudaMemoryTypeHost);
}
extern "C" cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    return host_malloc(p, bytes, cudaMemoryTypeHost);
}
extern "C" cudaError_t cudaFreeHost(void *p)
{
    if (!p) return cudaSuccess;
    check::device_synchronized();
    std::lock_guard<std::recursive_mutex> hold(lock);
    auto block = host().blocks.find(static_cast<char *>(p));
    if (block == host().blocks.end() || block->second.second != cudaMemoryTypeHost) {
        check::bad_free(p);
        return fail(cudaErrorInvalidValue);
    }
    check::freed(p);
    host().blocks.erase(block);
    free(p);
    return cudaSuccess;
}
extern "C" cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    host().blocks[static_cast<char *>(p)] = {bytes, cudaMemoryTypeHost};
    check::allocated(p, bytes, cudaMemoryTypeHost);
    return cudaSuccess;
}
extern "C" cudaError_t cudaHostUnregister(void *p)
{
    check::device_synchronized();
    std::lock_guard<std::recursive_mutex> hold(lock);
    host().blocks.erase(static_cast<char *>(p));
    check::freed(p);
    return cudaSuccess;
}
extern "C" cudaError_t cudaHostGetDevicePointer(void **p, void *host_pointer, unsigned)
{
    *p = host_pointer;
    return cudaSuccess;
}
extern "C" cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t)
{
    return cudaSuccess;
}
extern "C" cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int)
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    const char *q = static_cast<const char *>(p);
    *a = cudaPointerAttributes{
        cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void *>(p)};
    if (block_of(p))
        *a = cudaPointerAttributes{
            cudaMemoryTypeDevice, 0, const_cast<void *>(p), nullptr};
    auto h = host().blocks.upper_bound(q);
    if (h != host().blocks.begin() &&
        q < std::prev(h)->first + std::prev(h)->second.first) {
        a->type = std::prev(h)->second.second;
        a->devicePointer = const_cast<void *>(p);
    }
    return cudaSuccess;
}
}  // namespace wbcpu
