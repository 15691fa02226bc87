/* host.h - check mode's view of host code; internal to the library.
 *
 *     queue.cpp      work on streams waits in a queue; what is ordered before what
 *     footprint.cpp  the bytes that an operation on a stream reads and writes
 *     host.cpp       host code that touches device memory, or pinned memory in use
 *     lifetimes.cpp  buffers: their names, wrong frees, leaks
 *     copies.cpp     size, direction and contents of copies
 *     errors.cpp     launches that fail, and errors that the program ignores
 *     overlap.cpp    programmatic dependent launch
 */
#ifndef WBCPU_CHECK_HOST_H
#define WBCPU_CHECK_HOST_H

#include "check.h"

#include <functional>
#include <memory>
#include <vector>

namespace wbcpu::check
{
/* Host code of a checked source loads or stores. */
void host_access(
    uintptr_t address, size_t bytes, bool write, const void *pc, bool atomic = false);
/* The same by a library, to global memory: it counts as a kernel's access (device.cpp). */
void library_access(const access &a, const void *pc);
struct caller {
    const place *at;  /* the program's innermost line */
    std::string name; /* "cublasSdot ", if that line calls the library; "" in a functor */
};
caller caller_of(const void *pc); /* remembered until the library begins again */
/* Is this pinned or managed memory, which kernels may access? */
bool mapped_for_device(uintptr_t address, size_t bytes);

/* --- the program's call ------------------------------------------------------------- */

/* The running call of the API: its line in the program, and its name. */
struct call {
    const place *at;
    std::string name;
};
call running_call();
call program_call(); /* the same where no call of the API runs */
void start_tables(); /* unless they have been started */
const place *place_at(const char *file, int line);

/* --- footprints --------------------------------------------------------------------- */

struct range {
    uintptr_t start, end;
};
typedef std::vector<range> ranges; /* sorted and disjoint */
enum touch_type { READS, WRITES, ATOMICS, TOUCH_TYPES };
struct footprint {
    ranges of[TOUCH_TYPES];
    bool empty() const
    {
        return of[READS].empty() && of[WRITES].empty() && of[ATOMICS].empty();
    }
};
struct conflict {
    uintptr_t address;
    bool first_writes, second_writes;
};
/* Do both touch a byte that at least one writes? Atomic operations do not conflict. */
bool find_conflict(const footprint &first, const footprint &second, conflict *found);

void record(uintptr_t address, size_t bytes, touch_type type);
footprint take_record(); /* what has been recorded since the last time */
void add_footprint(footprint &all, const footprint &more);
/* The first of the ranges that shares a byte with [start, end), or NULL. */
const range *range_in(const ranges &all, uintptr_t start, uintptr_t end);

/* Is the footprint of the running kernel in device memory needed? Only if another stream
 * may run at the same time, or if the next kernel may overlap this one. */
extern bool recording;
void device_touched(worker *w, const access &a);
inline void host_hook(worker *w, const access &a) /* a kernel accesses device memory */
{
    if (__builtin_expect(recording, 0)) device_touched(w, a);
}
/* The pages that were touched last */
constexpr uintptr_t footprint_page = 4096;
struct page_map {
    uint64_t touched[TOUCH_TYPES][footprint_page / 64]; /* a bit per byte */
};
struct page_used {
    uintptr_t number;
    page_map *map; /* NULL: none */
};
constexpr unsigned pages_remembered = 64;
extern page_used last_pages[pages_remembered]; /* by number % pages_remembered */
/* A kernel accesses pinned or managed memory, or a __device__ variable. */
void other_memory_touched(const access &a);

/* launch_pdl has been used: kernels leave footprints for the next kernel. */
extern bool overlaps_used;
void take_overlap(wbcpu_launch *l); /* is it a launch of launch_pdl? */
void end_overlap();
void check_overlap(worker *w, const access &a);
/* Kernels may still run that the running one, started before their end, must not disturb:
 * until its thread has passed pdl_wait, and after that */
extern bool open_before_wait, open_after_wait;
extern WBCPU_THREAD_LOCAL uint32_t
    passed_wait[max_threads]; /* the stamp of its block then */
inline bool nothing_open(const worker *w)
{
    return passed_wait[w->thread] == current.block ? !open_after_wait : !open_before_wait;
}

/* --- operations on streams ---------------------------------------------------------- */

/* For each stream, how many of its operations are finished or come before. */
typedef std::vector<unsigned> progress;

struct operation {
    unsigned stream, number;  /* the number-th operation of its stream, from 1 */
    unsigned long long index; /* of all operations */
    unsigned waited_for;      /* how many of its stream the host had waited for */
    progress after;           /* what comes before it, and itself */
    std::function<void()> work;
    std::string name; /* "cudaMemcpyAsync", "kernel scale" */
    const place *at;
    footprint touched;
};
extern thread_local operation *running; /* NULL: the program's own code runs */
bool comes_before(const operation &o, const progress &p);
const progress &host_progress();
void wait_for_last(); /* the host waits for the operation that was enqueued last */

/* Host code accesses pinned or managed memory while operations are not finished. */
extern bool unfinished;
void host_touches(range where, bool write, const void *pc);

/* --- memory ------------------------------------------------------------------------- */

/* The buffer, freed or not, whose block contains the address; also pinned memory. */
buffer *block_of(uintptr_t address);
/* The same, but NULL if it was freed. */
const buffer *live_block(uintptr_t address);
/* "x[3]", counted in elements of this many bytes unless the type is known; 0: "x at byte
 * 12" */
std::string element_at(uintptr_t address, unsigned bytes);
std::string name_at(uintptr_t address);

void end_of_program(bool failed); /* errors not looked at; leaks, unless it failed */
void leaks(const char *who);      /* of "the program ends without freeing it" */
void unchecked_errors();
}  // namespace wbcpu::check

#endif
