/* scheduler.h - the state of workers, blocks and warps; internal to the library.
 *
 *   job      one launch: kernel, grid, block, and which blocks have been started
 *   worker   one CPU thread; runs one block at a time
 *   warp     32 threads of that block, as bit masks: bit l is lane l
 *   fiber    a stack that threads run on; a waiting thread keeps its stack
 */
#ifndef WBCPU_SCHEDULER_H
#define WBCPU_SCHEDULER_H

#include "include/cuda_runtime.h"

#include <atomic>

/* 1: the library is wbcc's, for programs written for GPUs: statements that need lanes in
 * lockstep get them, and kernels may wait for the host. Labs may not. */
#ifndef WBCPU_FOREIGN
#define WBCPU_FOREIGN 0
#endif

namespace wbcpu
{
constexpr int max_threads = 1024; /* per block */
constexpr int max_warps = max_threads / 32;
constexpr int max_cluster = 16; /* blocks */

struct warp {
    uint32_t ready;   /* can run: neither waiting nor exited */
    uint32_t alive;   /* have not exited the kernel */
    uint32_t arrived; /* wait in a collective */
    uint32_t asking;  /* wait in __activemask */
    uint32_t parked;  /* wait for a condition (async.h) */
    /* A waiting thread's saved stack pointer; not_started before its first instruction,
     * on_cpu while it runs. */
    void *stack[32];
    /* A lane's arguments to a collective; value is replaced by the result. */
    uint64_t value[32];
    uint64_t arg[32];
    uint32_t mask[32];
    uint8_t op[32];
    uint3 index[32]; /* threadIdx */
};
static void *const not_started = nullptr;
static void *const on_cpu = (void *)1;

struct helpers;  /* grid.cpp */
struct children; /* dynamic.cpp */

struct job {
    wbcpu_launch launch;
    unsigned threads;          /* per block */
    unsigned long long blocks; /* in the grid */
    unsigned long long first;  /* block to run, if alone; 0 except in a dry run */
    unsigned long long chunk;  /* blocks that a worker takes at a time */
    bool alone;                /* one worker runs all blocks: chunk == blocks */
    unsigned long long id;
    std::atomic<unsigned> most_threads{0}; /* exceeded __launch_bounds__, or 0 */
    std::atomic<uint64_t> clusters{0}; /* __cluster_dims__, if not the launch's */
    uint64_t seed;                         /* 0: natural order */
    unsigned long long stride, offset; /* seeded order: block i is stride * i + offset */
    std::atomic<unsigned long long> next; /* first block not yet taken; unless alone */
    std::atomic<bool> stopped{false};     /* by a thread: the other blocks end, too */
    cudaStream_t stream;                  /* as the host gave it */
    bool may_pause; /* if its only thread waits for the host (paused.h) */
    wbcpu::helpers *helpers;
    int depth;                           /* 0: launched by the host */
    wbcpu::children *children = nullptr; /* that the kernel has launched */
};

struct async_block; /* async.h */
struct gang;

struct worker : wbcpu_worker {
    wbcpu::job *job;
    async_block *async; /* NULL until a block uses it */
    wbcpu::gang *gang;  /* the blocks that run together with this one, or NULL */
    int rank;           /* among them */
    unsigned long long block, last_block; /* the running block; the end of its chunk */

    /* The running thread. Valid unless `sequential`. */
    wbcpu::warp *warp;
    int warp_number, lane, warps;
    uint32_t warps_ready;   /* bit w: warp w has ready lanes */
    uint32_t after_barrier; /* bit w: warp w has completed no collective since then */
    int alive;              /* threads that have not exited the kernel */
    int waiting;            /* of these, threads at the barrier */
    uint64_t predicates, predicates_released; /* for __syncthreads_count, _or, _and */
    bool shuffled;                            /* threads run in a seeded order */
    uint64_t random;                          /* state of its generator */
    wbcpu::warp *next_warp;                   /* chosen in advance, or NULL */
    int next_lane;

