/* check.h - check mode: the CPU back end as memory checker, race detector and profiler.
 *
 * A source in check mode is compiled with -fsanitize=thread: the compiler calls a function
 * before every load and store that may be shared. libtsan is not linked; callbacks.cpp
 * defines these functions. One worker runs all blocks in order, so reports are
 * reproducible.
 *
 *     callbacks.cpp  the compiler's calls; which memory does an address belong to?
 *     usual.h        the same for most accesses, inline
 *     site.cpp       from the address of an instruction to file, line and counters
 *     device.cpp     device memory: allocated? written? freed?
 *     heap.cpp       memory that kernels allocate
 *     shared.cpp     shared memory: which variable? written by this block?
 *     variables.cpp  names and sizes of __shared__, __device__ and __constant__ variables
 *     race.cpp       two accesses to one word, at least one a write: are they ordered?
 *     cell.h         what remains of the accesses to a word
 *     order.cpp      what orders them: barriers, warp collectives, `__threadfence`
 *     lessons.h      what threads learn from atomic operations: signals.cpp
 *     sync.cpp       barriers, masks, shuffles, deadlocks, infinite loops
 *     counts.h       requests, sectors, bank conflicts
 *     async.cpp      cp.async: copied as late as allowed, not visible before
 *     hopper.cpp     TMA and wgmma: the async proxy, accumulators
 *     cluster.h      blocks that use each other's shared memory; cooperative launches
 *     instrumented.cpp   bounds of arrays, alignment of types; watchdog.cpp: endless loops
 *     host.h         host code: streams as queues, copies, frees, errors; lists its files
 *     findings.cpp   one report per cause; text on stderr, JSON at exit
 *
 * Internal to the library. The rest of the back end calls hooks.h.
 */
#ifndef WBCPU_CHECK_H
#define WBCPU_CHECK_H

#include "../include/wbcpu.h"
#include "../scheduler.h"

#include <string>

namespace wbcpu::check
{
/* --- places and sites (site.cpp) ---------------------------------------------------- */

struct place {
    std::string file, function; /* "?" if unknown */
    int line;
    bool library; /* only a line of the workbook's headers is known */
    std::string call; /* the library's function that this line calls, if it is inlined */
};
/* The innermost line of the program, not of the library's headers, that contains the
 * instruction before `pc` (a return address). Cached; never NULL. */
const place *place_of(const void *pc);
std::string text_of(const place *at);     /* "rmsnorm.cu:42" */
std::string shown_path(std::string file); /* relative to the working directory */
std::string read_line(const std::string &file, int number); /* "" if unreadable */
std::string source_line(const place *at); /* without indentation; "" if unreadable */

/* One load or store instruction. */
struct site {
    const void *pc;
    uint16_t number; /* index in the table */
    uint8_t bytes;
    bool write;
    bool told; /* uninitialized data has been reported here */
    bool compared; /* atomicCAS compares what this instruction reads */
    const place *at();

