/* memory.cpp - the allocator of device memory: best fit. Its lists are outside the range of
 * addresses (device_range.cpp), because that may be inaccessible. */
#include "memory.h"
#include "driver.h"
#include "dry.h"
#include "stream.h"

#include <map>
#include <memory>
#include <set>
#include <sys/mman.h>

namespace wbcpu
{
/* The pages of freed blocks of this size and above are returned to the system. */
constexpr size_t release_bytes = 64u << 20;

static std::map<char *, size_t> allocated;
static std::map<char *, size_t> free_by_address;         /* neighbours are merged */
static std::set<std::pair<size_t, char *>> free_by_size; /* the same blocks */

char *device_block(const void *p)
{
    char *q = static_cast<char *>(const_cast<void *>(p));
    auto after = allocated.upper_bound(q);
    if (after == allocated.begin()) return nullptr;
    auto block = std::prev(after);
    return q < block->first + block->second ? block->first : nullptr;
}
extern "C" int wbcpu_in_device_memory(const void *p)
{
    if (checked_by_asan) return device_block(p) != nullptr;
    return (device_range.base && (const char *)p >= device_range.base &&
            (const char *)p < device_range.base + device_range.size) ||
           in_dry_memory(p);
}
extern "C" void wbcpu_check_leave_freed()
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    if (check::enabled && allocated.empty()) leave_device_range();
}

/* --- the free list ------------------------------------------------------------------ */

static void add_free(char *p, size_t bytes)
{
    auto after = free_by_address.lower_bound(p);
    if (after != free_by_address.end() && p + bytes == after->first) {
        bytes += after->second;
        free_by_size.erase({after->second, after->first});
        after = free_by_address.erase(after);
    }
    if (after != free_by_address.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == p) {
            p = before->first;
            bytes += before->second;
            free_by_size.erase({before->second, before->first});
            free_by_address.erase(before);
        }
    }
    free_by_address[p] = bytes;
    free_by_size.insert({bytes, p});
}

static char *allocate(size_t bytes)
{
    auto fit = free_by_size.lower_bound({bytes, nullptr});
    if (fit == free_by_size.end()) return extend_device_range(bytes);
    size_t whole = fit->first;
    char *p = fit->second;
    free_by_size.erase(fit);
    free_by_address.erase(p);
    if (whole > bytes) add_free(p + bytes, whole - bytes);
    return p;
}

/* --- memory of graphs ----------------------------------------------------------------- */

/* Memory that a node allocates has its address from the node's creation until no graph can
 * run the node, and the program has freed what the last launch allocated. */
struct graph_memory {
    bool in_use = false;  /* a launch has allocated it, nothing has freed it yet */
    bool has_node = true; /* a graph can allocate it again */
};
static std::map<void *, graph_memory> &memory_of_graphs()
{
    /* Never destroyed: graphs of the program may be destroyed later. */
    static auto *all = new std::map<void *, graph_memory>;
    return *all;
}

static size_t bytes_allocated;
static void release(void *p);

static bool is_of_graph(void *p)
{
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    return memory_of_graphs().count(p);
}
/* Frees memory of a graph: true, or false if it is another's or not in use. */
static bool free_graph_memory(void *p)
{
    auto m = memory_of_graphs().find(p);
    if (m == memory_of_graphs().end()) return false;
    check::graph_memory(p, false);
    if (!m->second.in_use) return false;
    m->second.in_use = false;
    if (!m->second.has_node) release(p);
    return true;
}

/* Owned by the work of the node that allocates */
struct allocating_node {
    void *memory;
    explicit allocating_node(void *p) : memory(p)
    {
        std::lock_guard<std::recursive_mutex> hold(memory_lock);
        memory_of_graphs()[p] = graph_memory();
    }
    allocating_node(const allocating_node &) = delete;
    allocating_node &operator=(const allocating_node &) = delete;
    ~allocating_node()
    {
        std::lock_guard<std::recursive_mutex> hold(memory_lock);
        graph_memory &m = memory_of_graphs()[memory];
        m.has_node = false;
        if (!m.in_use) release(memory);
    }
    void run()
    {
        std::lock_guard<std::recursive_mutex> hold(memory_lock);
        memory_of_graphs()[memory].in_use = true;
        check::graph_memory(memory, true);
    }
};

/* --- allocating and freeing ----------------------------------------------------------- */

size_t refused_bytes;

cudaError_t out_of_memory(size_t bytes)
{
    refused_bytes = bytes;
    return fail(cudaErrorMemoryAllocation);
}

static cudaError_t device_malloc(void **p, size_t bytes, bool captured = false)
{
    use_device();
    if (!p) return fail(cudaErrorInvalidValue);
    *p = nullptr;
    if (cudaError_t e = captured ? cudaSuccess : not_while_capturing()) return fail(e);
    if (sticky_error()) return sticky_error();
    if (!bytes) return cudaSuccess;
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
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
    refused_bytes = 0;
    allocated[q] = whole;
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
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    if (dry_free(p) || free_graph_memory(p)) return cudaSuccess;
    if (!allocated.count(static_cast<char *>(p)) || is_of_graph(p))
        return free_host_block(p, cudaMemoryTypeManaged);
    release(p);
    return cudaSuccess;
}
/* Returns an allocation to the free list. */
static void release(void *p)
{
    memory_of_graphs().erase(p);
    auto block = allocated.find(static_cast<char *>(p));
    size_t whole = block->second;
    allocated.erase(block);
    bytes_allocated -= whole;
    check::freed(p);
    if (checked_by_asan) {
        free(p);
        return;
    }
    if (whole >= release_bytes) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *first = (char *)(((uintptr_t)p + page - 1) / page * page);
        madvise(first, (size_t)((char *)p + whole - first) / page * page, MADV_DONTNEED);
    }
    /* In check mode the addresses are not used again, so that a late use is seen. */
    if (!check::enabled) add_free(static_cast<char *>(p), whole);
}
extern "C" cudaError_t cudaFree(void *p)
{
    use_device();
    if (p) check::device_synchronized();
    return device_free(p);
}

extern "C" cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
    cudaError_t e = device_malloc(p, bytes, capture_of(stream));
    if (capture_of(stream) && !e && *p && !is_dry()) {
        auto node = std::make_shared<allocating_node>(*p);
        wbcpu_record(stream, [=] { node->run(); });
        return cudaSuccess;
    }
    if (check::enabled && !e && *p) {
        void *q = *p;
        wbcpu_record(stream, [=] { check::stream_memory(q, bytes); });
    }
    return e;
}
extern "C" cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    if (capture_of(stream)) {
        if (!is_dry() && !is_of_graph(p)) return fail(cudaErrorInvalidValue);
        wbcpu_record(stream, [=] {
            std::lock_guard<std::recursive_mutex> hold(memory_lock);
            free_graph_memory(p);
        });
        return cudaSuccess;
    }
    if (!check::enabled || !p) {
        auto release = [=] { return device_free(p); };
        return must_queue() && wbcpu_record(stream, release) ? cudaSuccess : release();
    }
    if (cudaError_t e = not_while_capturing()) return fail(e);
    if (!is_of_graph(p) && !check::free_enqueued(p)) return fail(cudaErrorInvalidValue);
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
    use_device();
    std::lock_guard<std::recursive_mutex> hold(memory_lock);
    *total = physical_memory();
    *free = *total - bytes_allocated;
    return cudaSuccess;
}
}  // namespace wbcpu
