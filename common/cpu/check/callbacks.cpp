/* callbacks.cpp - what the compiler calls before every load and store of a source that it
 * compiles with -fsanitize=thread: the interface of ThreadSanitizer's run-time library,
 * which is not linked. Atomic operations are calls too, and are carried out here.
 */
#include "hooks.h"
#include "usual.h"

#include <string.h>

namespace wbcpu::check
{
/* The host or a copy may also access this memory while the kernel runs. */
static void global_access(worker *w, const access &a)
{
    if (!recording) other_memory_touched(a); /* otherwise device_access does */
    device_access(w, a);
}

static __attribute__((noinline)) void other_access(worker *w, const access &a)
{
    const uintptr_t address = a.address;
    const unsigned bytes = a.bytes;
    site *at = a.at;
    if (address - (uintptr_t)w < sizeof *w) return; /* its state */
    const variable *v = global_variable(address);
    if (v ? v->device : near_device_variable(address)) return global_access(w, a);
    bool host = v && v->host;
    bool known = in_program_data(address) && !host;   /* bounds: instrumented.cpp */
    if (known || mapped_for_device(address, bytes)) { /* pinned memory */
        other_memory_touched(a);
        return;
    }
    /* The back end copies the kernel's arguments: no more than 64 KB. */
    bool argument = address - (uintptr_t)w->job->launch.kernel < 1 << 16;
    if (at->at()->library && argument) return;
    if (in_heap_of_kernels(address)) return;
    bool null = address < 65536;
    finding *f = find(null ? "null-pointer" : "host-pointer", at->at());
    if (f) {
        std::string where =
            host ? v->name : format("address %#lx", (unsigned long)address);
        f->what = host ? v->name : "";
        f->message = format(
            "%s %u byte%s at %s, which is %s", a.write ? "writes" : "reads", bytes,
            bytes == 1 ? "" : "s", where.c_str(),
            null ? "a null pointer or close to one" : "host memory");
        f->fix = null ? "pass a pointer that cudaMalloc returned"
                      : "copy the data to device memory with cudaMemcpy and pass that "
                        "pointer";
        if (refused_bytes && null)
            f->fix = format(
                "check what each allocation returns: one of %zu bytes failed, out of "
                "memory",
                refused_bytes);
        publish(f);
    }
    abandon(w, cudaErrorIllegalAddress);
}

static __attribute__((noinline)) void
misaligned_access(uintptr_t address, unsigned bytes, bool write, site *at)
{
    misaligned(
        format("%s %u bytes", write ? "writes" : "reads", bytes), address, bytes,
        at->at());
}

/* A thread that waits keeps its stack, so another one could use what is on it. A warp
 * operation of the library does so for its lanes. */
static __attribute__((noinline)) void
local_of_another(unsigned bytes, bool write, const void *pc)
{
    const place *at = site_of(pc, bytes, write)->at();
    finding *f = at->library ? nullptr : find("out-of-bounds-local", at);
    if (!f) return;
    f->message = format(
        "%s %u bytes of another thread's local memory", write ? "writes" : "reads",
        bytes);
    f->fix = "the address of a local variable means something else in every thread: put "
             "what threads share into __shared__ memory";
    publish(f);
}

enum how { PLAIN, BY_ATOMIC, VOLATILE };

/* Most accesses are to local variables of the running thread, close to its newest frame:
 * the next stack begins with a page that no thread uses. */
static inline bool in_own_frames(uintptr_t p, const void *frame)
{
    constexpr uintptr_t close = 4096;
    return p - (uintptr_t)frame < close && self() && !writes_pending && !wgmmas_pending;
}
#define IN_OWN_FRAMES(p) in_own_frames((uintptr_t)(p), __builtin_frame_address(0))

/* alignment: what the address must be a multiple of; bytes itself, or 1. continues: the
 * access of the last call has this piece, too. */
static __attribute__((noinline)) void on_access(
    const void *p, unsigned bytes, bool write, how atomic, const void *pc,
    unsigned alignment, bool continues = false)
{
    worker *w = self();
    uintptr_t address = (uintptr_t)p;
    if (__builtin_expect(!w, 0)) {
        host_access(address, bytes, write, pc, atomic == BY_ATOMIC);
        return;
    }
    if (__builtin_expect(writes_pending, 0) && write && !continues) settle_equal_writes();
    uintptr_t on_stack = address - (uintptr_t)w->stacks;
    if (on_stack < stacks_bytes(w)) {
        uintptr_t own = (uintptr_t)__builtin_frame_address(0) - (uintptr_t)w->stacks;
        uintptr_t begin = own - own % w->stack_bytes;
        if (on_stack - begin >= w->stack_bytes) /* below it, too: unsigned */
            local_of_another(bytes, write, pc);
        if (__builtin_expect(wgmmas_pending, 0)) check_accumulator(w, address, write, pc);
        return;
    }
    /* Not at a local variable: g++ may give an inlined function's ones the line before. */
    if (__builtin_expect(block_expired, 0)) report_endless(w, pc);
    bool device = address - device_base < device_bytes;
    bool local = !device && in_thread_local(address);
    if (local && is_internal(address)) return;
    site *at = site_of(pc, bytes, write);
    if (__builtin_expect((address & (alignment - 1)) != 0, 0))
        misaligned_access(address, bytes, write, at);
    access a = {address, bytes, write, atomic != PLAIN, atomic == VOLATILE, at};
    if (device)
        device_access(w, a);
    else if (local)
        shared_access(w, a);
    else if (in_heap(address))
        global_access(w, a); /* managed */
    else
        other_access(w, a);
}

template <unsigned bytes, bool write>
static inline void plain_access(const void *p, const void *pc)
{
    if (!usual_access<bytes, write>(p, pc)) on_access(p, bytes, write, PLAIN, pc, bytes);
}

/* What is kept of the accesses to a word in this launch or block, or NULL */
static cell *cell_at(uintptr_t address)
{
    bool shared = in_thread_local(address) && !is_internal(address);
    const variable *v = global_variable(address);
    if (!shared && !in_heap(address) && !(v && v->device)) return nullptr;
    const block_memory &m = memories[shared ? rank_of(address) : 0];
    cell *c = shared ? m.cells + shared_offset(address) / 4
                     : global.cells + offset_of(address) / 4;
    return c->stamp == (shared ? m.stamp : current.launch) ? c : nullptr;
}

/* Unaligned, and of any length: pieces that the shadow memory can take. */
static void
note_pieces(uintptr_t p, size_t bytes, unsigned most, bool write, const void *pc)
{
    bool continues = false;
    if (IN_OWN_FRAMES(p)) return;
    while (bytes) {
        unsigned n = most;
        while (n > bytes || p % n)
            n /= 2;
        on_access((const void *)p, n, write, PLAIN, pc, 1, continues);
        continues = true;
        p += n;
        bytes -= n;
    }
}
void note_range(const void *p, size_t bytes, bool write, const void *pc)
{
    note_pieces((uintptr_t)p, bytes, 16, write, pc);
}

void note_access(const void *p, unsigned bytes, bool write, const void *pc)
{
    on_access(p, bytes, write, PLAIN, pc, bytes);
}
}  // namespace wbcpu::check