  private:
    const place *known_place = nullptr;
};
/* site_of runs at each access: usually the first slot that it looks at has the site. */
constexpr unsigned max_sites = 1 << 15, site_slots = 2 * max_sites;
extern site sites[max_sites]; /* number 0 means none */
extern uint16_t site_slot[site_slots];
static inline unsigned first_slot(const void *pc, bool write)
{
    uintptr_t key = (uintptr_t)pc * 2 + write;
    return (unsigned)((key ^ key >> 15) * 2654435761u) % site_slots;
}
WBCPU_INLINE site *known_site(const void *pc, bool write) /* NULL: it is new */
{
    for (unsigned i = first_slot(pc, write); site_slot[i]; i = (i + 1) % site_slots) {
        site *s = &sites[site_slot[i]];
        if (s->pc == pc && s->write == write) return s;
    }
    return nullptr;
}
site *add_site(const void *pc, unsigned bytes, bool write);
static inline site *site_of(const void *pc, unsigned bytes, bool write)
{
    site *s = known_site(pc, write);
    return s ? s : add_site(pc, bytes, write);
}
static inline site *site_number(unsigned number)
{
    return &sites[number];
}
void forget_told(); /* of all sites */

/* --- accesses (callbacks.cpp) ------------------------------------------------------- */

struct access {
    uintptr_t address;
    unsigned bytes; /* 1, 2, 4, 8 or 16 */
    bool write;
    bool atomic; /* an atomic operation, or a volatile access */
    bool polled; /* a volatile access */
    site *at;
};
/* Does it use what is there? An update by an atomic operation does, too. */
static inline bool needs_value(const access &a)
{
    return !a.write || (a.atomic && !a.polled);
}
void device_access(worker *w, const access &a);
void shared_access(worker *w, const access &a);
/* An access of several bytes by the library for the running thread: memcpy, ldmatrix. */
void note_range(const void *p, size_t bytes, bool write, const void *pc);
/* Reports that a kernel "reads 16 bytes" at an address that is not aligned; ends it. */
[[noreturn]] void misaligned(
    const std::string &does, uintptr_t address, unsigned alignment, const place *at);
/* One access of 4, 8 or 16 bytes, which must be aligned. */
void note_access(const void *p, unsigned bytes, bool write, const void *pc);

/* --- memory ------------------------------------------------------------------------- */

/* Global memory: device memory, managed memory after it, and the program's __device__
 * variables. The tables of its bytes, words and sectors are indexed by offsets. */
extern uintptr_t program_data;                /* start of the program's own data */
static inline bool in_heap(uintptr_t address) /* device or managed memory */
{
    return address - device_base < 2 * device_bytes;
}
static inline uint64_t offset_of(uintptr_t address)
{
    return in_heap(address) ? address - device_base
                            : 2 * device_bytes + (address - program_data);
}
static inline uintptr_t address_at(uint64_t offset)
{
    return offset < 2 * device_bytes ? device_base + offset
                                     : program_data + (offset - 2 * device_bytes);
}

struct buffer {
    uintptr_t start;
    size_t bytes;
    std::string name;    /* as the source calls it, or "buffer" */
    unsigned element;    /* bytes; 0: unknown */
    const place *at;     /* of the cudaMalloc; unknown for a __device__ variable */
    const place *freed;  /* of the cudaFree, or NULL */
    std::string made_by; /* "cudaMalloc" */
    cudaMemoryType type;
    uintptr_t block; /* what was allocated: the grader has red zones around start */
    size_t block_bytes;
    bool leaked; /* reported already */
    const place *idle = nullptr; /* of its release, if a graph can allocate it again */
};
inline const place *freed_at(const buffer *b) /* NULL: it is not */
{
    return b->freed ? b->freed : b->idle;
}
/* The buffer in global memory that contains the address or is closest to it, or NULL. */
buffer *nearest_buffer(uintptr_t address);
/* "x[17]" for an address in a buffer, counted in elements of this many bytes. */
std::string element_of(const buffer *b, uintptr_t address, unsigned bytes);
/* "the 4096-byte buffer x, allocated at rmsnorm.cu:42" */
std::string describe(const buffer *b);

struct variable {
    std::string name;
    uintptr_t start; /* address, or offset in thread-local storage for __shared__ */
    size_t bytes;
    bool host, device; /* known to belong to host code; known to be in global memory */
    bool managed;      /* with device: host code may use it, too */
    bool dynamic;      /* dynamic shared memory: the launch says how large it is */
    size_t element;    /* bytes; 0: unknown */
};
const variable *global_variable(uintptr_t address); /* that contains it, or NULL */
/* Is it close to a __device__ variable, and in no variable? tools/red_zones.py keeps
 * variables apart. */
bool near_device_variable(uintptr_t address);
/* The shared variable before or after an address between two of them, or NULL. */
const variable *closest_shared(uintptr_t address);
bool is_shared_name(const std::string &name);
bool is_global_name(const std::string &name);
bool in_program_data(uintptr_t address);

/* Host memory, but kernels have allocated it, or it is the library's (heap.cpp). */
bool in_heap_of_kernels(uintptr_t address);

/* --- races (race.cpp) --------------------------------------------------------------- */

/* Two writes conflicted: once the second has happened, were the values equal? Called when
 * another write is about to happen; a read of the struct that is written may come first. */
void settle_equal_writes();
extern bool writes_pending;

/* --- findings (findings.cpp) -------------------------------------------------------- */

struct finding {
    const char *kind;
    bool note; /* not an error */
    const place *at;
    std::string kernel; /* "" in host code */
    uint3 block, thread;
    std::string what; /* name of the variable or buffer */
    std::string message, fix;
    const place *other = nullptr; /* the other access of a race, if any */
    uint3 other_block, other_thread;
    std::string other_access; /* "writes" or "reads" */
    std::string detail;       /* more lines, each with its indentation */
    unsigned long long count = 1;
    bool dropped = false;
};
/* Counts a finding. The first of its kind at its place (and its other place) is returned,
 * to be described and passed to publish; otherwise NULL. Place and kernel are set; block
 * and thread are those that run. */
finding *find(const char *kind, const place *at, const place *other = nullptr);
void publish(finding *f); /* prints it */
/* A race between a plain read and an atomic operation is published when the launch ends,
 * unless the thread passes what it reads to atomicCAS, which notices an old value. */
void publish_unless_compared(finding *f, const site *read);
void settle_compared();
std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));
std::string thread_text(uint3 block, uint3 thread); /* "block (1,0,0) thread (3,0,0)" */
uint3 index_in_block(unsigned thread);
uint3 index_in_grid(unsigned long long block);
void finish(int status); /* writes the JSON and ends the process */

