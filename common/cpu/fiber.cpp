/* fiber.cpp - stacks for waiting threads, created on demand and reused by later blocks.
 * A kernel that never waits uses one stack per worker; a barrier of 256 threads uses
 * 256. */
#include "scheduler.h"

#include <sys/mman.h>
#include <unistd.h>
#ifdef WBCPU_VALGRIND
#include <valgrind/valgrind.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace wbcpu
{
/* What the assembly pops before it jumps to wbcpu_fiber_start; switch.S has the order. */
#if defined(__x86_64__)
constexpr int saved_words = 7, return_word = 6;
#else
constexpr int saved_words = 20, return_word = 11;
#endif

extern "C" void wbcpu_fiber_start();
extern "C" void wbcpu_fiber_main()
{
    for (;;) {
        worker *w = self();
        w->job->launch.run_threads(w->job->launch.kernel, w);
    }
}

static size_t stack_bytes()
{
    const char *kb = getenv("WB_STACK_KB");
    long n = kb ? strtol(kb, nullptr, 10) : 64;
    if (n < 16 || n > 65536)
        refuse("WB_STACK_KB=%s: use a stack size from 16 to 65536 KB", kb);
    /* One page is the guard page; some Arm kernels have pages of 16 or 64 KB. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)n * 1024 / page;
    /* An odd number: a power of two would put all stacks into a few sets of the L2 cache
     * and of the TLB, and a block of 1024 threads would wait for memory at each barrier. */
    return ((pages < 4 ? 4 : pages) | 1) * page;
}

worker *try_new_worker()
{
    worker *w = new worker();
    w->stack_bytes = stack_bytes();
    /* Only reserves addresses: a page is allocated when a stack first touches it. */
    void *m = mmap(
        nullptr, stacks_bytes(w), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) {
        delete w;
        return nullptr;
    }
    w->stacks = static_cast<char *>(m);
    w->idle = new void *[max_fibers];
    return w;
}
worker *new_worker()
{
    worker *w = try_new_worker();
    if (!w)
        refuse("cannot reserve memory for the stacks of a worker: lower "
               "WB_THREADS or WB_STACK_KB");
    return w;
}

void delete_worker(worker *w)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(w->stacks, stacks_bytes(w)); /* of waiting threads */
#endif
    munmap(w->stacks, stacks_bytes(w));
    delete[] w->idle;
    delete_async(w);
    delete w;
}

void *idle_fiber(worker *w)
{
    if (w->idle_count) return w->idle[--w->idle_count];
    if (w->fibers == max_fibers)
        stop(nullptr, "internal error: more fibers than threads");
    int i = w->fibers++;
    char *low = w->stacks + w->stack_bytes * i;
    /* The lowest page is a guard page, so that a stack overflow faults immediately.
     * It costs two of the 65,530 mappings of a process. */
    if (worker_count() <= 24 && !w->without_guards)
        mprotect(low, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    /* Shift the tops: equal offsets would map to the same cache sets. */
    size_t shift = (size_t)i * 832 % 4096;
    uintptr_t top = ((uintptr_t)low + w->stack_bytes - shift) & ~(uintptr_t)63;
    /* Two more words keep the start aligned to 16 bytes. */
    uintptr_t *saved = (uintptr_t *)top - 2 - saved_words;
    memset(saved, 0, saved_words * sizeof *saved);
    saved[return_word] = (uintptr_t)wbcpu_fiber_start;
#ifdef WBCPU_VALGRIND
    VALGRIND_STACK_REGISTER(low, low + w->stack_bytes);
#endif
    return saved;
}
}  // namespace wbcpu