    void **idle; /* saved stack pointers of the fibers without a thread */
    int idle_count;
    void *host_stack; /* continues here when no block is left */
    char *stacks;     /* memory of all fibers */
    size_t stack_bytes;
    int fibers;             /* created so far */
    bool without_guards;    /* no guard pages between the stacks */
    int yields;             /* of the running block */
    cudaError_t last_error; /* of a kernel that is paused */
    wbcpu::warp warp_table[max_warps];
};

inline worker *self()
{
    return static_cast<worker *>(wbcpu_self);
}

/* Tells switch.S to continue on this stack and return this value there. */
struct resume {
    void *stack;
    uint64_t value;
};

/* fiber.cpp */
worker *new_worker();
worker *try_new_worker(); /* NULL: no memory can be reserved for its stacks */
void delete_worker(worker *w);
void *idle_fiber(worker *w); /* the saved stack pointer of a fiber without a thread */
/* More than one per thread: a thread that exits may occupy a stack of its own. */
constexpr int max_fibers = max_threads + 8;
inline size_t stacks_bytes(const worker *w) /* of all its stacks, from w->stacks */
{
    return (max_fibers + 1) * w->stack_bytes;
}
extern "C" uint64_t wbcpu_switch(void **save, void *load, uint64_t value);

/* blocks.cpp */
uint3 index_of(unsigned long long number, const dim3 &size); /* along x, then y, then z */
/* Blocks are numbered as index_of says; in clusters, one cluster after another. */
uint3 block_index(const wbcpu_launch &l, unsigned long long number);
bool next_block(worker *w); /* moves to the first thread of the next block; false: none */
/* Runs the blocks [from, to), then those that no worker has taken. */
void run_blocks_of(job *j, worker *w, unsigned long long from, unsigned long long to);
void run_blocks(void *job, worker *w); /* those that no worker has taken */
void continue_blocks(
    worker *w, void *stack); /* of a paused launch, on its thread's stack */

/* limits.cpp */
size_t dynamic_shared_limit(); /* bytes that a launch may request */

/* pool.cpp */
int worker_count();
/* The environment variable as a number, `otherwise` when it is unset or empty. */
unsigned long long number_from(const char *variable, unsigned long long otherwise);

/* device.cpp: the GPU whose limits are reported and enforced (WBCPU_ARCH). */
struct architecture {
    int capability; /* 10 * major + minor: 75, 80, ... */
    int shared_optin, shared_per_multiprocessor, shared_reserved; /* bytes */
    int threads_per_multiprocessor, blocks_per_multiprocessor;
};
const architecture &emulated();

/* scheduler.cpp */
void begin_shuffled_block(worker *w);
void leave_sequential(worker *w);
bool choose(worker *w, warp **q, int *lane); /* the next thread to run; false: none */
void *stack_of(worker *w, warp *q, int lane);
inline int next_bit(uint32_t mask, int i) /* the next set bit after i, cyclically */
{
    uint32_t above = i == 31 ? 0 : mask & ~0u << (i + 1);
    return __builtin_ctz(above ? above : mask);
}

/* The text of a code, or another one if the code is unknown. */
template <size_t n>
const char *text_of(const char *const (&texts)[n], int code, const char *otherwise)
{
    return code >= 0 && (size_t)code < n ? texts[code] : otherwise;
}

/* arguments.cpp */
/* Ends the program if an argument of the launch points to host memory. */
void check_arguments(const wbcpu_launch *l, const void *const *pointers, int count);

/* launch.cpp */
/* In device code and in check mode, before a launch is kept: false if it is invalid. */
bool accept_launch(wbcpu_launch *l);
void run_launch(const wbcpu_launch *l);

/* waiting.cpp */
void park(worker *w); /* until wake() makes the running thread ready */
bool wake(worker *w); /* true: a parked thread is ready */
void async_thread_exits(worker *w);
void async_block_ends(worker *w);
void describe_condition(const worker *w, int thread, char *text, size_t size);
void delete_async(worker *w);

/* grid.cpp */
bool runs_together(const job &j); /* all blocks: cooperative, in check mode */
void describe_grid_sync(const worker *w, uint64_t syncs, char *text, size_t size);
helpers *no_helpers();                     /* of a launch that begins */
void join_helpers(job *j);                 /* waits for their blocks */
void need_another_block(worker *w);        /* the running block may wait for one */
[[noreturn]] void leave_launch(worker *w); /* on this worker */

/* dynamic.cpp */
int launch_depth();                       /* of the launch that begins */
cudaError_t check_child(wbcpu_launch *l); /* can the running kernel launch another? */
/* Ends the program: a lab's kernel launches a kernel. */
[[noreturn]] void refuse_child(const wbcpu_launch *l);
void run_children(children *all); /* when the grid has ended */

/* cluster.cpp */
/* All blocks: cluster after cluster, or all together. run: those of one worker, as
 * w->gang says. false: the system has no CPU threads for so many */
bool run_gangs(job *j, worker *first, void (*run)(void *job, worker *w));
bool next_of_gang(worker *w); /* sets w->block; false: no cluster is left */
/* In check mode: all blocks of a gang begin before the first runs. false: one gave up */
bool begin_together(worker *w);
void abandon_cluster(worker *w); /* the launch is given up: the other blocks end, too */
/* May other blocks access the shared memory of the running one? */
bool open_to_cluster(const worker *w);

/* shared.cpp */
extern bool shared_poisoned;      /* if so, call these: */
void begin_shared(const job *j);  /* when a worker begins a launch */
void poison_shared(const job *j); /* when it begins a block */
void check_shared(const job *j);  /* when it ends the launch */

/* collective.cpp */
void complete(warp *q, uint32_t lanes, int op, uint64_t arg);

/* report.cpp */
[[noreturn]] void report_deadlock(worker *w);
const char *op_name(int op); /* of a warp collective: __ballot_sync */
/* Ends the program after an error in a kernel. address: what it accessed, or NULL. */
[[noreturn]] void stop(const void *address, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For an invalid setting: prints one line and exits with status 1. */
[[noreturn]] void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void install_crash_handler();
void use_signal_stack(); /* signal handlers of this CPU thread get their own stack */

/* device_range.cpp */
bool reserve_device_memory(); /* its addresses; false: none are left */
extern bool guarded;          /* host code cannot access device memory */
extern bool results_stay;     /* copies to the host fail */
extern uintptr_t device_base; /* the range of addresses that cudaMalloc uses */
extern size_t device_bytes;
extern size_t refused_bytes; /* of the last allocation that failed, or 0 */
void open_guarded_memory();
void close_guarded_memory();
inline void open_device_memory() /* for a kernel or a copy */
{
    if (guarded) open_guarded_memory();
}
inline void close_device_memory()
{
    if (guarded) close_guarded_memory();
}

/* error.cpp */
cudaError_t fail(cudaError_t error); /* remembers it for cudaGetLastError; returns it */
/* Device code does not see the host's last error, nor the other way round. */
cudaError_t exchange_last_error(cudaError_t error);
/* An error that ends the context, which becomes the thread's last error, or cudaSuccess */
cudaError_t sticky_error();
void fail_sticky(cudaError_t error); /* sets it */
}  // namespace wbcpu

#endif
