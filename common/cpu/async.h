/* async.h - what a block has started and not finished, and what its threads wait for,
 * beyond barriers and collectives: internal to the library.
 *
 *     waiting.cpp   conditions: mbarriers, named barriers; who can continue?
 *     tma.cpp       copies between device and shared memory
 *     wgmma.cpp     multiplications of tiles
 *     cluster.cpp   blocks that run at the same time, each on a CPU thread
 */
#ifndef WBCPU_ASYNC_H
#define WBCPU_ASYNC_H

#include "scheduler.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace wbcpu
{
struct condition {
    enum kind { MBARRIER, NAMED, CLUSTER, GRID } what;
    const uint64_t *word; /* mbarrier, or the generation that must change */
    uint64_t value;       /* the parity, or the generation until now */
    int id;               /* of a named barrier */
    const void *pc;       /* the wait: a return address */
};

struct tma_copy {
    tensor_map map; /* dims == 0: `bytes` contiguous bytes */
    int at[WBCPU_TENSOR_DIMS];
    char *smem, *gmem;
    int bytes;
    uint64_t *barrier; /* of a load */
    int rank;          /* of the block that a multicast load goes to */
    bool load;
    const void *pc; /* of the call: a return address */
};

struct wgmma_op {
    wbcpu_wgmma of; /* without d and a */
    unsigned a[32][4];
    float *d[32];
};
struct wgmma_queue { /* of one warp */
    std::vector<wgmma_op> ops;
    std::vector<unsigned> ends; /* of committed groups, as numbers of ops */
    uint32_t fenced;            /* lanes that have called wgmma_fence */
};

struct thread_stores {
    std::vector<tma_copy> copies;
    std::vector<unsigned> ends;
};

struct named_barrier {
    uint64_t generation;
    int arrived, expected;
};

/* Blocks that run at the same time: those of a cluster, or in check mode those of a
 * cooperative launch. Without either, each block has a gang of its own. */
struct gang {
    int size = 1;
    bool grid = false; /* all blocks of a cooperative launch */
    std::mutex lock;
    std::condition_variable changed;
    uint64_t events = 0;        /* that may let threads of another block continue */
    int idle = 0;               /* blocks that cannot continue since the last event */
    int ended = 0, arrived = 0; /* blocks; at that barrier */
    uint64_t generation = 1;    /* of the barrier of the cluster or grid */
    int waiting = 0;            /* CPU threads between two clusters */
    uint64_t round = 0;
    int turn = 0;                                 /* in check mode: the rank that runs */
    std::vector<std::condition_variable> turn_of; /* [rank] */
    std::vector<bool> left;                       /* [rank]: it will run no more */
    std::vector<uint64_t> syncs;             /* [rank]: arrivals at the grid's barrier */
    bool abandoned = false;                  /* the launch is given up */
    std::vector<tma_copy> loads;             /* multicast; an entry per block */
    std::vector<std::vector<char *>> memory; /* [rank][module]: thread-local storage */
};

struct async_block {
    bool used; /* by the running block */
    std::vector<tma_copy> loads;
    thread_stores stores[max_threads];
    wgmma_queue warps[max_warps];
    named_barrier named[46];      /* 16 to 45: for tiles (wbcpu_tile_barrier) */
    condition waits[max_threads]; /* of the lanes in warp::parked */
    gang alone;
    gang *of;
    int rank;
    int cluster_arrived; /* threads that have not exited */
    bool arrived[max_threads];
    uint64_t cluster_token[max_threads]; /* generation at the arrival */
    uint64_t arrival; /* generation when the block arrived last; 0: it has not */
    uint64_t grid_syncs[max_threads]; /* calls of grid.sync() */
    bool open;                        /* other blocks may access its shared memory */
};

async_block *make_async(worker *w); /* unless the worker has it */
async_block *async_of(worker *w);   /* of the running block, which now uses it */
void wait_until(worker *w, const condition &c);
bool holds(const condition &c);
void run_load(std::vector<tma_copy> *loads); /* the oldest */
/* Ends the program: "kernel ..., block ..., thread ...: text"; in check mode, the launch.
 * pc: a return address in the program; NULL: that of the running call */
[[noreturn]] void misuse_at(const void *pc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define misuse(...) misuse_at(nullptr, __VA_ARGS__)
bool in_shared(const worker *w, const void *p, size_t bytes); /* of the running block */
void count_bytes(uint64_t *barrier, long change);             /* of its tx-count */

/* cluster.cpp */
void something_happened(gang *g);
bool wait_for_others(worker *w, uint64_t seen); /* false: all blocks wait: a deadlock */
bool run_multicast(gang *g, uint64_t seen);     /* the oldest; false: none is left */
bool awaits_multicast(worker *w);
void let_others_run(worker *w); /* in check mode */
/* All threads of the running block have called grid.sync() `syncs` times. */
void arrive_at_grid(worker *w, uint64_t syncs);
void cluster_thread_exits(worker *w);
}  // namespace wbcpu
#endif