using namespace wbcpu::check;
#define PC __builtin_extract_return_addr(__builtin_return_address(0))

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **p, void *)
{
    note_access(p, sizeof *p, true, PC);
}
void __tsan_vptr_read(void **p)
{
    note_access(p, sizeof *p, false, PC);
}

#define ACCESS(n)                                                                        \
    void __tsan_read##n(void *p)                                                         \
    {                                                                                    \
        if (!IN_OWN_FRAMES(p)) plain_access<n, false>(p, PC);                            \
    }                                                                                    \
    void __tsan_write##n(void *p)                                                        \
    {                                                                                    \
        if (!IN_OWN_FRAMES(p)) plain_access<n, true>(p, PC);                             \
    }                                                                                    \
    void __tsan_unaligned_read##n(void *p)                                               \
    {                                                                                    \
        note_range(p, n, false, PC);                                                     \
    }                                                                                    \
    void __tsan_unaligned_write##n(void *p)                                              \
    {                                                                                    \
        note_range(p, n, true, PC);                                                      \
    }                                                                                    \
    void __tsan_volatile_read##n(void *p)                                                \
    {                                                                                    \
        polled(p);                                                                       \
        on_access(p, n, false, VOLATILE, PC, n);                                         \
    }                                                                                    \
    void __tsan_volatile_write##n(void *p)                                               \
    {                                                                                    \
        on_access(p, n, true, VOLATILE, PC, n);                                          \
    }                                                                                    \
    void __tsan_unaligned_volatile_read##n(void *p)                                      \
    {                                                                                    \
        note_range(p, n, false, PC);                                                     \
    }                                                                                    \
    void __tsan_unaligned_volatile_write##n(void *p)                                     \
    {                                                                                    \
        note_range(p, n, true, PC);                                                      \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

/* A struct. g++ calls this for 16 bytes or fewer if the type's alignment is less than 8.
 * Then nvcc accesses each member of 4 bytes, unless it knows where in shared memory the
 * struct lies. */
static unsigned widest_piece(const void *p, size_t n)
{
    return n <= 16 && in_heap((uintptr_t)p) ? 4 : 16;
}
/* The last structs that the compiler has told of, and where in the code. */
struct told {
    const void *start;
    size_t bytes;
    const void *pc;
};
static told told_read, told_write;

void __tsan_read_range(void *p, size_t n)
{
    told_read = {p, n, PC};
    note_pieces((uintptr_t)p, n, widest_piece(p, n), false, PC);
}
void __tsan_write_range(void *p, size_t n)
{
    told_write = {p, n, PC};
    note_pieces((uintptr_t)p, n, widest_piece(p, n), true, PC);
}

/* The objects of checked sources call these in place of memcpy, memmove and memset
 * (CHECK_COPIES in mk/toolchain.mk). For a large struct the compiler may do so, too, some
 * instructions after it has told of it. Or it copies the struct with instructions alone. */
static void note_untold(const void *p, size_t n, bool write, const void *pc)
{
    const told *last = write ? &told_write : &told_read;
    bool near = (uintptr_t)pc - (uintptr_t)last->pc < 128;
    if (!near || last->start != p || last->bytes != n) note_range(p, n, write, pc);
}
void *wbcpu_checked_memcpy(void *to, const void *from, size_t n)
{
    note_untold(from, n, false, PC);
    note_untold(to, n, true, PC);
    return memcpy(to, from, n);
}
void *wbcpu_checked_memmove(void *to, const void *from, size_t n)
{
    note_untold(from, n, false, PC);
    note_untold(to, n, true, PC);
    return memmove(to, from, n);
}
void *wbcpu_checked_memset(void *to, int value, size_t n)
{
    note_untold(to, n, true, PC);
    return memset(to, value, n);
}

/* --- atomic operations -------------------------------------------------------------- */

void wbcpu_checked_atomic(const void *p, size_t bytes, bool floating)
{
    if (floating && wbcpu_self) count_float_atomic();
    on_access(p, (unsigned)bytes, true, BY_ATOMIC, PC, (unsigned)bytes);
}

void __tsan_atomic_thread_fence(int)
{
    if (wbcpu_self) fenced(wbcpu::self());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void wbcpu_releases(void)
{
    if (wbcpu_self) fenced(wbcpu::self());
}
void __tsan_atomic_signal_fence(int)
{
    if (wbcpu_self) fenced(wbcpu::self());
}

/* The running thread compares the word with what it has read there, if it has. */
static void compares(const volatile void *p, size_t bytes, const void *pc)
{
    if (cell *c = wbcpu_self ? cell_at((uintptr_t)p) : nullptr) {
        cell_access read = c->at(READER);
        if (read.thread() == current.first_thread + wbcpu_self->thread)
            site_number(read.site())->compared = true;
    }
    on_access((const void *)p, (unsigned)bytes, true, BY_ATOMIC, pc, (unsigned)bytes);
}

#define FETCH(bits, T, name)                                                             \
    T __tsan_atomic##bits##_fetch_##name(volatile T *p, T v, int)                        \
    {                                                                                    \
        on_access((const void *)p, sizeof v, true, BY_ATOMIC, PC, sizeof v);             \
        return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                            \
    }
#define COMPARE(bits, T, strength, weak)                                                 \
    int __tsan_atomic##bits##_compare_exchange_##strength(                               \
        volatile T *p, T *expected, T v, int, int)                                       \
    {                                                                                    \
        compares(p, sizeof v, PC);                                                       \
        return __atomic_compare_exchange_n(                                              \
            p, expected, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }
#define ATOMIC(bits, T)                                                                  \
    T __tsan_atomic##bits##_load(const volatile T *p, int)                               \
    {                                                                                    \
        on_access((const void *)p, sizeof(T), false, BY_ATOMIC, PC, sizeof(T));          \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                     \
    }                                                                                    \
    void __tsan_atomic##bits##_store(volatile T *p, T v, int)                            \
    {                                                                                    \
        on_access((const void *)p, sizeof v, true, BY_ATOMIC, PC, sizeof v);             \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                        \
    }                                                                                    \
    T __tsan_atomic##bits##_exchange(volatile T *p, T v, int)                            \
    {                                                                                    \
        on_access((const void *)p, sizeof v, true, BY_ATOMIC, PC, sizeof v);             \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                              \
    }                                                                                    \
    T __tsan_atomic##bits##_compare_exchange_val(                                        \
        volatile T *p, T expected, T v, int, int)                                        \
    {                                                                                    \
        compares(p, sizeof v, PC);                                                       \
        __atomic_compare_exchange_n(                                                     \
            p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
        return expected;                                                                 \
    }                                                                                    \
    COMPARE(bits, T, strong, false)                                                      \
    COMPARE(bits, T, weak, true)                                                         \
    FETCH(bits, T, add)                                                                  \
    FETCH(bits, T, sub)                                                                  \
    FETCH(bits, T, and)                                                                  \
    FETCH(bits, T, or)                                                                   \
    FETCH(bits, T, xor)                                                                  \
    FETCH(bits, T, nand)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
}