/* Gives up the running launch: its threads are dropped, and the error is sticky. */
[[noreturn]] void abandon(worker *w, cudaError_t error);

/* --- counts (counts.cpp) ------------------------------------------------------------ */

void count_access(worker *w, const access &a, bool shared);
void count_launch(const job &j);
void count_no_launch(const job &j);
void count_launch_end();
/* All live lanes of the running warp have met, or the block ends: their accesses since the
 * last time form requests. (count_access itself notices that another warp runs.) */
void count_converged(worker *w);
void count_barrier(const void *pc);
void count_collective(int op, const void *pc);
void count_atomic(worker *w, const access &a);
void count_float_atomic();  /* by one thread */
std::string kernels_json(); /* the array "kernels" of the report */
std::string gpu_json();     /* the object "gpu" of the report */
void forget_counts();

/* --- asynchronous copies (async.cpp) ------------------------------------------------ */

extern unsigned copies_pending; /* no thread may access their destinations */
/* Reports an access to the destination of a copy that is not finished; then true. */
bool check_pending(worker *w, const access &a);
/* Reports an access to an accumulator of an unfinished wgmma, if that is what it is. */
extern unsigned wgmmas_pending;
void check_accumulator(worker *w, uintptr_t address, bool write, const void *pc);
void finish_copies(worker *w); /* the running thread exits */
void drop_copies();            /* a block begins */
void forget_copies_found();    /* the report begins again */

std::string quoted(const std::string &text); /* as a JSON string */

/* The launch and block that run now: cells with other stamps are stale. Each CPU thread
 * that runs the blocks of a cluster has its own. */
struct now {
    uint32_t launch, block; /* stamps, from 1 */
    int rank, size;         /* in its cluster; 0 and 1 without one */
    uint32_t first_thread;  /* of the block, in the grid, from 1 */
};
extern WBCPU_THREAD_LOCAL now current;
extern uint32_t blocks_begun; /* the last stamp */
}  // namespace wbcpu::check

#endif
